"""The tables of the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from accuracy import wild
from ns3_worlds import draw, judged, ours

FEWEST = 300
"""Intervals from which a controller has a row of its own."""


def tables(program: Path, seeds: range, workers: int) -> str:
    """Give all tables, of ns-3 and of the same worlds in the simulator here."""
    rows = [row for rows in judged.of_worlds(program, seeds, workers) for row in wild.told(rows)]
    same = [row for rows in ours.of_worlds(seeds, workers) for row in wild.told(rows)]
    return "\n\n".join(_blocks(rows, same))


def _blocks(rows: Sequence[wild.Told], same: Sequence[wild.Told]) -> Iterator[str]:
    worlds = len({row.world for row in rows})
    high = [row for row in same if row.confidence == "high"]
    there, here, sure = map(wild.right, (rows, same, high))
    yield (
        f"{len(rows):,} intervals of {worlds} worlds, {there:.1%} of them right. Of the\n"
        f"{len(same):,} intervals of the same draws in the simulator here {here:.1%} are,\n"
        f"and {sure:.1%} of those with high confidence. In ns-3 the expected calibration\n"
        f"error is {wild.calibration_error(rows):.1%}."
    )
    yield wild.by(rows, "truth", lambda row: row.allowed[0])
    yield wild.by(rows, "tap", lambda row: row.tap)
    yield wild.by(rows, "confidence", lambda row: row.confidence or "none")
    yield "By the controller of the sender:"
    controllers = {row.world: str(draw.world(row.world)["controller"]) for row in rows}
    counts = dict.fromkeys(controllers.values(), 0)
    for row in rows:
        counts[controllers[row.world]] += 1
    yield wild.by(rows, "controller", lambda row: _named(controllers[row.world], counts))


def _named(controller: str, counts: dict[str, int]) -> str:
    return controller if counts[controller] >= FEWEST else "others"
