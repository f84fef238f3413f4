"""The connections that two captures have in common, and which point is nearer to the originator."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from typing import Any

from tcpwhy._core import InputError, UsageError
from tcpwhy.analysis import analyze
from tcpwhy.taps.between import Between, Clocks, compare

ETHERNET_MSS = 1460
MOST_FLOWS = 5


@dataclass(frozen=True, kw_only=True)
class Pair:
    """One connection at both points."""

    community_id: str
    originator: str
    responder: str
    near: str
    """The capture nearer to the originator."""
    far: str
    clocks: Clocks | None
    directions: list[Between]


def pairs(
    first: str | PathLike[str],
    second: str | PathLike[str],
    *,
    flow: str | None = None,
    most: int = MOST_FLOWS,
) -> Iterator[Pair]:
    """Compare the largest connections that both captures saw.

    Args:
        first: a capture.
        second: a capture of the same traffic at another point; the clocks need not agree.
        flow: only this one, by its Community ID.
        most: how many connections.

    Raises:
        InputError: where the captures have no connection in common.

    """
    names = str(first), str(second)
    if names[0] == names[1]:
        raise UsageError(f"{names[0]}: two different captures are compared")
    seen = [_flows(name) for name in names]
    common = seen[0].keys() & seen[1].keys()
    if flow is not None:
        common &= {flow}
    if not common:
        what = f"no flow {flow}" if flow else "no connection"
        raise InputError(f"{names[0]} and {names[1]}: {what} in common")
    bytes_of = {name: min(_payload(flows[name]) for flows in seen) for name in common}
    for name in sorted(common, key=lambda name: (-bytes_of[name], name))[:most]:
        both = list(zip(names, (flows[name] for flows in seen), strict=True))
        near, far = sorted(both, key=lambda one: _position(one[1]))
        yield _pair(name, near, far)


def _flows(capture: str) -> dict[str, dict[str, dict[str, Any]]]:
    """Give the rows of a capture's flows by Community ID and direction."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for row in analyze(capture, table="flows").to_arrow("flows").to_pylist():
        directions = found.setdefault(row["community_id"], {})
        # A port that was used again: the larger connection is meant.
        before = directions.get(row["direction"])
        if before is None or before["unique_bytes"] < row["unique_bytes"]:
            directions[row["direction"]] = row
    return found


def _payload(directions: dict[str, dict[str, Any]]) -> int:
    return sum(row["unique_bytes"] for row in directions.values())


def _position(directions: dict[str, dict[str, Any]]) -> float:
    """Say where the point is, 0 at the originator; unknown is in the middle."""
    if (orig := directions.get("orig")) and orig["position"] is not None:
        return float(orig["position"])
    if (resp := directions.get("resp")) and resp["position"] is not None:
        return 1 - float(resp["position"])
    return 0.5


def _pair(name: str, near: tuple[str, Any], far: tuple[str, Any]) -> Pair:
    largest = max(near[1].values(), key=lambda row: row["unique_bytes"])
    sizes = [
        row["effective_mss"]
        for _, directions in (near, far)
        for row in directions.values()
        if row["effective_mss"] and row["unique_bytes"] > row["effective_mss"]
    ]
    segments = [
        analyze(capture, table="segments", flow=next(iter(rows.values()))["flow_id"]).to_arrow()
        for capture, rows in (near, far)
    ]
    clocks, directions = compare(*segments, mss_bytes=min(sizes, default=ETHERNET_MSS))
    ends = [f"{largest[end]}:{largest[f'{end}_port']}" for end in ("src", "dst")]
    originator, responder = ends if largest["direction"] == "orig" else reversed(ends)
    return Pair(
        community_id=name,
        originator=originator,
        responder=responder,
        near=near[0],
        far=far[0],
        clocks=clocks,
        directions=directions,
    )
