#!/usr/bin/env python3
"""Measures `tcpwhy monitor` on a link under load: what is lost, CPU, memory over time.

    sudo .venv/bin/python tools/bench_live.py [PART…] [--minutes 30] [--stored] [--write]

PART is of rates, replays, flood and soak; all but the soak unless given. Each takes less than five
minutes, the soak as long as it is told to. The link is a veth pair between two network namespaces
of its own, so the load, the kernel and the watcher share the machine. Results are kept in
target/load until they are measured again; `--write` puts them into docs/monitor.md. No test depends
on them.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import live_report
from live_link import FAR, NEAR, Link, Watcher, link, send, watcher

ROOT = Path(__file__).parents[1]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
CACHE = TARGET / "load"
EXAMPLES = TARGET / "release" / "examples"
LOAD, TRAFFIC = EXAMPLES / "load", EXAMPLES / "traffic"
Row = dict[str, Any]

# As on a machine that does nothing else, for the sender and who watches alike.
FIRST = ("nice", "-n", "-15")
BLAST_S = 6
# The highest rate comes first: as fast as the sender can, then parts of what that gave.
PARTS_OF_HIGHEST = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2)
# Name, what the `traffic` example is asked for, the factors, and the seconds at most.
REPLAYS = (
    ("paper-128", ("paper", "128"), (1, 10), 6),
    ("paper-1024", ("paper", "1024"), (1, 10), 6),
    ("paper-8192", ("paper", "8192"), (1, 10), 6),
    ("mawi-40k", ("mawi", "40000"), (1, 10), 6),
    ("mawi-400k", ("mawi", "400000"), (1, 10), 6),
)
# A link of 1,200 new connections a second: a tenth of mawi-400k, for as long as asked.
SOAK_FLOWS_PER_SECOND = 400_000 / 120 / 10


def monitor(net: Link, store: Path, *options: object) -> list[str]:
    """The command that watches the link into a store."""
    tables = [x for name in ("flows", "intervals", "counters") for x in ("--table", name)]
    command = [sys.executable, "-m", "tcpwhy", "monitor", NEAR, "-o", store, "--no-status"]
    return net.near_command(*FIRST, *command, *tables, *options)


def tcpdump(net: Link) -> list[str]:
    """The command that throws the same packets away, with a ring of 64 MiB."""
    return net.near_command(
        *FIRST, "tcpdump", "-i", NEAR, "-w", "/dev/null", "-s", "96", "-B", "65536", "-n"
    )


def counters(store: Path) -> dict[str, int]:
    """The counters of a store that are not 0."""
    import tcpwhy

    rows = tcpwhy.Store(store).connect().execute("SELECT name, sum(value) FROM counters GROUP BY 1")
    return {name: int(value) for name, value in rows.fetchall() if value}


def sender(net: Link, *arguments: object) -> list[str]:
    """The command that puts a load on the link, before all that is not the kernel's."""
    return net.far_command(*FIRST, LOAD, FAR, *arguments)


def watch_tcpdump(net: Link, load: list[str]) -> Row:
    """A load that tcpdump watches."""
    with watcher(tcpdump(net), "listening") as watched:
        sent = send(load, watched)
        cpu = watched.cpu_share()
        said = watched.end()
    return row("tcpdump", sent, watched, cpu) | of_tcpdump(said)


def of_tcpdump(said: str) -> Row:
    """What tcpdump says of the packets at its end."""
    seen, lost = (
        int(re.search(rf"(\d+) packets {what}", said)[1])  # type: ignore[index]
        for what in ("received by filter", "dropped by kernel")
    )
    return {"seen": seen, "lost": lost}


def watch_both(net: Link, load: list[str]) -> list[Row]:
    """A load that both watch at the same time."""
    with watcher(tcpdump(net), "listening") as dumping:
        dumping.begin()
        dumping.sample()
        found = watch_monitor(net, load)
        cpu = dumping.cpu_share()
        said = dumping.end()
    beside = found | {"program": "tcpdump", "cpu": cpu, "resident_bytes": dumping.resident_bytes}
    return [beside | of_tcpdump(said), found]


def watch_monitor(net: Link, load: list[str], *options: object, **popen: Any) -> Row:
    """A load that monitor watches; its counters too."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder, "store")
        with watcher(monitor(net, store, *options), "watching") as watched:
            sent = send(load, watched, **popen)
            cpu = watched.cpu_share()
            watched.end()
        counted = counters(store)
    lost = {"lost": counted.get("kernel_drops", 0), "counters": counted}
    return row("monitor", sent, watched, cpu) | {"seen": counted["packets_read"]} | lost


def row(program: str, sent: dict[str, float], watched: Watcher, cpu: tuple[float, float]) -> Row:
    """What was measured with either."""
    return {
        "program": program,
        "sent": sent["frames"],
        "pps": sent["frames"] / sent["seconds"],
        "bps": (sent["bytes"] + 24 * sent["frames"]) * 8 / sent["seconds"],
        "speed": sent["speed"],
        "cpu": cpu,
        "resident_bytes": watched.resident_bytes,
    }


def rates(net: Link) -> list[Row]:
    """The highest rate at which tcpdump loses nothing, and monitor at that rate."""
    rows = []
    for size in (64, 1500):
        blast = sender(net, "blast", size, "--seconds", BLAST_S)
        highest = None
        for part in PARTS_OF_HIGHEST:
            limit: list[str] = ["--pps", str(highest * part)] if highest else []
            found = watch_tcpdump(net, blast + limit)
            highest = highest or found["pps"]
            print(f"tcpdump, {size} B: {found['pps']:,.0f}/s, lost {found['lost']:,}")
            if not found["lost"]:
                break
        rows.append({"what": f"{size} B"} | found)
        # At its rate, and then as fast as the sender can.
        for limit in (["--pps", str(found["pps"])], []):
            found = watch_monitor(net, blast + limit)
            print(f"monitor, {size} B: {found['pps']:,.0f}/s, lost {found['lost']:,}")
            rows.append({"what": f"{size} B{'' if limit else ', all the sender gives'}"} | found)
        for found in watch_both(net, blast):
            print(f"beside each other: {found['program']} lost {found['lost']:,}")
            rows.append({"what": f"{size} B, both at the same time"} | found)
    return rows


def replays(net: Link) -> list[Row]:
    """The paper's set and the MAWI-like mix at their own time and ten times as fast."""
    rows = []
    for name, make, factors, seconds in REPLAYS:
        capture = generate(name, make)
        for factor in factors:
            speed = ["--speed", str(factor), "--seconds", str(seconds)]
            dumped, found = watch_both(net, sender(net, "replay", capture, *speed))
            found |= {"what": name, "factor": factor, "tcpdump_lost": dumped["lost"]}
            lost = f"lost {found['lost']:,}, tcpdump beside it {dumped['lost']:,}"
            print(f"{name} x{factor}: {found['pps']:,.0f}/s, {lost}")
            rows.append(found)
    return rows


def soak(net: Link, minutes: float) -> list[Row]:
    """Flows that come and go for a long time."""
    seconds = int(minutes * 60)
    flows = str(int(SOAK_FLOWS_PER_SECOND * seconds))
    traffic = [str(TRAFFIC), "mawi", flows, "-", "--seconds", str(seconds)]
    traffic += ["--flow-packets-max", "120000", "--snaplen", "96"]
    with subprocess.Popen(traffic, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as source:
        load = net.far_command(LOAD, FAR, "replay", "-", "--seconds", seconds)
        found = watch_monitor(net, load, stdin=source.stdout, every_s=min(10, seconds / 60))
        source.kill()
    return [{"what": f"{minutes:g} minutes"} | found]


def generate(name: str, make: tuple[str, ...]) -> Path:
    """The capture of a set; one that `make bench` made is used."""
    for folder in (TARGET / "bench", CACHE):
        if (capture := folder / f"{name}.pcap").exists():
            return capture
    kind, flows, *options = make
    print(f"making {capture.name}", file=sys.stderr)
    subprocess.run([TRAFFIC, kind, flows, capture, *options], check=True, capture_output=True)
    return capture


def measure(part: str, options: argparse.Namespace) -> list[Row]:
    """Measures a part on a link made for it."""
    with link() as net:
        match part:
            case "rates":
                return rates(net)
            case "replays":
                return replays(net)
            case "flood":
                import live_flood

                return live_flood.measure(net)
            case _:
                return soak(net, options.minutes)


def main() -> int:
    # The flood's part imports this file by its name.
    sys.modules.setdefault("bench_live", sys.modules[__name__])
    # A shell's background job ignores it, and so would the watchers, which end by it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    known = ("rates", "replays", "flood", "soak")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(known)}")
    parser.add_argument("--minutes", type=float, default=30, help="length of the soak")
    parser.add_argument("--stored", action="store_true", help="measure nothing, show what is kept")
    parser.add_argument("--write", action="store_true", help="write docs/monitor.md")
    options = parser.parse_args()
    if unknown := set(options.parts) - set(known):
        parser.error(f"unknown part {unknown.pop()}; known: {', '.join(known)}")
    parts = [] if options.stored else options.parts or known[:3]
    if parts and (os.geteuid() != 0 or not shutil.which("tcpdump")):
        parser.error("network namespaces need root, and the comparison needs tcpdump")
    CACHE.mkdir(parents=True, exist_ok=True)
    if parts:
        build = ["cargo", "build", "--release", "-q", "-p", "tcpwhy-io"]
        subprocess.run([*build, "--example", "load", "--example", "traffic"], cwd=ROOT, check=True)
    for part in parts:
        results = {"rows": measure(part, options), "machine": live_report.machine()}
        (CACHE / f"{part}.json").write_text(json.dumps(results, indent=1))
    kept = {part: CACHE / f"{part}.json" for part in known}
    results = {p: json.loads(path.read_text()) for p, path in kept.items() if path.exists()}
    report = live_report.report(results)
    print(report)
    if options.write:
        if missing := [part for part in known if part not in results]:
            parser.exit(1, f"docs/monitor.md is left as it is: no {', '.join(missing)} here\n")
        live_report.write(ROOT / "docs" / "monitor.md", report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
