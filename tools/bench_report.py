"""The tables of `bench.py`, for a terminal and for docs/performance.md alike."""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench import Measured, Results

BEGIN, END = "<!-- bench.py writes from here -->", "<!-- to here -->"
# What a set may cost in times its floor, which is read, decode and hash in the same run.
BUDGET = {"analyze": 3, "command": 4}
BUDGET_OPEN = {"analyze": 8}
# Characters of the longest bar of the chart.
BAR = 50


def tables(results: Results, modes: list[str], peers: list[str]) -> str:
    """Everything that was measured, as Markdown."""
    if not results:
        return ""
    parts = [cost(results, modes), floors(results), chart(results), memory(results)]
    parts += [scaling(results), ratios(results, peers), provenance(results)]
    return "\n\n".join(part for part in parts if part)


def provenance(results: Results) -> str:
    """Where and when each set was measured, as far as that is known."""
    sets: dict[str, list[str]] = {}
    for name, by_mode in results.items():
        first = next(iter(by_mode.values()))
        if first.day:
            sets.setdefault(f"{first.day}, {first.machine}", []).append(name)
    return "\n".join(f"- {about}: {', '.join(names)}" for about, names in sets.items())


def chart(results: Results) -> str:
    """The floor, the engine and the command by set, as bars of CPU time per packet."""
    shown = ["hash", *BUDGET]
    costs = {
        (name, mode): by_mode[mode].ns_per_packet()
        for name, by_mode in results.items()
        for mode in shown
        if mode in by_mode and by_mode[mode].cpu_s
    }
    if not costs:
        return ""
    width = max(len(name) for name in results)
    unit = max(costs.values()) / BAR
    lines = []
    for name in results:
        for mode in shown:
            if ns := costs.get((name, mode)):
                label = name if mode == shown[0] else ""
                bar = "█" * max(1, round(ns / unit))
                lines.append(f"{label:{width}}  {mode:7}  {bar} {ns:.0f}")
    drawn = "\n".join(lines)
    return f"CPU time per packet in ns:\n\n```text\n{drawn}\n```"


def instructions(results: Results) -> str:
    """Instructions per packet under valgrind, and in times the floor."""
    rows = []
    for name, by_mode in results.items():
        floor = by_mode["hash"].instructions[0]
        cells = [name, by_mode["hash"].commit, f"{by_mode['hash'].packets:,}"]
        for measured in by_mode.values():
            count = measured.instructions[0]
            cells.append(f"{count / measured.packets:,.0f} ({count / floor:.1f})")
        rows.append(cells)
    if not rows:
        return ""
    head = ["set", "commit", "packets", *next(iter(results.values()))]
    return "Instructions per packet (times the floor), under valgrind:\n\n" + table(head, rows)


def cost(results: Results, modes: list[str]) -> str:
    """CPU time per packet: median, and least to most."""
    head = ["set", "commit", "packets", "TCP flows", *(f"{mode} ns" for mode in modes)]
    rows = []
    for name, by_mode in results.items():
        first = next(iter(by_mode.values()))
        cells = [name, first.commit, f"{first.packets:,}", f"{first.flows:,}"]
        rows.append([*cells, *(cell(by_mode.get(mode)) for mode in modes)])
    return "CPU time per packet (median, least to most):\n\n" + table(head, rows)


def floors(results: Results) -> str:
    """The engine and the command in times the floor of the same run, with what they may be."""
    rows = []
    for name, by_mode in results.items():
        budgets = BUDGET_OPEN if name.startswith("open") else BUDGET
        floor = by_mode["hash"].ns_per_packet()
        cells = [name, f"{floor:.0f}"]
        for mode in BUDGET:
            times = by_mode[mode].ns_per_packet() / floor if mode in by_mode else None
            cells += ["" if times is None else f"{times:.1f}", str(budgets.get(mode, ""))]
        rows.append(cells)
    head = ["set", "floor ns", "analyze / floor", "at most", "command / floor", "at most"]
    return "In times the floor:\n\n" + table(head, rows)


def cell(measured: Measured | None) -> str:
    """One figure with its spread, and its instructions where they were counted."""
    if measured is None or not measured.cpu_s:
        return ""
    low, high = measured.spread()
    counts = measured.instructions
    counted = f", {statistics.median(counts) / measured.packets:,.0f} instr." if counts else ""
    return f"{'≥ ' * measured.cut}{measured.ns_per_packet():.0f} ({low:.0f}-{high:.0f}{counted})"


def memory(results: Results) -> str:
    """Anonymous memory: the most, and how it grows."""
    rows = []
    for name, by_mode in results.items():
        floor, whole = by_mode["hash"], by_mode.get("analyze")
        if whole is None:
            continue
        per_flow = (whole.anon_bytes - floor.anon_bytes) / max(1, whole.flows)
        keys = [key for mode in BUDGET for key in (mode, f"{mode}, 2 workers")]
        shown = [by_mode.get(key) for key in keys]
        cells = [f"{found.anon_bytes / 1e6:,.0f}" if found else "" for found in shown]
        rows.append([name, *cells, f"{per_flow:,.0f}", f"{whole.anon_slope:.1f}"])
    modes = [f"{mode}{workers} MB" for mode in BUDGET for workers in ("", ", 2 workers")]
    head = ["set", *modes, "bytes per flow", "bytes per packet"]
    note = "Anonymous memory at its most, and its growth from the middle of the run on:\n\n"
    return note + table(head, rows)


def scaling(results: Results) -> str:
    """What a second worker brings, and what it costs."""
    rows = []
    pairs = [(mode, f"{mode}, 2 workers") for mode in BUDGET]
    for name, by_mode in results.items():
        for mode, other in pairs:
            if mode not in by_mode or other not in by_mode:
                continue
            one, two = by_mode[mode], by_mode[other]
            walls = statistics.median(one.wall_s), statistics.median(two.wall_s)
            ratio = two.ns_per_packet() / one.ns_per_packet()
            times = [*(f"{wall:.2f}" for wall in walls), f"{walls[0] / walls[1]:.2f}"]
            rows.append([name, mode, *times, f"{ratio:.2f}"])
    head = ["set", "what", "1 worker s", "2 workers s", "speed-up", "CPU 2 / CPU 1"]
    note = f"Wall time on {os.cpu_count()} cores, which others may use too:\n\n"
    return note + table(head, rows)


def ratios(results: Results, peers: list[str]) -> str:
    """How often the CPU time of `analyze` a peer takes."""
    rows = []
    for name, by_mode in results.items():
        if "analyze" not in by_mode:
            continue
        own = by_mode["analyze"].ns_per_packet()
        for peer in peers:
            if (measured := by_mode.get(peer)) is not None:
                times = measured.ns_per_packet() / own
                rows.append(
                    [name, peer, cell(measured), f"{'≥ ' * measured.cut}{times:.2f}", mb(measured)]
                )
    if not rows:
        return ""
    head = ["set", "peer", "ns per packet", "times analyze", "MB"]
    return "Peers in the same call:\n\n" + table(head, rows)


def mb(measured: Measured) -> str:
    """A resident set in MB."""
    return f"{measured.rss_bytes / 1e6:,.0f}"


def table(head: list[str], rows: Iterable[list[str]]) -> str:
    """A Markdown table with aligned columns."""
    rows = list(rows)
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]

    def line(cells: list[str]) -> str:
        aligned = [cells[0].ljust(widths[0])]
        aligned += [text.rjust(width) for text, width in zip(cells[1:], widths[1:], strict=True)]
        return f"| {' | '.join(aligned)} |"

    return "\n".join([line(head), line(rule), *map(line, rows)])


def write(path: Path, report: str) -> None:
    """Puts the tables between the marks of a document."""
    text = path.read_text()
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{path} has lost its marks {BEGIN} and {END}")
    path.write_text(f"{before}{BEGIN}\n\n{report}\n\n{END}{after}")
