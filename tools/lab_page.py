"""Writes what the lab measured into docs/lab.md: every table there is taken from runs.

    tools/lab_page.py sweeps RUNS...     results by capture point and remedies of `lab run all`
    tools/lab_page.py path               rate and delay of the emulator, needs root
    tools/lab_page.py measure            remedies as the active test promises them, needs root
    tools/lab_page.py iperf3             the active test's sender beside iperf3's, needs root

RUNS are output folders of `tcpwhy lab run all`. A table stands between the marks
`<!-- lab_page NAME -->` and `<!-- end -->`.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tcpwhy.lab import check, scenario, verify
from tcpwhy.lab.network import Network
from tcpwhy.lab.numbers import Comparison, summarize
from tcpwhy.lab.run import Run
from tcpwhy.simulation import find

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/lab.md"
POINTS = ("sender", "middle", "receiver")

REMEDIES = (
    ("recipe_small_rcvbuf", "recipe_small_rcvbuf_remedy"),
    ("recipe_small_sndbuf", "recipe_small_sndbuf_remedy"),
    ("recipe_slow_sender", "recipe_latency"),
    ("recipe_paced_sender", "recipe_latency"),
    ("recipe_slow_receiver", "recipe_slow_receiver_remedy"),
    ("recipe_cwnd_clamp", "recipe_latency"),
    ("recipe_packet_loss", "recipe_latency"),
)
"""A limited scenario, and the same path and hosts without that limit."""


def main() -> None:
    """Write the tables that are asked for."""
    kind, *rest = sys.argv[1:]
    if kind == "sweeps":
        sweeps = [dict(runs(Path(folder))) for folder in rest]
        write("results", results(sweeps))
        write("lateness", lateness(sweeps))
        write("numbers", numbers(sweeps))
        write("remedies", remedies(sweeps))
    elif kind == "path":
        write("path", path())
    elif kind == "measure":
        write("measure", measured())
    elif kind == "iperf3":
        write("iperf3", beside_iperf3())
    else:
        sys.exit(__doc__)


def runs(folder: Path) -> Iterator[tuple[str, Run]]:
    """Runs of a folder that count: no problem, and the intended limit bound."""
    for found in sorted(folder.glob("*/run.json")):
        one = scenario.load(find(found.parent.name))
        run = check.load(found.parent, one)
        checks = [item for expect in one.expect for item in verify.verify(run, expect)]
        if not run.problems and all(item.holds for item in checks):
            yield one.name, run


_CHECKED: dict[Path, tuple[check.Scores, list[Comparison]]] = {}


def checked(run: Run) -> tuple[check.Scores, list[Comparison]]:
    """Analyse the captures of a run, once."""
    if run.folder not in _CHECKED:
        _CHECKED[run.folder] = check.check(run)
    return _CHECKED[run.folder]


def results(sweeps: Sequence[dict[str, Run]]) -> Iterator[str]:
    """Right answers by capture point."""
    totals, worst = [], []
    for sweep in sweeps:
        total: check.Scores = {}
        wrong: dict[str, int] = {}
        for name, run in sweep.items():
            for key, score in checked(run)[0].items():
                if key[2] == "limitation":
                    sum_ = total.setdefault(key, check.Score())
                    sum_.right += score.right
                    sum_.all += score.all
                    wrong[name] = wrong.get(name, 0) + score.all - score.right
        totals.append(total)
        worst.append(wrong)
    yield "| capture | " + " | ".join(_heads(sweeps, ("flows", "3-second intervals"))) + " |"
    yield "|---" * (1 + 2 * len(sweeps)) + "|"
    for point in POINTS:
        cells = [
            f"{s.right}/{s.all} = {(s.share or 0) * 100:.1f} %" if (s := total.get(key)) else "–"
            for total in totals
            for key in ((point, "flows", "limitation"), (point, "intervals", "limitation"))
        ]
        yield f"| {point} | " + " | ".join(cells) + " |"
    yield ""
    counts = ", ".join(f"{len(sweep)}" for sweep in sweeps)
    yield f"Scenarios that counted: {counts}. Wrong answers, flows and intervals at all points:"
    for number, wrong in enumerate(worst, 1):
        listed = sorted((name for name in wrong if wrong[name]), key=lambda name: -wrong[name])
        yield f"sweep {number}: " + (
            ", ".join(f"`{name}` {wrong[name]}" for name in listed) + "." if listed else "none."
        )


def lateness(sweeps: Sequence[dict[str, Run]]) -> Iterator[str]:
    """Right answers by how late frames left, of the runs that counted."""
    yield "| one frame in a thousand left | runs | 3-second intervals at all points |"
    yield "|---|---|---|"
    for least_ms, below_ms in ((0.0, 0.5), (0.5, 2.0), (2.0, float("inf"))):
        sum_, count = check.Score(), 0
        for run in (run for sweep in sweeps for run in sweep.values()):
            if not least_ms <= (run.emulator["lateness"]["p999_ns"] or 0) / 1e6 < below_ms:
                continue
            count += 1
            for (_, table, column), score in checked(run)[0].items():
                if (table, column) == ("intervals", "limitation"):
                    sum_.right += score.right
                    sum_.all += score.all
        late = (
            f"{least_ms:g} ms late or more" if below_ms > 1e3 else f"less than {below_ms:g} ms late"
        )
        share = f"{sum_.right}/{sum_.all} = {sum_.share * 100:.1f} %" if sum_.share else "–"
        yield f"| {late} | {count} | {share} |"


def _heads(sweeps: Sequence[Any], names: Sequence[str]) -> list[str]:
    return [f"{name}, sweep {i}" for i in range(1, len(sweeps) + 1) for name in names]


def numbers(sweeps: Sequence[dict[str, Run]]) -> Iterator[str]:
    """Numbers within their tolerances, by capture point."""
    yield (
        "| number | capture | "
        + " | ".join(
            f"within, sweep {i} | median error | 95 % below" for i in range(1, len(sweeps) + 1)
        )
        + " |"
    )
    yield "|---" * (2 + 3 * len(sweeps)) + "|"
    listed = [[c for run in sweep.values() for c in checked(run)[1]] for sweep in sweeps]
    tables = [{(s.what, s.point): s for s in summarize(one)} for one in listed]
    for key in dict.fromkeys(key for table in tables for key in table):
        cells = []
        for table, one in zip(tables, listed, strict=True):
            if (summary := table.get(key)) is None:
                cells += ["–"] * 3
                continue
            cells.append(f"{summary.within} of {summary.said}")
            cells += [_error(key[0], summary.error_median), _error(key[0], _high(one, key))]
        yield f"| {key[0]} | {key[1]} | " + " | ".join(cells) + " |"


def _high(comparisons: Iterable[Comparison], key: tuple[str, str]) -> float | None:
    """The error that 95 % stay below."""
    mine = [c for c in comparisons if (c.what, c.point) == key]
    errors = sorted(e for c in mine for s in summarize([c]) if (e := s.error_max) is not None)
    return errors[min(len(errors) - 1, round(0.95 * len(errors)))] if errors else None


def _error(what: str, error: float | None) -> str:
    if error is None:
        return "–"
    return f"{error * 100:.1f} {'points' if what.startswith('share_') else '%'}"


def remedies(sweeps: Sequence[dict[str, Run]]) -> Iterator[str]:
    """What the passive diagnosis promised, against the run without the limit."""
    yield "| limited | remedied | before | promised at sender, middle, receiver | measured | off |"
    yield "|---|---|---|---|---|---|"
    for sweep in sweeps:
        for limited, remedied in REMEDIES:
            if limited not in sweep or remedied not in sweep:
                continue
            before, after = (goodput_bps(sweep[name]) for name in (limited, remedied))
            promised = [headroom_bps(sweep[limited], point) for point in POINTS]
            said = [f"{bps / 1e6:.3g}" if bps else "none" for bps in promised]
            off = [f"{(bps / after - 1) * 100:+.0f} %" if bps else "–" for bps in promised]
            cells = (f"`{limited}`", f"`{remedied}`", f"{before / 1e6:.3g}", ", ".join(said))
            yield f"| {' | '.join(cells)} | {after / 1e6:.3g} | {', '.join(off)} |"
    yield ""
    yield "Mbit/s of payload, in the span that each scenario expects something of."


def goodput_bps(run: Run) -> float:
    """Payload that was acknowledged in the span of the expectation."""
    return verify.measure(run, run.scenario.expect[0]).goodput_bps


def headroom_bps(run: Run, point: str) -> float | None:
    """The gain that the diagnosis of a flow's capture promises."""
    flow = run.scenario.flows[0]
    capture = {"sender": flow.hosts[0], "middle": "middle", "receiver": flow.hosts[1]}[point]
    if capture not in run.captures:
        return None
    source = (run.scenario.hosts[flow.hosts[0]], flow.ports[0])
    rows = check.rows_of(run.captures[capture])["flows"]
    found = (row for row in rows if (row["src"], row["src_port"]) == source)
    row = next(found, None)
    return row["headroom_bps"] if row else None


WIDE = """title = "path"
duration_s = 10
[hosts.D]
[hosts.S]
[links.wan]
forward = [
    {{ rate = {{ rate_bps = {rate_bps}, queue.drop_tail.limit_packets = 5000 }} }},
    {{ delay.delay_ms = {delay_ms} }},
]
backward = [{{ rate.rate_bps = 1_000_000_000 }}, {{ delay.delay_ms = {delay_ms} }}]
[[flows]]
from = "S"
to = "D"
path = ["wan"]
workload.bulk = {{}}
"""


def path() -> Iterator[str]:
    """Rate and delay of the emulator against what the links say."""
    yield "| rate | measured | off | one-way delay | added, median | lateness, 1 of 100 |"
    yield "|---|---|---|---|---|---|"
    for rate_bps, delay_ms in ((10_000_000, 5), (100_000_000, 20), (100_000_000, 50)):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "path.toml"
            file.write_text(WIDE.format(rate_bps=rate_bps, delay_ms=delay_ms))
            one = scenario.load(file)
            with Network(one) as network:
                times, arrivals = _probe(network, one, rate_bps)
                late_ns = network.stop()["lateness"]["p99_ns"]
        added_ms = statistics.median(t * 1e3 for t in times if t is not None) / 2 - delay_ms
        # 1400 bytes of payload, 8 of UDP, 20 of IP, 14 of Ethernet.
        measured = 1442 * 8 * (len(arrivals) - 1) / ((arrivals[-1] - arrivals[0]) / 1e9)
        yield (
            f"| {rate_bps / 1e6:g} Mbit/s | {measured / 1e6:.4f} | "
            f"{(measured / rate_bps - 1) * 100:+.4f} % | {delay_ms} ms | {added_ms:.3f} ms | "
            f"{late_ns / 1e6:.3f} ms |"
        )


def _probe(
    network: Network, one: scenario.Scenario, rate_bps: int
) -> tuple[list[float | None], list[int]]:
    """Round trips of an empty path, and arrivals of datagrams at twice its rate."""
    near, far = one.hosts["S"], one.hosts["D"]
    network.hosts["D"].call("echo", local=(far, 7))
    trips = {"local": (near, 8), "remote": (far, 7), "count": 200, "every_s": 0.01}
    times = network.hosts["S"].call("round_trips", **trips)
    network.hosts["D"].call("sink", local=(far, 9))
    pps = 2 * rate_bps / 8 / 1442
    flood = {"local": (near, 10), "remote": (far, 9), "size": 1400, "pps": pps, "seconds": 1.0}
    network.hosts["S"].call("flood", **flood)
    return times, network.hosts["D"].call("arrivals")


MEASURED = (
    ("receive buffer of 256 KiB", ["--rcvbuf", "256Ki", "--sndbuf", "600k"], ["--sndbuf", "600k"]),
    ("receive buffer of 512 KiB", ["--rcvbuf", "512Ki", "--sndbuf", "3Mi"], ["--sndbuf", "3Mi"]),
    ("send buffer of 600 kB", ["--sndbuf", "600k", "--rcvbuf", "1Mi"], ["--rcvbuf", "1Mi"]),
    ("window clamp of 300 kB", ["--window-clamp", "300k", "--pace", "60M"], ["--pace", "60M"]),
    ("rate of 10 Mbit/s asked for", ["-b", "10M", "--rcvbuf", "512Ki"], ["--rcvbuf", "512Ki"]),
)
"""What limits, with the options of `measure`, and the options without it."""


def measured() -> Iterator[str]:
    """What the active test promised, against the test without the limit."""
    yield "| limited by | before | promised | then limited by | measured | off |"
    yield "|---|---|---|---|---|---|"
    one = scenario.load(ROOT / "scenarios/recipe_latency.toml")
    for words, limited, remedied in MEASURED:
        with Network(one) as network:
            before = _measure(network, limited)
            after = _measure(network, remedied)
        reached = _rate_bps(after)
        promised, then = before["headroom_bps"], before["next_limitation"]
        off = f"{(promised / reached - 1) * 100:+.0f} %" if promised else "–"
        said = f"{promised / 1e6:.3g}" if promised else "none"
        yield (
            f"| {words} | {_rate_bps(before) / 1e6:.3g} | {said} | {then or '–'} | "
            f"{reached / 1e6:.3g} | {off} |"
        )


OMIT_S, TEST_S = 3, 8


def _measure(network: Network, options: Sequence[str]) -> dict[str, Any]:
    tcpwhy = [sys.executable, "-m", "tcpwhy", "measure"]
    server = [*tcpwhy, "-s", "--one-off"]
    hosts = network.scenario.hosts
    network.hosts["h2"].call("start", name="server", command=server, ready="listening")
    command = [*tcpwhy, hosts["h2"], "--json", "-C", "cubic", "-t", f"{TEST_S}s"]
    command += ["--omit", f"{OMIT_S}s", *options]
    said = network.hosts["h1"].call("run", command=command)
    network.hosts["h2"].call("stop", name="server")
    lines = [json.loads(line) for line in said.splitlines()]
    return next(line for line in lines if line["kind"] == "end")


def _rate_bps(end: dict[str, Any]) -> float:
    return float(end["moved_bytes"]) * 8 / (float(end["seconds"]) - OMIT_S)


ROUNDS, ROUND_S = 5, 4


def beside_iperf3() -> Iterator[str]:
    """Rates of both programs against the same server, in turns, over the same path."""
    one = scenario.load(ROOT / "scenarios/recipe_bulk.toml")
    far = one.hosts["h2"]
    rates: dict[str, list[float]] = {"iperf3": [], "tcpwhy measure": []}
    with Network(one) as network:
        network.hosts["h2"].call("start", name="iperf3", command=["iperf3", "-s"])
        time.sleep(0.5)
        sender = network.hosts["h1"]
        for _ in range(ROUNDS):
            theirs = ["iperf3", "-c", far, "-t", str(ROUND_S), "-C", "cubic", "-J"]
            end = json.loads(sender.call("run", command=theirs))["end"]
            rates["iperf3"].append(end["sum_received"]["bits_per_second"])
            ours = [sys.executable, "-m", "tcpwhy", "measure", far, "--json", "-C", "cubic"]
            said = sender.call("run", command=[*ours, "-t", f"{ROUND_S}s"])
            ends = [json.loads(line) for line in said.splitlines()]
            end = next(line for line in ends if line["kind"] == "end")
            rates["tcpwhy measure"].append(end["moved_bytes"] * 8 / end["seconds"])
    yield (
        "| sender | Mbit/s over 200 Mbit/s, " + f"{ROUNDS} runs of {ROUND_S} s in turns | median |"
    )
    yield "|---|---|---|"
    for program, measured_bps in rates.items():
        listed = ", ".join(f"{bps / 1e6:.1f}" for bps in measured_bps)
        yield f"| {program} | {listed} | {statistics.median(measured_bps) / 1e6:.1f} |"
    pairs = list(zip(rates["tcpwhy measure"], rates["iperf3"], strict=True))
    ratios = [ours_bps / theirs_bps for ours_bps, theirs_bps in pairs]
    listed = ", ".join(f"{ratio:.3f}" for ratio in ratios)
    yield f"| ratio | {listed} | {statistics.median(ratios):.3f} |"


def write(name: str, lines: Iterable[str]) -> None:
    """Put a table between its marks."""
    text = PAGE.read_text(encoding="utf-8")
    begin, end = f"<!-- lab_page {name} -->\n", "<!-- end -->"
    before, rest = text.split(begin, 1)
    after = rest.split(end, 1)[1]
    table = "\n".join(lines)
    PAGE.write_text(f"{before}{begin}{table}\n{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
