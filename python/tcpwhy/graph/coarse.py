"""What a graph shows of a flow whose segments were not kept: its intervals."""

from collections.abc import Callable, Sequence
from typing import Any

from tcpwhy.explain.facts import Half, Interval
from tcpwhy.graph.segments import Columns
from tcpwhy.graph.trace import Trace, verdicts

NOTE = "The segments were not kept: drawn from intervals. tcpwhy graph CAPTURE shows every segment."


def coarse(half: Half, intervals: Sequence[Interval], start_ns: int, end_ns: int) -> Trace:
    """Give what is drawn of a direction without segments."""
    series = {
        "flight": _points(intervals, start_ns, lambda row: row.flight_size_max),
        "rwnd": _held(intervals, start_ns, lambda row: row.rwnd_min),
        "rtt": _points(intervals, start_ns, lambda row: row.rtt_mean_ns),
        "throughput_mean": _held(
            intervals, start_ns, lambda row: _rate(row, row.unique_bytes + row.retransmitted_bytes)
        ),
        "goodput_mean": _held(intervals, start_ns, lambda row: _rate(row, row.unique_bytes)),
    }
    span = max(1, end_ns - start_ns)
    told = verdicts(intervals, start_ns)
    return Trace(half, half.pair, span, series, {}, told, notes=[NOTE])


def _rate(row: Interval, size: int) -> int:
    return round(size * 8e9 / max(1, row.end_ns - row.start_ns))


def _points(rows: Sequence[Interval], start_ns: int, value: Callable[[Interval], Any]) -> Columns:
    """Place a value in the middle of its interval."""
    known = [(row, found) for row in rows if (found := value(row)) is not None]
    return _columns([((r.start_ns + r.end_ns) // 2 - start_ns, found) for r, found in known])


def _held(rows: Sequence[Interval], start_ns: int, value: Callable[[Interval], Any]) -> Columns:
    """Hold a value for its interval, with a gap where it is not known or no interval is."""
    points: list[tuple[int, int]] = []
    for row, after in zip(rows, [*rows[1:], None], strict=True):
        found = value(row)
        points.append((row.start_ns - start_ns, -1 if found is None else found))
        if after is None or after.start_ns > row.end_ns:
            points.append((row.end_ns - start_ns, -1))
    return _columns(points)


def _columns(points: Sequence[tuple[int, int]]) -> Columns:
    import numpy

    rows = numpy.array(points, dtype=numpy.int64).reshape(-1, 2)
    return {"t": rows[:, 0], "v": rows[:, 1]}
