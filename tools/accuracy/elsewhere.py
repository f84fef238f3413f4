"""Worlds drawn otherwise than most that teach: whether what was learned holds there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pyarrow as pa

from accuracy import places, turned, wild
from tcpwhy import worlds

SEEDS = range(1000, 2600)
"""Nothing was fitted or chosen on these worlds of places. Others, below 1000, were looked at."""
TURNED = range(42_000_000, 42_000_800)
"""Nothing was fitted or chosen on these turned worlds; others teach."""


def run_all(seeds: Iterable[int], workers: int | None = None) -> Iterator[wild.World]:
    """Run worlds of places on all cores."""
    yield from _run(judged, places.scenario, seeds, workers)


def run_turned(seeds: Iterable[int], workers: int | None = None) -> Iterator[wild.World]:
    """Run turned worlds on all cores."""
    yield from _run(judged_turned, turned.scenario, seeds, workers)


def judged(seed: int) -> pa.Table:
    """Run the world of places of a seed; give its intervals beside the truth."""
    return worlds.judged_scenario(f"places-{seed}", places.scenario(seed), world=seed)


def judged_turned(seed: int) -> pa.Table:
    """Run the turned world of a seed; give its intervals beside the truth."""
    return worlds.judged_scenario(f"turned-{seed}", turned.scenario(seed), world=seed)


def _run(
    one: Callable[[int], pa.Table],
    scenario_of: Callable[[int], str],
    seeds: Iterable[int],
    workers: int | None,
) -> Iterator[wild.World]:
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for table in pool.map(one, seeds, chunksize=8):
            yield wild.world(table, scenario_of)


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


def turned_section(found: Sequence[wild.World]) -> Iterator[str]:
    """Give the blocks of the page about turned worlds."""
    rows = [row for world in found for row in world.intervals]
    if not rows:
        return
    yield "## Turned worlds"
    yield (
        f"{len(found)} random worlds, from seed {TURNED.start} on, of which some things were\n"
        "turned ([worlds](worlds.md)): queues of a few packets, several flows of the same hosts,\n"
        "fair queues with steady neighbours, large segments beside small buffers. Others of their\n"
        f"kind teach. The expected calibration error is {wild.calibration_error(rows):.1%} of\n"
        f"{len(rows):,} intervals at all taps."
    )
    yield from wild.tables_of(rows)
