"""Two capture points by their rows alone: what flows say where no segments were kept.

A connection begins with its SYN, at each point when it came by there. The part of the handshake's
round trip that lies before a point is `position`; what lies between two points is the difference,
and the SYN took no more of it than all. So the difference of the clocks is bounded, by each
connection anew. Bytes that one point has and the next one has not were lost between the two.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from tcpwhy._core import InputError
from tcpwhy.taps.between import Between, Clocks

Row = dict[str, Any]
Halves = Mapping[str, Row]
"""The rows of a connection at one point, by direction."""

MIDSTREAM = "OTH"
"""The state of a connection whose begin was not seen."""


def by_connection(rows: Iterable[Row]) -> dict[str, dict[str, Row]]:
    """Sort rows of flows by Community ID and direction."""
    found: dict[str, dict[str, Row]] = {}
    for row in rows:
        directions = found.setdefault(row["community_id"], {})
        # A port that was used again: the larger connection is meant.
        before = directions.get(row["direction"])
        if before is None or before["unique_bytes"] < row["unique_bytes"]:
            directions[row["direction"]] = row
    return found


def position(halves: Halves) -> float:
    """Say where a point is, 0 at the originator and 1 at the responder; unknown is the middle."""
    if (orig := halves.get("orig")) and orig["position"] is not None:
        return float(orig["position"])
    if (resp := halves.get("resp")) and resp["position"] is not None:
        return 1 - float(resp["position"])
    return 0.5


def reach_ns(halves: Halves) -> float | None:
    """Give the part of the handshake's round trip on the originator's side; `None` if unknown."""
    for row in halves.values():
        if row["position"] is not None and row["handshake_rtt_ns"] is not None:
            return position(halves) * float(row["handshake_rtt_ns"])
    return None


def ahead_ns(first: Halves, second: Halves) -> tuple[int | None, int | None]:
    """Bound how far the second clock is ahead of the first, by one connection.

    Returns:
        At least and at most, in ns; `None` where it says nothing.

    """
    one, other = (next(iter(halves.values())) for halves in (first, second))
    if MIDSTREAM in (one["conn_state"], other["conn_state"]):
        return None, None
    apart = other["start_ns"] - one["start_ns"]
    if first.keys() == second.keys():
        ends = reach_ns(first), reach_ns(second)
        if ends[0] is None or ends[1] is None:
            return None, None
        way = round(ends[1] - ends[0])
        return min(apart, apart - way), max(apart, apart - way)
    # One direction each: the SYN/ACK left after the SYN.
    if set(first) == {"orig"} and set(second) == {"resp"}:
        return None, apart
    if set(first) == {"resp"} and set(second) == {"orig"}:
        return apart, None
    return None, None


def compare_rows(near: Halves, far: Halves) -> tuple[Clocks | None, list[Between]]:
    """Compare one connection at two points by its rows.

    Args:
        near: its rows at the point nearer to the originator, by direction.
        far: the same at the other point.

    Returns:
        The clocks, `None` where the handshake was not seen at both, and a row for each direction
        that both have; what takes segments is `None` there.

    """
    least, most = ahead_ns(near, far)
    clocks = None
    if least is not None and most is not None:
        clocks = Clocks((least + most) // 2, (most - least + 1) // 2, None)
    found = []
    for direction in ("orig", "resp"):
        if direction in near and direction in far:
            ends = (near, far) if direction == "orig" else (far, near)
            found.append(_between(direction, ends[0][direction], ends[1][direction]))
    return clocks, [row for row in found if row.sent or row.unseen]


def _between(direction: str, first: Row, second: Row) -> Between:
    """Count in full segments: with offload a capture has fewer packets than the path."""
    mss = first["effective_mss"] or second["effective_mss"] or 1
    lost = max(row["retransmitted_bytes"] - row["spurious_bytes"] for row in (first, second))
    came = first["unique_bytes"] + first["retransmitted_bytes"]
    before = max(0, came - first["payload_bytes"])
    between = first["payload_bytes"] - second["payload_bytes"]
    is_split = first["offload_seen"] or second["offload_seen"]
    return Between(
        direction=direction,
        sent=-(-first["payload_bytes"] // mss) if is_split else first["data_packets"],
        lost_between=_packets(max(0, between), mss),
        lost_beyond=_packets(max(0, lost - before - max(0, between)), mss),
        lost_before=_packets(before, mss),
        unseen=_packets(max(0, -between), mss),
        delay_variation_p50_ns=None,
        delay_variation_p95_ns=None,
        delay_variation_max_ns=None,
        rtt_variation_p95_ns=None,
    )


def _packets(size: int, mss: int) -> int:
    return -(-size // mss)


def merged(first: Iterable[Row], second: Iterable[Row], offset_ns: int) -> list[Row]:
    """Make the rows of two points those of one.

    A half that both have is that of the point nearer to its sender; a connection that one has alone
    is kept. Times are by the first clock, flow_ids those of the first point.

    Args:
        first: rows of `flows` at the first point.
        second: the same at the other one.
        offset_ns: how far the second clock is ahead.

    """
    moved = [
        row | {name: row[name] - offset_ns for name in ("start_ns", "end_ns")} for row in second
    ]
    one, other = by_connection(first), by_connection(moved)
    if not one.keys() & other.keys():
        raise InputError("the two points have no connection in common")
    found = []
    for name in one | other:
        here, there = one.get(name, {}), other.get(name, {})
        for direction in ("orig", "resp"):
            rows = [halves[direction] for halves in (here, there) if direction in halves]
            if rows:
                found.append(_joined(min(rows, key=_from_sender), here, there))
    return sorted(found, key=lambda row: (row["start_ns"], row["flow_id"], row["direction"]))


def _from_sender(row: Row) -> tuple[float, int]:
    """Order points by how far they are from a half's sender; those that saw more come first."""
    return (0.5 if row["position"] is None else row["position"], -row["packets"])


ONE_WAY = {("SH", "SHR"): "SF", ("SHR", "SH"): "SF", ("S0", "SHR"): "S2", ("SHR", "S0"): "S2"}
"""States of a connection as two directions have them apart, and what they are together."""


def _joined(row: Row, here: Halves, there: Halves) -> Row:
    """Say of a row what both points know together."""
    if not here or not there:
        return row
    any_here, any_there = next(iter(here.values())), next(iter(there.values()))
    states = any_here["conn_state"], any_there["conn_state"]
    known = {"flow_id": any_here["flow_id"]}
    if here.keys() != there.keys():
        known["conn_state"] = ONE_WAY.get(states, row["conn_state"])
        known["handshake_seen"] = MIDSTREAM not in states
        known["start_ns"] = min(any_here["start_ns"], any_there["start_ns"])
        known["end_ns"] = max(any_here["end_ns"], any_there["end_ns"])
    return row | known
