"""What Wireshark's analysis of sequence numbers would call a segment, and why that differs.

Wireshark judges a frame when it comes, keeps no account of what was sent, and knows no timers. Its
rules are those of the User's Guide, section "TCP Analysis", as version 4 applies them; a test
compares them with tshark.
"""

from collections.abc import Iterator
from typing import NamedTuple

from tcpwhy.explain.trace import Segment, Trace
from tcpwhy.units import as_duration

FAST_NS = 20_000_000
"""A fast retransmission comes within 20 ms of the acknowledgement that asks for it."""
OUT_OF_ORDER_NS = 3_000_000
"""How late a segment out of order may be where the handshake was not seen."""


class Label(NamedTuple):
    """What Wireshark writes in brackets, and the display filter for it."""

    text: str
    filter: str
    because: str
    """The rule, with its numbers."""


class Before(NamedTuple):
    """What Wireshark remembers of a stream when a segment comes."""

    next: int | None
    """After the highest byte of this direction."""
    next_ns: int
    """When that came."""
    ack: int | None
    """The last acknowledgement number of the other direction."""
    ack_ns: int
    ack_frame: int
    duplicates: int
    """Duplicate acknowledgements in a row."""
    window_raw: int | None
    """The last window of the other direction, unscaled."""


def label(trace: Trace) -> Label | None:
    """Name what Wireshark would; None where it has nothing to remark."""
    segment, before = trace.segment, _before(trace)
    plain = not set(segment.flags) & set("SFR")
    if before.next is None or "R" in segment.flags:
        return None
    if segment.payload == 1 and segment.start == before.next and before.window_raw == 0:
        because = "one byte at the next number while the window is zero"
        return Label("TCP ZeroWindowProbe", "tcp.analysis.zero_window_probe", because)
    if plain and segment.payload <= 1 and segment.start == before.next - 1:
        because = "no more than a byte, one below the next number"
        return Label("TCP Keep-Alive", "tcp.analysis.keep_alive", because)
    if segment.start > before.next:
        because = f"it begins {segment.start - before.next:,} bytes after the highest byte seen"
        text = "TCP Previous segment not captured"
        return Label(text, "tcp.analysis.lost_segment", because)
    if segment.payload == 0 and plain:
        return _acknowledgement(trace, before)
    if segment.start >= before.next:
        return None
    return _again(trace, segment, before)


def _again(trace: Trace, segment: Segment, before: Before) -> Label:
    """Data, SYN or FIN below the highest byte: one of four kinds, in Wireshark's order."""
    if before.ack is not None and segment.end <= before.ack and segment.payload > 0:
        because = f"frame {before.ack_frame} had acknowledged all of it"
        name = "TCP Spurious Retransmission"
        return Label(name, "tcp.analysis.spurious_retransmission", because)
    since_ack = segment.ts_ns - before.ack_ns
    fast = "TCP Fast Retransmission"
    if before.ack is not None and since_ack < FAST_NS:
        soon = f"{as_duration(since_ack)} after frame {before.ack_frame}, within 20 ms of it"
        if before.duplicates >= 2 and before.ack == segment.start:
            because = f"{soon}: at least the second duplicate ACK for its first byte"
            return Label(fast, "tcp.analysis.fast_retransmission", because)
    since_next = segment.ts_ns - before.next_ns
    limit = trace.flow.handshake_rtt_ns or OUT_OF_ORDER_NS
    if since_next < limit and segment.end != before.next:
        because = (
            f"{as_duration(since_next)} after the newest data, less than the RTT of the handshake"
            f" ({as_duration(limit)})"
        )
        return Label("TCP Out-Of-Order", "tcp.analysis.out_of_order", because)
    because = f"{as_duration(since_next)} after the newest data, below its number"
    return Label("TCP Retransmission", "tcp.analysis.retransmission", because)


def _acknowledgement(trace: Trace, before: Before) -> Label | None:
    """An acknowledgement without data: a duplicate, as far as Wireshark looks."""
    segment = trace.segment
    mine = "frame < $frame AND direction = $direction AND acked IS NOT NULL"
    earlier = trace.copies_too(f"{mine} AND frame = (SELECT max(frame) FROM numbered WHERE {mine})")
    if not earlier or segment.ack is None or segment.window_raw == 0:
        return None
    (last,) = earlier
    same = (last.ack, last.window_raw) == (segment.ack, segment.window_raw)
    if same and segment.start == before.next:
        text = "TCP Dup ACK"
        because = f"the number and the window of frame {last.frame}, and no data"
        return Label(text, "tcp.analysis.duplicate_ack", because)
    return None


def _before(trace: Trace) -> Before:
    """Look at all frames before this one, copies of a mirror port included, as Wireshark does."""
    next_, next_ns = trace.ask(
        """WITH mine AS (SELECT * FROM numbered WHERE frame < $frame AND direction = $direction
            AND kind <> 'zero_window_probe')
        SELECT max("end"), min(ts_ns) FILTER ("end" = (SELECT max("end") FROM mine)) FROM mine"""
    )
    acks = "frame < $frame AND direction <> $direction AND acked IS NOT NULL"
    newest = trace.copies_too(f"{acks} AND frame = (SELECT max(frame) FROM numbered WHERE {acks})")
    if not newest:
        return Before(next_, next_ns, None, 0, 0, 0, None)
    last = newest[0]
    (duplicates,) = trace.ask(
        f"""WITH acks AS (
            SELECT *, lag(window_raw) OVER (ORDER BY frame) AS last_window FROM numbered
            WHERE {acks} AND frame >= (
                SELECT coalesce(max(frame), 0) FROM numbered WHERE {acks} AND acked <> $ack))
        SELECT count(*) FROM acks WHERE acked = $ack AND payload = 0 AND window_raw = last_window
            AND NOT regexp_matches(flags, '[SFR]')
            AND frame > (SELECT min(frame) FROM acks WHERE acked = $ack)""",
        ack=last.ack,
    )
    return Before(next_, next_ns, last.ack, last.ts_ns, last.frame, duplicates, last.window_raw)


def difference(segment: Segment, label: Label) -> Iterator[str]:
    """Say why the label is another than our class, where it is."""
    kind, name = segment.kind, label.text.removeprefix("TCP ")
    if name in SAME.get(kind, ()):
        return
    if kind == "duplicate_frame":
        yield "It does not look at IPv4 identifications, and takes the copy for the host's."
    elif name == "Out-Of-Order":
        yield (
            "It asks only how soon after the newest data a segment comes, and not whether its bytes"
            " were sent before or asked for."
        )
    elif name == "Fast Retransmission":
        yield "It asks only how soon after an acknowledgement a segment comes."
    elif name == "Retransmission" and kind == "fast_retransmission":
        yield (
            "It counts a retransmission as fast only within 20 ms of at least two duplicate ACKs"
            " for its first byte: neither SACK blocks nor further losses of a recovery count."
        )
    elif name == "Retransmission" and kind in ("rto_retransmission", "tlp_retransmission"):
        yield "It has no timers, and does not tell timeouts and probes from other retransmissions."
    elif name == "Retransmission" and kind == "reordered":
        yield "It does not look at timestamps and identifications, which tell the order of sending."
    elif name == "Spurious Retransmission" and kind == "reordered":
        yield "It takes bytes that were acknowledged before the capture had them for sent twice."
    elif name == "Dup ACK":
        yield (
            "It does not ask whether data is outstanding and whether the number is the highest"
            " (RFC 5681 section 2)."
        )
    elif name == "Previous segment not captured":
        yield "It means the gap before this segment; the segment itself is new data here too."
    else:
        yield f"Here it is {kind.replace('_', ' ')}, for the reasons above."


SAME = {
    "fast_retransmission": ("Fast Retransmission",),
    "spurious_retransmission": ("Spurious Retransmission",),
    "retransmission": ("Retransmission",),
    "reordered": ("Out-Of-Order",),
    "zero_window_probe": ("ZeroWindowProbe",),
    "keep_alive": ("Keep-Alive",),
    "duplicate_ack": ("Dup ACK",),
}
"""Labels that say the same as a kind."""
