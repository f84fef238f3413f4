"""What limited a half when: runs of intervals with one cause, as a bar and as a table."""

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from tcpwhy.explain.facts import Interval

MOST_RUNS = 16
"""Runs in the table; of more, the longest are shown and the others counted."""

LEVELS = ("low", "medium", "high")


class Run(NamedTuple):
    """Neighbouring intervals with the same cause."""

    start_ns: int
    end_ns: int
    limitation: str | None
    cause: str | None
    confidence: str | None
    """The one that half of its time had at least."""
    intervals: int
    unique_bytes: int
    retransmitted_bytes: int
    rtt_ns: tuple[int, int] | None
    """Least and largest of the intervals' mean round-trip times."""
    flight_size_max: int | None
    rwnd_min: int | None
    evidence: str | None
    """That of the longest of its intervals."""

    @property
    def length_ns(self) -> int:
        """How long it held."""
        return self.end_ns - self.start_ns

    @property
    def goodput_bps(self) -> float | None:
        """Unique payload a second."""
        return self.unique_bytes * 8e9 / self.length_ns if self.length_ns > 0 else None


def runs(intervals: Sequence[Interval]) -> list[Run]:
    """Merge neighbours with the same limitation and cause."""
    ordered = sorted(intervals, key=lambda row: (row.start_ns, row.end_ns))
    groups = groupby(ordered, key=lambda row: (row.limitation, row.cause))
    return [_run(list(group)) for _, group in groups]


def _run(rows: list[Interval]) -> Run:
    def known(name: str) -> list[int]:
        return [value for row in rows if (value := getattr(row, name)) is not None]

    rtts = known("rtt_mean_ns")
    longest = max(rows, key=lambda row: row.end_ns - row.start_ns)
    return Run(
        start_ns=rows[0].start_ns,
        end_ns=max(row.end_ns for row in rows),
        limitation=rows[0].limitation,
        cause=rows[0].cause,
        confidence=_confidence(rows),
        intervals=len(rows),
        unique_bytes=sum(row.unique_bytes for row in rows),
        retransmitted_bytes=sum(row.retransmitted_bytes for row in rows),
        rtt_ns=(min(rtts), max(rtts)) if rtts else None,
        flight_size_max=max(known("flight_size_max"), default=None),
        rwnd_min=min(known("rwnd_min"), default=None),
        evidence=longest.evidence,
    )


def _confidence(rows: list[Interval]) -> str | None:
    """Give the highest level that at least half of the time had."""
    total = sum(row.end_ns - row.start_ns for row in rows)
    for level in reversed(range(len(LEVELS))):
        reached = [row for row in rows if row.confidence in LEVELS[level:]]
        if reached and 2 * sum(row.end_ns - row.start_ns for row in reached) >= total:
            return LEVELS[level]
    return None


def shown(found: Sequence[Run], most: int = MOST_RUNS) -> tuple[list[Run], list[Run]]:
    """Split into the runs for the table, in the order of time, and those left out."""
    longest = sorted(found, key=lambda run: (-run.length_ns, run.start_ns))
    return sorted(longest[:most], key=_start), sorted(longest[most:], key=_start)


def _start(run: Run) -> int:
    return run.start_ns


def time_by_cause(found: Sequence[Run]) -> dict[tuple[str | None, str | None], int]:
    """Add up the time in ns of each limitation and cause, the longest first."""
    total: dict[tuple[str | None, str | None], int] = {}
    for run in found:
        key = (run.limitation, run.cause)
        total[key] = total.get(key, 0) + run.length_ns
    return dict(sorted(total.items(), key=lambda item: -item[1]))


def bar(found: Sequence[Run], cells: int) -> list[tuple[str | None, int]]:
    """Draw the runs to scale: limitations with the cells that each fills, in the order of time.

    A cell shows what held for most of it; one where nothing was known is None.
    """
    if not found or cells < 1:
        return []
    begin, length = found[0].start_ns, found[-1].end_ns - found[0].start_ns
    if length <= 0:
        return [(found[0].limitation, cells)]
    drawn = []
    at = 0
    for cell in range(cells):
        left, right = begin + length * cell / cells, begin + length * (cell + 1) / cells
        while at + 1 < len(found) and found[at].end_ns <= left:
            at += 1
        drawn.append(_longest(found, at, left, right))
    return [(limitation, len(list(same))) for limitation, same in groupby(drawn)]


def _longest(found: Sequence[Run], at: int, left: float, right: float) -> str | None:
    """Find the limitation that held for the largest part of a span of time."""
    total: dict[str | None, float] = {}
    while at < len(found) and found[at].start_ns < right:
        run = found[at]
        overlap = min(run.end_ns, right) - max(run.start_ns, left)
        total[run.limitation] = total.get(run.limitation, 0.0) + overlap
        at += 1
    return max(total, key=lambda limitation: total[limitation], default=None)
