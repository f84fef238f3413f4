"""Random worlds that nothing was fitted on: how often the answer is right, and how sure it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import pyarrow as pa

from accuracy import wild_capacity, wild_whole
from accuracy.judged import Capacity
from accuracy.spread import ranged
from accuracy.tables import Rate, grid, share
from tcpwhy import vocabulary, worlds

JUDGED_FROM = 400_000
"""Seeds below this one, and from 10,000,000 on, were fitted, or calibrate."""
WORLDS = 3200
BINS = 10
OWN = "unshared_bottleneck"
KINDS = {
    f"{OWN}/wifi": re.compile(r"\bwifi\b"),
    f"{OWN}/cellular": re.compile(r"\b(walk|trace)\b"),
}
"""Links whose rate varies by itself, by what they are called and by their elements.

A sine is the rate of a source.
"""
VARYING = (*KINDS, f"{OWN}/varying")


@dataclass(frozen=True)
class Told:
    """An interval of a world, or a whole direction."""

    allowed: tuple[str, ...]
    tap: str
    limitation: str | None
    cause: str | None
    paper: str | None
    confidence: str | None
    probability: float | None
    world: int

    @property
    def is_right(self) -> bool:
        """Whether the limitation is one of those that are right."""
        return self.limitation in self.allowed


@dataclass(frozen=True)
class World:
    """What was told in a world."""

    intervals: list[Told]
    directions: list[Told]
    capacities: list[Capacity]


def run_all(seeds: Iterable[int], workers: int | None = None) -> Iterator[World]:
    """Run worlds on all cores."""
    yield from map(world, worlds.judged_all(seeds, workers=workers))


def world(table: pa.Table, scenario_of: Callable[[int], str] = worlds.scenario) -> World:
    """Give what was told in a world, from its rows; `scenario_of` gives its text by its seed."""
    columns = [*COLUMNS, *wild_whole.COLUMNS, *wild_capacity.COLUMNS]
    rows = table.select(columns).to_pylist() if len(table) else []
    capacities = wild_capacity.capacities(rows, scenario_of)
    return World(told(rows), told(wild_whole.directions(rows)), capacities)


def told(rows: Iterable[dict[str, Any]]) -> list[Told]:
    """Give the rows of which the truth is known."""
    return [
        Told(
            tuple(row["true_limitations"].split()),
            row["tap"],
            row["limitation"],
            row["cause"],
            row["limitation_siekkinen"],
            row["confidence"],
            row["probability"],
            row["world"],
        )
        for row in rows
        if row["true_limitations"]
    ]


@cache
def kinds(seed: int) -> frozenset[str]:
    """Name the kinds of links of a world whose rate varies by itself."""
    return kinds_of(worlds.scenario(seed))


def kinds_of(text: str) -> frozenset[str]:
    """Do the same for the text of a scenario."""
    return frozenset(kind for kind, element in KINDS.items() if element.search(text))


def tables_of(rows: Sequence[Told]) -> Iterator[str]:
    """Give how often answers are right by truth, tap and confidence."""
    yield by(rows, "truth", lambda row: row.allowed[0])
    yield by(rows, "tap", lambda row: row.tap)
    yield by(rows, "confidence", lambda row: row.confidence or "none")


def section(found: Sequence[World]) -> Iterator[str]:
    """Give the blocks of the page."""
    rows = [row for world in found for row in world.intervals]
    if not rows:
        return
    yield "## Random worlds"
    yield (
        f"{len(found)} [random worlds](worlds.md) whose seeds, from {JUDGED_FROM} on, nothing was\n"
        f"fitted or chosen on: {len(rows):,} intervals at all taps. The expected calibration\n"
        f"error is {calibration_error(rows):.1%}, in {BINS} bins of equal counts. In brackets is\n"
        "where a share lies in 95 % of other draws of as many worlds."
    )
    yield from tables_of(rows)
    yield (
        f"Links whose own rate varies, where `{OWN}` is right; one of which it is open what it\n"
        f"is like is called `{OWN}/varying`:"
    )
    yield varying(rows)
    yield "How often an answer is right, by its `probability`:"
    yield reliability(rows)
    directions = [row for world in found for row in world.directions]
    yield (
        f"The answers for {len(directions):,} whole directions, right where they may have\n"
        f"held for the longest time; the calibration error is {calibration_error(directions):.1%}:"
    )
    yield by(directions, "confidence", lambda row: row.confidence or "none", "directions")
    yield reliability(directions, "directions")


def varying(rows: Sequence[Told]) -> str:
    """Give a table of how well links whose own rate varies are told, where the limit is right."""
    own = [row for row in rows if row.limitation == OWN and OWN in row.allowed]
    causes = {"any of them": VARYING} | {f"`{kind}`": (kind,) for kind in KINDS}
    lines = []
    for name, words in causes.items():
        named = [row for row in own if row.cause in words]
        true = [row for row in own if kinds(row.world).intersection(words)]
        found = Rate(sum(row.cause in words for row in true), len(true))
        right = Rate(sum(bool(kinds(row.world).intersection(words)) for row in named), len(named))
        lines.append([name, f"{len(true):,}", share(found), f"{len(named):,}", share(right)])
    return grid(["the link", "intervals", "called so", "called so in all", "right"], lines)


def right(rows: Sequence[Told]) -> float:
    """Give the share of answers that are right; 0 where there are none."""
    return sum(row.is_right for row in rows) / max(1, len(rows))


def calibration_error(rows: Sequence[Told]) -> float:
    """Give the mean distance of probability and share of right answers, bin by bin."""
    parts = list(_bins(rows))
    total = sum(len(part) for part in parts)
    return sum(abs(_mean(part) - (_right(part).share or 0.0)) * len(part) for part in parts) / total


def by(rows: Sequence[Told], head: str, key: Callable[[Told], str], each: str = "intervals") -> str:
    """Give a table of how often answers are right, by a key; `truth` has their precision, too.

    In brackets is where the share lies in 95 % of other draws of as many worlds.
    """
    lines = []
    for word in sorted({key(row) for row in rows}):
        mine = [row for row in rows if key(row) == word]
        answered = [row for row in rows if head == "truth" and row.limitation == word]
        precision = _ranged(answered) if head == "truth" else ""
        paper = Rate(
            sum(vocabulary.is_paper_right(row.paper, set(row.allowed)) for row in mine), len(mine)
        )
        lines.append([word, f"{len(mine):,}", _ranged(mine), precision, share(paper)])
    paper = Rate(
        sum(vocabulary.is_paper_right(row.paper, set(row.allowed)) for row in rows), len(rows)
    )
    lines.append(["all", f"{len(rows):,}", _ranged(rows), "", share(paper)])
    heads = [head, each, "right", "precision", "paper's tree"]
    return grid(heads, lines)


def reliability(rows: Sequence[Told], each: str = "intervals") -> str:
    """Give a table of how often answers are right, by their probability."""
    lines = []
    for part in _bins(rows):
        right = _right(part).share or 0.0
        bar = "█" * round(right * 20)
        lines.append([f"{_mean(part):.1%}", f"{right:.1%}", f"{len(part):,}", f"`{bar:20}`"])
    return grid(["probability", "right", each, ""], lines)


def _bins(rows: Sequence[Told]) -> Iterator[list[Told]]:
    known = sorted(
        (row for row in rows if row.probability is not None), key=lambda row: row.probability or 0.0
    )
    for number in range(BINS):
        part = known[len(known) * number // BINS : len(known) * (number + 1) // BINS]
        if part:
            yield part


def _mean(rows: Sequence[Told]) -> float:
    return sum(row.probability or 0.0 for row in rows) / len(rows)


def _ranged(rows: Sequence[Told]) -> str:
    return ranged([(row.world, row.is_right) for row in rows])


def _right(rows: Sequence[Told]) -> Rate:
    return Rate(sum(row.is_right for row in rows), len(rows))


COLUMNS = [
    "world",
    "true_limitations",
    "tap",
    "limitation",
    "cause",
    "limitation_siekkinen",
    "confidence",
    "probability",
]
