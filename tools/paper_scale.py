#!/usr/bin/env python3
"""Estimates what the nine traces of the IM 2021 paper take here: CPU hours and memory.

    tools/paper_scale.py CAPTURE… [--runs 2]

It computes, and states so: the traces themselves are not there. `tcpwhy analyze` with one worker
runs over each capture, flows and intervals to a store. CPU time is the least of the runs. Least
squares over the captures part it into a cost of each packet and one of each flow, both at least 0.
What an empty run takes is left out. Captures should differ in packets per flow: two that do not
tell the two costs apart. Memory is the largest resident set beyond an empty run. That of a run
which writes no rows, over the flows of a capture, is the state of a flow; what a run with rows
needs more is the store's, which holds half a million rows of each table at most. All flows of a
trace are taken to be there at once, which none is.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

TRACES = {
    "2019/01/02": (136, 526),
    "2019/01/09": (300, 1634),
    "2019/01/16": (308, 1684),
    "2019/01/23": (280, 1319),
    "2019/01/30": (278, 1208),
    "2019/02/06": (211, 1047),
    "2019/02/13": (245, 931),
    "2019/02/20": (205, 1130),
    "2019/02/27": (260, 1001),
}
"""Table I: millions of packets, thousands of TCP flows."""

TRACE_S = 900
PAPER_THREADS, PAPER_STATE_BYTES = 64, 32e9
FEWEST_FLOWS = 50_000


class Cost(NamedTuple):
    """What one capture took."""

    packets: int
    flows: int
    cpu_s: float
    rss_bytes: int
    """Without rows."""
    rows_bytes: int
    """What rows take beyond that."""


def run(capture: Path, *options: str) -> tuple[float, int, str]:
    """CPU time, largest resident set and output of one run.

    This process stays small: a child's largest resident set begins with that of its parent.
    """
    command = [sys.executable, "-m", "tcpwhy", "analyze", str(capture), "--workers", "1", *options]
    with tempfile.TemporaryFile("w+") as out:
        with subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL) as made:
            _, status, used = os.wait4(made.pid, 0)
            made.returncode = os.waitstatus_to_exitcode(status)
        if made.returncode:
            raise SystemExit(f"{capture}: tcpwhy ended with {made.returncode}")
        out.seek(0)
        return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, out.read()


def measure(capture: Path, runs: int) -> Cost:
    """Run it several times; the least CPU time disturbs least."""
    _, bare, said = run(capture, "--table", "counters", "--format", "jsonl")
    counters = {row["name"]: row["value"] for row in map(json.loads, said.splitlines())}
    found = []
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as folder:
            found.append(run(capture, *_ROWS, "-o", f"{folder}/store/"))
    cpu_s, size = min(cpu for cpu, *_ in found), max(size for _, size, _ in found)
    return Cost(counters["packets_read"], counters["flows"], cpu_s, bare, max(size - bare, 0))


_ROWS = ("--table", "flows", "--table", "intervals")


def fit(costs: list[Cost]) -> tuple[float, float]:
    """Seconds of CPU for each packet and each flow, by least squares of relative errors."""
    pairs = [(one.packets / one.cpu_s, one.flows / one.cpu_s) for one in costs]
    pp, pf = sum(p * p for p, _ in pairs), sum(p * f for p, f in pairs)
    ff, p1, f1 = sum(f * f for _, f in pairs), sum(p for p, _ in pairs), sum(f for _, f in pairs)
    determinant = pp * ff - pf * pf
    if determinant > 1e-9 * pp * ff:
        packet, flow = (p1 * ff - f1 * pf) / determinant, (f1 * pp - p1 * pf) / determinant
        if packet >= 0 and flow >= 0:
            return packet, flow
    return p1 / pp, 0.0


def main() -> None:
    """Measure, fit, and print the estimate in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("captures", nargs="+", type=Path, metavar="CAPTURE")
    parser.add_argument("--runs", type=int, default=2)
    options = parser.parse_args()
    empty = measure(Path(__file__).parents[1] / "tests" / "data" / "slow_reader.pcap", options.runs)
    found = {capture.stem: measure(capture, options.runs) for capture in options.captures}
    costs = {
        name: cost._replace(
            cpu_s=max(cost.cpu_s - empty.cpu_s, 1e-3),
            rss_bytes=max(cost.rss_bytes - empty.rss_bytes, 0),
        )
        for name, cost in found.items()
    }
    packet_s, flow_s = fit([*costs.values()])
    print(f"An empty run: {empty.cpu_s:.2f} s of CPU, {empty.rss_bytes / 1e6:.0f} MB.\n")
    print("| capture | packets | flows | CPU s | fit CPU s | state MB | bytes a flow | rows MB |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for name, one in costs.items():
        fitted = one.packets * packet_s + one.flows * flow_s
        each = one.rss_bytes / one.flows
        memory = f"{one.rss_bytes / 1e6:,.0f} | {each:,.0f} | {one.rows_bytes / 1e6:,.0f}"
        cpu = f"{one.cpu_s:.2f} | {fitted:.2f}"
        print(f"| `{name}` | {one.packets:,} | {one.flows:,} | {cpu} | {memory} |")
    large = [one.rss_bytes / one.flows for one in costs.values() if one.flows >= FEWEST_FLOWS]
    if not large:
        raise SystemExit(f"memory takes a capture of {FEWEST_FLOWS:,} flows or more")
    beside = empty.rss_bytes + max(one.rows_bytes for one in costs.values())
    estimate(packet_s, flow_s, max(large), beside)


def estimate(packet_s: float, flow_s: float, flow_bytes: float, beside_bytes: float) -> None:
    """Print what the paper's traces take at these costs."""
    packets = sum(millions for millions, _ in TRACES.values()) * 1e6
    flows = sum(thousands for _, thousands in TRACES.values()) * 1e3
    cpu_s = packets * packet_s + flows * flow_s
    most = {
        name: millions * 1e6 * packet_s + thousands * 1e3 * flow_s
        for name, (millions, thousands) in TRACES.items()
    }
    busiest = max(most, key=lambda name: most[name])
    largest = max(thousands for _, thousands in TRACES.values()) * 1e3
    memory = beside_bytes + largest * flow_bytes
    print(f"\n{packet_s * 1e9:,.0f} ns a packet and {flow_s * 1e6:.1f} µs a flow, so:\n")
    print("| nine traces, computed | here | paper |")
    print("|---|---:|---:|")
    print(f"| packets; TCP flows | {packets / 1e9:.2f} G; {flows / 1e6:.1f} M | the same |")
    threads = cpu_s / (len(TRACES) * TRACE_S)
    hours = PAPER_THREADS * len(TRACES) * TRACE_S / 3600
    print(f"| CPU hours | {cpu_s / 3600:.2f} | {hours:.0f} (64 threads for 2.25 h) |")
    share = most[busiest] / TRACE_S
    print(f"| threads busy in real time | {threads:.2f}; {share:.2f} on {busiest} | 64 |")
    state = f"160 GB, of which {PAPER_STATE_BYTES / 1e9:.0f} GB state"
    print(f"| memory, largest trace | {memory / 1e9:.2f} GB | {state} |")


if __name__ == "__main__":
    main()
