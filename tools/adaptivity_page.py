"""Runs the figures of the adaptivity study and writes docs/adaptivity.md with them.

    tools/adaptivity_page.py

Every number of the page is taken from the runs; the words stand in tools/adaptivity.md. Takes about
half a minute of two cores.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb

from tcpwhy.study import Adaptivity, adaptivity
from tcpwhy.study.figures import FIGURES

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/adaptivity.md"
WORDS = ROOT / "tools/adaptivity.md"
FOLDER = ROOT / "docs/adaptivity"

CRITICAL = (0.34, 0.56)
"""Frequencies in the middle of the dip, at which the plane of two frequencies is cut."""


class Facts(dict[str, str]):
    """What the words refer to, by name."""

    def add(self, name: str, value: float, digits: int = 2) -> None:
        """Add a number."""
        self[name] = f"{value:.{digits}f}"


def ask(result: Adaptivity, sql: str) -> list[tuple[Any, ...]]:
    """Ask the rows of a figure, which are the view `rows`."""
    with duckdb.connect() as connection:
        connection.register("rows", result.rows())
        return connection.execute(sql).fetchall()


CURVE = """SELECT series, frequency_hz AS f, avg(norm_goodput) AS g FROM rows
    GROUP BY series, frequency_hz"""


def versions(result: Adaptivity, facts: Facts) -> None:
    """Figure 2."""
    for name in ("Reno", "NewReno", "SACK", "Tahoe"):
        rows = ask(result, f"SELECT f, g FROM ({CURVE}) WHERE series = '{name}' ORDER BY g")
        facts.add(f"{name}_min", rows[0][1])
        facts.add(f"{name}_at", rows[0][0])
    reno = ask(result, f"SELECT f, g FROM ({CURVE}) WHERE series = 'Reno' ORDER BY f")
    facts.add("low_min", min(g for f, g in reno if f <= 0.24))
    facts.add("low_max", max(g for f, g in reno if f <= 0.24))
    facts.add("high_min", min(g for f, g in reno if f >= 2))
    facts.add("high_min_at", min((g, f) for f, g in reno if f >= 2)[1])
    below = [f for f, g in reno if g < 0.8]
    facts.add("dip_from", min(below))
    facts.add("dip_to", max(below))


def edge(facts: Facts) -> None:
    """The dip's edge between two points of the grid: 0.309 and 0.365."""
    steps = [0.3 + 0.005 * i for i in range(13)]
    result = adaptivity(2, values=["reno"], frequencies_hz=steps)
    rows = ask(result, f"SELECT f, g FROM ({CURVE}) ORDER BY g")
    facts.add("edge_min", rows[0][1])
    facts.add("edge_at", rows[0][0], 3)
    low = sorted(f for f, g in rows if g < 0.66)
    facts["edge_span"] = f"{low[0]:.3f} to {low[-1]:.3f}" if low else "nowhere"


def plane(result: Adaptivity, facts: Facts) -> None:
    """Figure 3: means in and off the critical band, and how far an additive model explains it."""
    rows = ask(result, "SELECT frequency_hz, second_frequency_hz, norm_goodput FROM rows")
    low, high = CRITICAL
    both = [(f, g, y) for f, g, y in rows if f != g]
    both += [(g, f, y) for f, g, y in both]

    def mean(keep: Callable[[float, float], bool]) -> float:
        found: list[float] = [y for f, g, y in both if keep(f, g)]
        return sum(found) / len(found)

    facts.add("band", mean(lambda f, g: low <= f <= high or low <= g <= high))
    facts.add("off_band", mean(lambda f, g: not (low <= f <= high or low <= g <= high)))
    diagonal = [y for f, g, y in rows if f == g and low <= f <= high]
    facts.add("diagonal", min(diagonal))
    centre = mean(lambda f, g: True)

    def effect_of(frequency: float) -> float:
        return mean(lambda f, _: f == frequency) - centre

    effect = {f: effect_of(f) for f in {f for f, _, _ in both}}
    spread = sum((y - centre) ** 2 for _, _, y in both)
    error = sum((y - centre - effect[f] - effect[g]) ** 2 for f, g, y in both)
    facts.add("additive", 1 - error / spread)


def series(number: int, result: Adaptivity, facts: Facts) -> None:
    """Figures 4 to 10."""
    most, udp, filled, seconds = ask(
        result,
        """SELECT max(in_network_packets), max(udp_queue_packets),
            avg((tcp_queue_packets + udp_queue_packets >= 39)::INT),
            (max(at_ns) - min(at_ns)) / 1e9 FROM rows""",
    )[0]
    first, last = ask(
        result,
        """SELECT (min(timeouts), min(fast_retransmits)), (max(timeouts), max(fast_retransmits))
        FROM rows""",
    )[0]
    counted = [b - a for a, b in zip(_values(first), _values(last), strict=True)]
    frequency = result.figure.frequency_hz or 1.0
    facts[f"network_{number}"] = str(most)
    facts[f"udp_{number}"] = str(udp)
    facts.add(f"full_{number}", 100 * filled, 0)
    facts[f"timeouts_{number}"], facts[f"fast_{number}"] = map(str, counted)
    facts.add(f"periods_{number}", seconds * frequency, 0)


def _values(row: Any) -> Sequence[int]:
    return list(row.values()) if isinstance(row, dict) else list(row)


def curves(number: int, result: Adaptivity, facts: Facts) -> None:
    """Figures 11 to 15: a table of each curve's minimum, and where it lies below 0.9."""
    lines = ["| | minimum | at (1/s) | below 0.9 |", "|---|---:|---:|---|"]
    names = [name for (name,) in ask(result, "SELECT series FROM rows GROUP BY series")]
    values = list(FIGURES[number].values)
    order = sorted(names, key=lambda name: _place(number, name, values))
    for name in order:
        rows = ask(result, f"SELECT f, g FROM ({CURVE}) WHERE series = '{name}' ORDER BY f")
        least, at = min((g, f) for f, g in rows)
        lines.append(f"| {name} | {least:.2f} | {at:.2f} | {_spans(rows)} |")
    facts[f"table_{number}"] = "\n".join(lines)


def _place(number: int, name: str, values: list[Any]) -> int:
    from tcpwhy.study.figures import SERIES

    varied = FIGURES[number].varied or ""
    return [SERIES[varied](value) for value in values].index(name)


def _spans(rows: Sequence[tuple[float, float]]) -> str:
    """Name the frequencies over which a curve stays below 0.9."""
    spans: list[list[float]] = []
    below = False
    for f, g in rows:
        if g < 0.9 and not below:
            spans.append([f, f])
        elif g < 0.9:
            spans[-1][1] = f
        below = g < 0.9
    shown = [f"{a:.2f} to {b:.2f}" if a != b else f"{a:.2f}" for a, b in spans]
    return ", ".join(shown) or "nowhere"


def rules(facts: Facts) -> None:
    """What the rules of Reno change: the whole curve, over four phases."""
    lines = ["| rules | minimum | at (1/s) | at 0.31 |", "|---|---:|---:|---:|"]
    edges: list[float] = []
    for name, shown in (("rfc5681", "RFC 5681"), ("ns3", "ns-3")):
        result = adaptivity(2, values=["reno"], reno_rules=name)
        rows = ask(result, f"SELECT f, g FROM ({CURVE}) ORDER BY f")
        least, at = min((g, f) for f, g in rows)
        edges.append(min(rows, key=lambda row: abs(row[0] - 0.309))[1])
        lines.append(f"| {shown} | {least:.3f} | {at:.2f} | {edges[-1]:.3f} |")
    facts.add("edge_share", 100 * (1 - edges[0] / edges[1]), 0)
    facts["table_rules"] = "\n".join(lines)


def page(facts: Facts) -> str:
    """Put the facts into the words."""
    note = "<!-- Made by tools/adaptivity_page.py from tools/adaptivity.md and the runs. -->\n\n"
    words = string.Template(WORDS.read_text(encoding="utf-8"))
    return note + words.substitute(facts)


def figures() -> Iterator[tuple[int, Adaptivity]]:
    """Run every figure and draw it."""
    FOLDER.mkdir(exist_ok=True)
    for number in FIGURES:
        result = adaptivity(number)
        result.save(FOLDER / f"figure-{number}.svg")
        yield number, result


def main() -> None:
    """Write the page."""
    facts = Facts()
    for number, result in figures():
        kind = result.figure.kind
        if kind == "plane":
            plane(result, facts)
        elif number == 2:
            versions(result, facts)
            edge(facts)
        elif kind == "characteristics":
            curves(number, result, facts)
        else:
            series(number, result, facts)
    rules(facts)
    PAGE.write_text(page(facts), encoding="utf-8")


if __name__ == "__main__":
    main()
