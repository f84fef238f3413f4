"""Whole directions of random worlds: what their rows of `flows` say, beside their intervals."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

COLUMNS = [
    "flow_id",
    "direction",
    "start_ns",
    "end_ns",
    "flow_limitation",
    "flow_limitation_siekkinen",
    "flow_confidence",
    "flow_probability",
]
"""Beside those of the intervals."""
KNOWN = 0.9
"""Share of the intervals' time of which the truth has to be known."""


def directions(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Make one row of the intervals of each direction, with the columns of an interval.

    What is right for a direction is what is right for the longest time of its intervals, as much
    of it as is known.
    """
    intervals: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        key = (row["world"], row["tap"], row["flow_id"], row["direction"])
        intervals[key].append(row)
    return [_whole(mine) for mine in intervals.values() if _is_known(mine)]


def _length(row: dict[str, Any]) -> int:
    return int(row["end_ns"] - row["start_ns"])


def _is_known(rows: list[dict[str, Any]]) -> bool:
    known = sum(_length(row) for row in rows if row["true_limitations"])
    return 0 < known >= KNOWN * sum(map(_length, rows))


def _whole(rows: list[dict[str, Any]]) -> dict[str, Any]:
    time: dict[str, int] = defaultdict(int)
    for row in rows:
        for answer in (row["true_limitations"] or "").split():
            time[answer] += _length(row)
    most = max(time.values())
    first = rows[0]
    flow = {name.removeprefix("flow_"): first[name] for name in COLUMNS if "flow_" in name}
    right = " ".join(answer for answer, mine in time.items() if mine == most)
    return first | flow | {"true_limitations": right}
