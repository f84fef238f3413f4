"""The longest stalls of a direction, in words that cite frames."""

from collections.abc import Iterator, Sequence

from tcpwhy import vocabulary
from tcpwhy.explain.argument import NAMES
from tcpwhy.explain.facts import Stall
from tcpwhy.explain.words import counted
from tcpwhy.units import as_bytes, as_duration

MOST = 3
"""Stalls that are told one by one."""

OTHER_SIDE = {
    "ack": "an acknowledgement",
    "window_update": "a wider window",
    "peer_data": "data of the other side",
    "peer_syn": "the other side's opening",
    "peer_fin": "the other side's end",
    "peer_rst": "a reset by the other side",
}
"""What ends a stall beside the sender's own segments."""


def stalls(found: Sequence[Stall], start_ns: int, *, in_store: bool) -> Iterator[str]:
    """Tell the longest stalls, the longest first, and how many there were.

    Args:
        found: the rows of a direction by rank.
        start_ns: the time of the first packet of the connection, from which times count.
        in_store: whether the frames may be those of another file, so that they are not cited.

    """
    if not found:
        # A store may have been made without the table.
        if not in_store:
            yield "None: no silence was longer than two round trips or a retransmission timeout."
        return
    for stall in found[:MOST]:
        yield _told(stall, start_ns, in_store=in_store)
    if (many := found[0].stall_events) > len(found[:MOST]):
        total = as_duration(found[0].stall_total_ns)
        yield f"There were {counted(many, 'stall')}, {total} together."


def _told(stall: Stall, start_ns: int, *, in_store: bool) -> str:
    since = stall.start_ns - start_ns
    begin = as_duration(since) if since else "0 s"
    frames = "" if in_store else f", frames {stall.frame_before} to {stall.frame_after}"
    why = vocabulary.meaning("stall_cause", stall.stall_cause) or "why is unknown"
    flight = f", {as_bytes(stall.flight_size)} in flight" if stall.flight_size else ""
    ended = OTHER_SIDE.get(stall.ended_by) or NAMES.get(stall.ended_by, stall.ended_by)
    length = as_duration(stall.end_ns - stall.start_ns)
    return f"{length} from {begin} on{frames}{flight}: {why}; ended by {ended}."
