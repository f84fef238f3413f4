"""Whole directions of random worlds: what their rows of `flows` say, beside their intervals."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np

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

    What is right for a direction is what may have held for the longest time of its intervals, as
    much of it as is known.
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


def longest(length: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Tell by answer which may have held for the longest time.

    `length` has one number for each interval, `right` a row for each with a column by answer. Where
    several are right any of them may have held. So no other may be right for longer where this one
    is not: an answer that is right of all intervals is right of the whole.
    """
    right = right.astype(float)
    time = length @ right
    others = (length[:, None] * right).T @ (1 - right)
    return np.asarray((time > 0) & (time >= others.max(0)))


def _whole(rows: list[dict[str, Any]]) -> dict[str, Any]:
    truths = [(row["true_limitations"] or "").split() for row in rows]
    answers = list(dict.fromkeys(answer for truth in truths for answer in truth))
    right = np.array([[answer in truth for answer in answers] for truth in truths])
    is_longest = longest(np.array([_length(row) for row in rows], float), right)
    first = rows[0]
    flow = {name.removeprefix("flow_"): first[name] for name in COLUMNS if "flow_" in name}
    words = [answer for answer, mine in zip(answers, is_longest, strict=True) if mine]
    return first | flow | {"true_limitations": " ".join(words)}
