"""Runs scenarios in the simulator, analyses what every tap saw, and holds it against the truth."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import tcpwhy
from accuracy import scenario, truth
from accuracy.judged import CLASSES, Capacity, Judged, LeftOut, Shares
from accuracy.scenario import Case
from accuracy.truth import Half, Truth

EPOCH_NS = 1_767_225_600 * 10**9
"""The time of a capture at which a simulation begins."""
SHORTEST_S = 0.5
"""Shorter intervals are ends that the clock cut off."""
Row = dict[str, Any]


@dataclass
class Outcome:
    """What the run of one case gave."""

    case: Case
    intervals: list[Judged] = field(default_factory=list)
    halves: list[Judged] = field(default_factory=list)
    """Whole halves whose truth is one and the same from begin to end."""
    shares: list[Shares] = field(default_factory=list)
    capacities: list[Capacity] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    with_data: int = 0
    """Halves that moved data, at all taps."""
    with_verdict: int = 0


@dataclass(frozen=True)
class Run:
    """A simulation and the analysis of its captures, by tap and table."""

    truth: Truth
    taps: dict[str, dict[str, list[Row]]]


def run_all(cases: Iterable[Case], workers: int | None = None) -> Iterator[Outcome]:
    """Run cases on all cores; the outcomes come in order."""
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from pool.map(outcome, cases, chunksize=4)


def run(case: Case, *, taps: tuple[str, ...] = ()) -> Run:
    """Simulate and analyse, all taps unless some are named."""
    with tempfile.TemporaryDirectory() as folder:
        simulation = tcpwhy.simulate(case.write(Path(folder)), captures=folder)
        tables = {name: simulation.to_arrow(name).to_pylist() for name in simulation.tables}
        found = {}
        for tap, path in simulation.captures.items():
            if taps and tap not in taps:
                continue
            result = tcpwhy.analyze(path, table=_KEPT, workers=1)
            found[tap] = {
                table: result.to_arrow(table).select(columns).to_pylist()
                for table, columns in _KEPT.items()
            }
    return Run(Truth(case, tables), found)


def outcome(case: Case) -> Outcome:
    """Run one case and judge what the analysis says of it."""
    made = run(case)
    found = Outcome(case)
    held = []
    for expect in case.expects:
        reason = truth.doubt(made.truth, expect)
        if reason is None or case.group == "scenarios":
            held.append(expect)
        if reason is not None:
            word = truth.allowed(expect)[0]
            found.left_out.append(LeftOut(case.name, case.variant, word, reason))
    for tap, tables in made.taps.items():
        for row in tables["intervals"]:
            _judge_interval(found, made.truth, tap, row, held)
        for row in tables["flows"]:
            _judge_half(found, made.truth, tap, row, held)
    return found


def half_of(truth: Truth, row: Row) -> Half | None:
    """The half of the scenario that a row is about."""
    return truth.halves.get((row["src"], row["src_port"], row["dst"], row["dst_port"]))


def _judge_interval(
    found: Outcome, known: Truth, tap: str, row: Row, expects: list[scenario.Spec]
) -> None:
    start, end = row["start_ns"] - EPOCH_NS, row["end_ns"] - EPOCH_NS
    half = half_of(known, row)
    if half is None or not row["data_packets"] or end - start < SHORTEST_S * 1e9:
        return
    true = known.shares(half, start, end)
    shares = tuple(row[f"share_{name}"] for name in CLASSES)
    if true is not None and None not in shares:
        found.shares.append(Shares(found.case.name, tap, shares, true))
    for expect in expects:
        from_ns, to_ns = _bounds(expect)
        if truth.half_of(expect) == half and start >= from_ns - 1e3 and end <= to_ns + 1e3:
            found.intervals.append(_judged(found.case, known, tap, row, expect))
            return


def _judge_half(
    found: Outcome, known: Truth, tap: str, row: Row, expects: list[scenario.Spec]
) -> None:
    half = half_of(known, row)
    if half is None or not row["data_packets"]:
        return
    found.with_data += 1
    found.with_verdict += row["cause"] is not None
    server = scenario.bottleneck(known.case.spec, half.flow, half.backward)
    if server is not None and row["data_packets"] >= CAPACITY_PACKETS:
        measured = (row["capacity_bps"], row["capacity_unknown"])
        found.capacities.append(Capacity(found.case.name, tap, server.rate_bps, *measured))
    mine = [expect for expect in expects if truth.half_of(expect) == half]
    all_of_it = [expect for expect in found.case.expects if truth.half_of(expect) == half]
    if len(mine) == len(all_of_it) == 1 and "to_s" not in mine[0]:
        found.halves.append(_judged(found.case, known, tap, row, mine[0]))


def _bounds(expect: scenario.Spec) -> tuple[float, float]:
    return expect.get("from_s", 0) * 1e9, expect.get("to_s", float("inf")) * 1e9


def _judged(case: Case, known: Truth, tap: str, row: Row, expect: scenario.Spec) -> Judged:
    start, end = row["start_ns"] - EPOCH_NS, row["end_ns"] - EPOCH_NS
    half = truth.half_of(expect)
    words = truth.allowed(expect)
    return Judged(
        group=case.group,
        name=case.name,
        variant=case.variant,
        tap=tap,
        start_s=start / 1e9,
        end_s=end / 1e9,
        expected=words[0],
        allowed=words,
        cause=row["cause"],
        paper=row["limitation_siekkinen"],
        confidence=row["confidence"],
        is_mixed=row["limitation"] == "mixed",
        drops=known.drops(half, start, end).total(),
        held=truth.held_words(known.limits(half, start, end)),
        evidence=row["evidence"] or "",
    )


CAPACITY_PACKETS = 300
"""Data packets from which a capacity is looked for: the default of --min-packets."""
_WHO = ["src", "src_port", "dst", "dst_port", "start_ns", "end_ns", "data_packets", "unique_bytes"]
_VERDICT = ["limitation_siekkinen", "limitation", "cause", "confidence", "evidence"]
_SHARES = [f"share_{name}" for name in CLASSES]
_MORE = ["capacity_bps", "capacity_unknown", "headroom_bps", "next_limitation"]
_KEPT = {"flows": _WHO + _VERDICT + _MORE, "intervals": _WHO + _VERDICT + _SHARES}
