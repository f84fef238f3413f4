"""The connections that two points have in common, and which is nearer to the originator."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from typing import Any

from tcpwhy._core import InputError, UsageError
from tcpwhy.taps.between import Between, Clocks, compare
from tcpwhy.taps.rows import Halves, by_connection, compare_rows, position
from tcpwhy.taps.source import Point, point

ETHERNET_MSS = 1460
MOST_FLOWS = 5


@dataclass(frozen=True, kw_only=True)
class Pair:
    """One connection at both points."""

    community_id: str
    originator: str
    responder: str
    near: str
    """The point nearer to the originator."""
    far: str
    clocks: Clocks | None
    directions: list[Between]
    by_segments: bool
    """Whether packets were compared one by one; else the sums of both points."""


def pairs(
    first: str | PathLike[str],
    second: str | PathLike[str],
    *,
    flow: str | None = None,
    most: int = MOST_FLOWS,
) -> Iterator[Pair]:
    """Compare the largest connections that both points saw.

    Args:
        first: a capture, or what was made of one: a store, a folder or a file of Parquet, a file of
            DuckDB, the URL of topics of Kafka.
        second: the same of another point of the path; the clocks need not agree.
        flow: only this one, by its Community ID.
        most: how many connections.

    Raises:
        InputError: where the points have no half of a connection in common.

    """
    names = str(first), str(second)
    if names[0] == names[1]:
        raise UsageError(f"{names[0]}: two different captures are compared")
    points = [point(name) for name in names]
    seen = [by_connection(one.flows()) for one in points]
    # Of asymmetric paths a point may have one direction, and the other point the other one.
    common = {
        name
        for name in seen[0].keys() & seen[1].keys()
        if seen[0][name].keys() & seen[1][name].keys()
    }
    if flow is not None:
        common &= {flow}
    if not common:
        what = f"no flow {flow}" if flow else "no connection"
        raise InputError(f"{names[0]} and {names[1]}: {what} in common")
    bytes_of = {name: min(_payload(flows[name]) for flows in seen) for name in common}
    for name in sorted(common, key=lambda name: (-bytes_of[name], name))[:most]:
        both = list(zip(points, (flows[name] for flows in seen), strict=True))
        near, far = sorted(both, key=lambda one: position(one[1]))
        yield _pair(name, near, far)


def _payload(halves: Halves) -> int:
    return sum(row["unique_bytes"] for row in halves.values())


def _pair(name: str, near: tuple[Point, Halves], far: tuple[Point, Halves]) -> Pair:
    largest = max(near[1].values(), key=lambda row: row["unique_bytes"])
    sizes = [
        row["effective_mss"]
        for _, directions in (near, far)
        for row in directions.values()
        if row["effective_mss"] and row["unique_bytes"] > row["effective_mss"]
    ]
    segments: list[Any] = [
        one.segments(next(iter(halves.values()))["flow_id"]) for one, halves in (near, far)
    ]
    by_segments = all(rows is not None for rows in segments)
    if by_segments:
        clocks, directions = compare(*segments, mss_bytes=min(sizes, default=ETHERNET_MSS))
    else:
        clocks, directions = compare_rows(near[1], far[1])
    ends = [f"{largest[end]}:{largest[f'{end}_port']}" for end in ("src", "dst")]
    originator, responder = ends if largest["direction"] == "orig" else reversed(ends)
    return Pair(
        community_id=name,
        originator=originator,
        responder=responder,
        near=near[0].name,
        far=far[0].name,
        clocks=clocks,
        directions=directions,
        by_segments=by_segments,
    )
