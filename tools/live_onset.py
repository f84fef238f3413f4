#!/usr/bin/env python3
"""How soon `tcpwhy monitor` names a limit after it has set in.

    sudo .venv/bin/python tools/live_onset.py [SCENARIO…] [--stored] [--write]

Runs scenarios in which one limit follows another on the kernel's TCP (`tcpwhy lab`). For each
length of interval a monitor watches the sender's interface. Noted is when the first right row came
out, and what it is about. `--write` puts the table into docs/monitor.md. No test depends on it.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import live_report
from bench_live import CACHE, ROOT
from bench_report import table

SCENARIOS = ("two_app_then_network", "two_network_then_idle", "two_network_then_reader")
INTERVALS_S = (3, 1)
MARKS = "<!-- live_onset.py writes from here -->", "<!-- live_onset.py writes to here -->"


@dataclass
class Onset:
    """When the second limit of a scenario was named."""

    scenario: str
    interval_s: int
    limitation: str
    onset_s: float
    interval_begin_s: float | None = None
    """Of the first row with the right limit, on the scenario's clock; as all times here."""
    interval_end_s: float | None = None
    came_s: float | None = None
    problems: tuple[str, ...] = ()

    def line(self) -> list[str]:
        """The row of the table."""
        cells = [self.scenario, self.limitation, f"{self.interval_s} s", f"{self.onset_s:.0f} s"]
        times = (self.interval_begin_s, self.interval_end_s, self.came_s)
        cells += ["-" if t is None else f"{t - self.onset_s:+.1f} s" for t in times]
        if self.came_s is None:
            return [*cells, "no"]
        return [*cells, f"{(self.came_s - self.onset_s) / self.interval_s:.1f}"]


class Follower(threading.Thread):
    """Reads a file of rows while it grows, and notes when each row came."""

    def __init__(self, path: Path) -> None:
        super().__init__(daemon=True)
        self.path = path
        self.rows: list[tuple[float, dict[str, Any]]] = []
        self.over = threading.Event()

    def run(self) -> None:
        """Looks ten times a second."""
        rest, at = "", 0
        while not self.over.wait(0.1):
            if not self.path.exists():
                continue
            with self.path.open(encoding="utf-8") as file:
                file.seek(at)
                text = rest + file.read()
                at = file.tell()
            *lines, rest = text.split("\n")
            self.rows += [(time.time(), json.loads(line)) for line in lines if line]


def measure(name: str) -> list[Onset]:
    """Runs a scenario once, with a monitor for each length of interval."""
    from tcpwhy.lab.network import DEVICE, Network
    from tcpwhy.lab.run import SAMPLE_S, _problems, _traffic
    from tcpwhy.lab.scenario import load

    scenario = load(ROOT / "scenarios" / f"{name}.toml")
    first, second = scenario.expect[0], scenario.expect[1]
    sender = scenario.flows[0].hosts[0]
    with tempfile.TemporaryDirectory() as folder, Network(scenario) as network:
        host = network.hosts[sender]
        followers = {}
        for interval in INTERVALS_S:
            rows = Path(folder, f"{interval}.jsonl")
            command = [sys.executable, "-m", "tcpwhy", "monitor", DEVICE, "--table", "intervals"]
            command += ["--interval", f"{interval}s", "--workers", "1", "-o", str(rows)]
            host.call("start", name=f"monitor{interval}", command=command, ready="watching")
            followers[interval] = Follower(rows)
            followers[interval].start()
        start_ns = _traffic(network, SAMPLE_S)
        for interval in INTERVALS_S:
            host.call("stop", name=f"monitor{interval}")
        emulator = network.stop()
        for follower in followers.values():
            follower.over.set()
    problems = tuple(_problems(scenario, emulator, {}, {}))
    found = []
    for interval, follower in followers.items():
        onset = Onset(name, interval, second.limitation, first.to_s, problems=problems)
        for came, row in follower.rows:
            begin, end = ((int(row[key]) - start_ns) / 1e9 for key in ("start_ns", "end_ns"))
            if end > onset.onset_s and second.admits(row["limitation"], row["cause"]):
                onset.interval_begin_s, onset.interval_end_s = begin, end
                onset.came_s = came - start_ns / 1e9
                break
        found.append(onset)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", default=SCENARIOS)
    parser.add_argument("--stored", action="store_true", help="measure nothing, show what is kept")
    parser.add_argument("--write", action="store_true", help="write docs/monitor.md")
    options = parser.parse_args()
    kept = CACHE / "onset.json"
    if options.stored:
        onsets = [Onset(**each) for each in json.loads(kept.read_text())]
    else:
        CACHE.mkdir(parents=True, exist_ok=True)
        onsets = [onset for name in options.scenarios for onset in measure(name)]
        kept.write_text(json.dumps([asdict(onset) for onset in onsets], indent=1))
    head = ["scenario", "second limit", "interval", "sets in at"]
    head += ["first right row: from", "to", "came", "intervals after onset"]
    report = table(head, [onset.line() for onset in onsets])
    if problems := {problem for onset in onsets for problem in onset.problems}:
        report += "\n\nNot all runs were as they were meant: " + "; ".join(sorted(problems)) + "."
    print(report)
    if options.write:
        live_report.write(ROOT / "docs" / "monitor.md", report, MARKS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
