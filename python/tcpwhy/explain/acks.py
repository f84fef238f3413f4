"""What acknowledgements did, and what they said later of a segment."""

from collections.abc import Iterator

from tcpwhy.explain.argument import Argument, span
from tcpwhy.explain.trace import Segment
from tcpwhy.units import as_duration


def acknowledgement(case: Argument) -> Iterator[str]:
    """What an acknowledgement does."""
    segment = case.segment
    if segment.ack is None:
        return
    before = case.trace.mine("frame < $frame AND acked IS NOT NULL")
    highest = max((row.ack or 0 for row in before), default=0)
    if segment.kind == "duplicate_ack":
        yield from duplicate(case, before)
    elif before and segment.ack > highest:
        covered = case.trace.theirs(
            'frame < $frame AND payload > 0 AND "end" > $low AND "end" <= $high',
            low=highest,
            high=segment.ack,
        )
        what = (
            f", sent in {case.listed(covered)}" if covered else ", which the capture never showed"
        )
        yield f"It acknowledges {segment.ack - highest:,} new bytes{what}."
    elif before and segment.ack == highest and segment.payload == 0:
        if before[-1].window_raw != segment.window_raw:
            yield (
                f"The number is that of {case.frame(before[-1])}, but the window is another: an"
                " update of the window, no duplicate acknowledgement (RFC 5681 section 2)."
            )
        else:
            yield "Nothing was outstanding: no duplicate acknowledgement (RFC 5681 section 2)."
    if segment.spurious_bytes:
        how = (
            "its first SACK block reports bytes received twice (RFC 2883)"
            if segment.rule == "dsack"
            else "it echoes a timestamp from before the retransmission (RFC 3522)"
        )
        many = f"{segment.spurious_bytes:,} bytes"
        yield f"It proves {many} to have been sent again for nothing: {how}."


def duplicate(case: Argument, before: list[Segment]) -> Iterator[str]:
    """The five conditions of RFC 5681."""
    first = next((row for row in before if row.ack == case.segment.ack), None)
    where = 'frame < $frame AND payload > 0 AND "end" > $ack'
    outstanding = case.trace.theirs(where, ack=case.segment.ack)
    if first and outstanding:
        yield (
            f"It repeats the number that {case.frame(first)} gave first, without data, with the"
            f" same window, while {case.frame(outstanding[-1])} and others were outstanding: the"
            " five conditions of RFC 5681 section 2."
        )
    if case.segment.sack:
        blocks = " and ".join(span(left, right - 1) for left, right in case.segment.blocks)
        yield f"SACK reports {blocks} as received."


def later(case: Argument) -> Iterator[str]:
    """Acknowledgement, proof of a needless retransmission, further copies."""
    segment = case.segment
    if segment.payload <= 0 or segment.kind == "duplicate_frame":
        return
    covering = case.trace.theirs("frame > $frame AND acked >= $end")
    again = case.trace.mine('frame > $frame AND payload > 0 AND "start" < $end AND "end" > $start')
    if again:
        yield f"Its bytes were sent again in {case.listed(again)} ({again[0].kind})."
    if covering:
        first = covering[0]
        ago = as_duration(first.ts_ns - segment.ts_ns)
        yield f"{case.frame(first)} acknowledges it, {ago} later."
    else:
        yield "The capture shows no acknowledgement of it."
    if "retransmission" in segment.kind and segment.kind != "spurious_retransmission":
        yield from proven(case, covering)


def proven(case: Argument, covering: list[Segment]) -> Iterator[str]:
    """Whether the retransmission turned out to be needless."""
    proofs = case.trace.theirs("frame > $frame AND spurious_bytes > 0")
    for row in proofs:
        block = next(iter(row.blocks), (0, 0))
        hit = block[0] < case.segment.end and block[1] > case.segment.start
        if row.rule == "dsack" and hit:
            yield (
                f"{case.frame(row)} reports {span(block[0], block[1] - 1)} as received twice"
                " (DSACK): it was spurious, and its bytes count as such."
            )
            return
        if row.rule == "eifel" and covering and row.frame == covering[0].frame:
            yield (
                f"{case.frame(row)} echoes the timestamp {row.tsecr}, from before its own,"
                f" {case.segment.tsval}: an earlier copy had arrived, and this one was spurious."
            )
            return
    yield "Nothing reports its bytes as received twice: the first copy was lost."
