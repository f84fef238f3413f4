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


def tables(results: Results, modes: list[str], peers: list[str]) -> str:
    """Everything that was measured, as Markdown."""
    parts = [cost(results, modes), floors(results), memory(results), scaling(results)]
    return "\n\n".join(part for part in [*parts, ratios(results, peers)] if part)


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
    """One figure with its spread."""
    if measured is None or not measured.cpu_s:
        return ""
    low, high = measured.spread()
    return f"{'≥ ' * measured.cut}{measured.ns_per_packet():.0f} ({low:.0f}-{high:.0f})"


def memory(results: Results) -> str:
    """Anonymous memory: the most, and how it grows."""
    rows = []
    for name, by_mode in results.items():
        read, whole = by_mode["read"], by_mode["analyze"]
        per_flow = (whole.anon_bytes - read.anon_bytes) / max(1, whole.flows)
        shown = [by_mode.get(mode) for mode in ("analyze", "analyze, 2 workers", "command")]
        cells = [f"{found.anon_bytes / 1e6:,.0f}" if found else "" for found in shown]
        rows.append([name, *cells, f"{per_flow:,.0f}", f"{whole.anon_slope:.1f}"])
    head = ["set", "analyze MB", "2 workers MB", "command MB", "bytes per flow", "bytes per packet"]
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
