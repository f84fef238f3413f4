"""The tables of `bench_live.py`, for a terminal and for docs/monitor.md alike."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from statistics import linear_regression
from typing import Any

from bench_report import table

MARKS = "<!-- bench_live.py writes from here -->", "<!-- bench_live.py writes to here -->"
Row = dict[str, Any]
BARS = "▁▂▃▄▅▆▇█"


def machine() -> str:
    """What it was measured on."""
    model = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        "unknown processor",
    )
    load = os.getloadavg()[2]
    return f"{os.cpu_count()} cores ({model}), Linux {os.uname().release}, load before {load:.1f}"


def report(results: dict[str, Any]) -> str:
    """Everything that was measured, as Markdown."""
    makers = {"rates": rates, "replays": replays, "flood": flood, "soak": soak}
    parts = [
        f"{makers[name](found['rows'])}\n\n({found['machine']})" for name, found in results.items()
    ]
    return "\n\n".join(parts)


def rates(rows: Sequence[Row]) -> str:
    """The highest rate of tcpdump, and monitor."""
    lines = [[row["what"], row["program"], *figures(row)] for row in rows]
    return "At the highest rate at which tcpdump loses nothing:\n\n" + table(
        ["packets", "program", *FIGURES], lines
    )


def replays(rows: Sequence[Row]) -> str:
    """Sets of traffic."""
    lines = [
        [
            row["what"],
            f"{row['factor']}",
            f"{row['speed']:.2f}",
            *figures(row),
            f"{row['tcpdump_lost']:,}",
        ]
        for row in rows
    ]
    head = ["set", "factor asked", "factor sent", *FIGURES, "tcpdump beside it lost"]
    return "Sets of traffic at their own time and ten times as fast:\n\n" + table(head, lines)


def flood(rows: Sequence[Row]) -> str:
    """Ten connections beside SYNs."""
    names = ("flows_forgotten", "evicted_half_open", "evicted_short", "evicted_long")
    lines = []
    for row in rows:
        counted = [f"{row['counters'].get(name, 0):,}" for name in names]
        right = f"{row['right']} of {row['of']}"
        lines.append([row["what"], f"{row['syns']:,.0f}", right, *figures(row)[2:], *counted])
    head = ["SYNs asked", "SYNs/s sent", "verdicts right", *FIGURES[2:], *names]
    return (
        "Ten connections with limits of their own beside a flood of SYNs, `--max-flows 200000`:\n\n"
        + table(head, lines)
    )


def soak(rows: Sequence[Row]) -> str:
    """Memory over a long time, and every counter."""
    (row,) = rows
    memory = row["resident_bytes"]
    tenths = [memory[len(memory) * n // 10 : len(memory) * (n + 1) // 10] for n in range(10)]
    least = [min(part) / 1e6 for part in tenths if part]
    trend = "."
    if len(least) == 10:
        slope = linear_regression(range(7), least[3:]).slope
        trend = f", a line through the last seven of which rises by {slope:.1f} MB a tenth."
    # The sender stalls where others take its processor, and the run is so much longer.
    lines = [[f"{row['sent'] / row['pps'] / 60:.3g} minutes", *figures(row)]]
    counted = [[name, f"{value:,}"] for name, value in row["counters"].items()]
    return "\n\n".join(
        [
            "A long run with flows that come and go:\n\n" + table(["length", *FIGURES], lines),
            f"Memory over the run, from {min(memory) / 1e6:,.0f} to {max(memory) / 1e6:,.0f} MB: "
            f"`{sparkline(memory)}`; the least of each tenth in MB: "
            f"{', '.join(f'{value:,.0f}' for value in least)}{trend}",
            "Its counters that are not 0:\n\n" + table(["counter", "value"], counted),
        ]
    )


FIGURES = ["packets/s", "Gbit/s", "sent", "seen", "lost", "CPU user + system", "MB most"]


def figures(row: Row) -> list[str]:
    """What every table says of a run."""
    user, system = row["cpu"]
    return [
        f"{row['pps']:,.0f}",
        f"{row['bps'] / 1e9:.2f}",
        f"{row['sent']:,}",
        f"{row['seen']:,}",
        f"{row['lost']:,}",
        f"{user:.0%} + {system:.0%}",
        f"{max(row['resident_bytes']) / 1e6:,.0f}",
    ]


def sparkline(values: Sequence[float], width: int = 60) -> str:
    """A line of bars from 0 to the largest value."""
    count = min(width, len(values))
    cuts = [len(values) * n // count for n in range(count + 1)]
    means = [sum(values[a:b]) / (b - a) for a, b in pairwise(cuts)]
    return "".join(BARS[round(mean / max(values) * (len(BARS) - 1))] for mean in means)


def write(path: Path, text: str, marks: tuple[str, str] = MARKS) -> None:
    """Puts the tables between two marks of a document."""
    document = path.read_text()
    before, begin, rest = document.partition(marks[0])
    _, end, after = rest.partition(marks[1])
    if not begin or not end:
        raise SystemExit(f"{path} has lost its marks {marks[0]} and {marks[1]}")
    path.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}")
