"""Worlds of another generator than the one that teaches: whether what was learned holds there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pyarrow as pa

from accuracy import places, wild
from tcpwhy import worlds

SEEDS = range(1000, 2600)
"""Nothing was fitted or chosen on any world of places."""


def run_all(seeds: Iterable[int], workers: int | None = None) -> Iterator[wild.World]:
    """Run worlds of places on all cores."""
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for table in pool.map(judged, seeds, chunksize=8):
            yield wild.world(table, places.scenario)


def judged(seed: int) -> pa.Table:
    """Run the world of a seed; give its intervals beside the truth."""
    return worlds.judged_scenario(f"places-{seed}", places.scenario(seed), world=seed)


def section(found: Sequence[wild.World]) -> Iterator[str]:
    """Give the blocks of the page."""
    rows = [row for world in found for row in world.intervals]
    if not rows:
        return
    yield "## Worlds of another generator"
    yield (
        f"{len(found)} worlds of places (`tools/accuracy/places.py`, from seed {SEEDS.start} on):\n"
        "each has the rates, round trips and queues that are usual at a kind of place, the\n"
        "programs that people run there, and others on the same link, up to two dozen flows.\n"
        "Nothing was fitted, calibrated or chosen on them. The expected calibration error is\n"
        f"{wild.calibration_error(rows):.1%} of {len(rows):,} intervals at all taps."
    )
    yield wild.by(rows, "truth", lambda row: row.allowed[0])
    yield wild.by(rows, "place", lambda row: places.name(row.world))
    yield wild.by(rows, "tap", lambda row: row.tap)
    yield wild.by(rows, "confidence", lambda row: row.confidence or "none")
    yield wild.reliability(rows)
