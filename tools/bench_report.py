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
# Budgets in ns of CPU time per packet for the whole analysis.
BUDGET_NS = {"paper-8192": 165, "mawi-400k": 200, "mawi-1m": 220}


def tables(results: Results, modes: list[str], peers: list[str]) -> str:
    """Everything that was measured, as Markdown."""
    parts = [cost(results, modes), memory(results), scaling(results), ratios(results, peers)]
    return "\n\n".join(part for part in parts if part)


def cost(results: Results, modes: list[str]) -> str:
    """CPU time per packet: median, and least to most."""
    units = (f"{mode} ns" for mode in modes)
    head = ["set", "commit", "packets", "TCP flows", *units, "diagnosis adds", "budget ns"]
    rows = []
    for name, by_mode in results.items():
        first = next(iter(by_mode.values()))
        cells = [name, first.commit, f"{first.packets:,}", f"{first.flows:,}"]
        cells += [cell(by_mode.get(mode)) for mode in modes]
        rows.append([*cells, diagnosis(by_mode), str(BUDGET_NS.get(name, ""))])
    return "CPU time per packet (median, least to most):\n\n" + table(head, rows)


def diagnosis(by_mode: dict[str, Measured]) -> str:
    """What the refined diagnosis adds to the CPU time of the analysis without it."""
    if "paper" not in by_mode:
        return ""
    ratio = by_mode["analyze"].ns_per_packet() / by_mode["paper"].ns_per_packet()
    return f"{100 * (ratio - 1):+.0f} %"


def cell(measured: Measured | None) -> str:
    """One figure with its spread."""
    if measured is None or not measured.cpu_s:
        return ""
    low, high = measured.spread()
    return f"{'≥ ' * measured.cut}{measured.ns_per_packet():.0f} ({low:.0f}-{high:.0f})"


def memory(results: Results) -> str:
    """The largest resident set, and what of it is due to a flow."""
    rows = []
    for name, by_mode in results.items():
        read, whole = by_mode["read"], by_mode["analyze"]
        per_flow = (whole.rss_bytes - read.rss_bytes) / max(1, whole.flows)
        rows.append(
            [name, mb(read), mb(whole), mb(by_mode["analyze, 2 workers"]), f"{per_flow:,.0f}"]
        )
    head = ["set", "read MB", "analyze MB", "2 workers MB", "bytes per flow of the set"]
    return "Largest resident set:\n\n" + table(head, rows)


def scaling(results: Results) -> str:
    """What a second worker brings, and what it costs."""
    rows = []
    for name, by_mode in results.items():
        one, two = by_mode["analyze"], by_mode["analyze, 2 workers"]
        walls = statistics.median(one.wall_s), statistics.median(two.wall_s)
        rows.append(
            [
                name,
                f"{walls[0]:.2f}",
                f"{walls[1]:.2f}",
                f"{walls[0] / walls[1]:.2f}",
                f"{two.ns_per_packet() / one.ns_per_packet():.2f}",
            ]
        )
    head = ["set", "1 worker s", "2 workers s", "speed-up", "CPU 2 / CPU 1"]
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
