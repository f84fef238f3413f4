"""Why a segment with data was counted as what it was."""

from collections.abc import Callable, Iterator

from tcpwhy.explain.argument import Argument, span


def new(case: Argument) -> Iterator[str]:
    """Bytes above all others."""
    segment = case.segment
    last = 'SELECT max("end") FROM numbered WHERE frame < $frame AND direction = $direction'
    rows = case.trace.mine(f'frame < $frame AND "end" = ({last})')
    if not rows:
        yield "It is the first segment of its direction."
        return
    highest = rows[0]
    if segment.start <= highest.end:
        yield f"It begins where the highest byte before it ended, in {case.frame(highest)}."
        return
    gap = segment.start - highest.end
    missing = span(highest.end, segment.start - 1)
    yield (
        f"It lies above the highest byte before it (of {case.frame(highest)}), and leaves out"
        f" {gap:,} bytes, {missing}: lost before the place of capture, under way on another"
        " path, or not captured."
    )
    fills = case.trace.mine(
        'frame > $frame AND payload > 0 AND "start" < $end AND "end" > $start',
        start=highest.end,
        end=segment.start,
    )
    if fills:
        yield f"These bytes came later, in {case.listed(fills)}: {fills[0].kind}."
    else:
        yield "The capture never shows them."


def again(case: Argument) -> Iterator[str]:
    """Bytes that were sent before."""
    segment, earlier = case.segment, case.earlier()
    if earlier:
        last = earlier[-1]
        before = f"{case.since(last)} ago"
        yield f"{case.listed(earlier)} carried these bytes before, {before}."
    else:
        yield from case.overtaken()
        yield (
            "The capture shows no earlier copy: the first one was lost before the place of"
            " capture, which sees the second one fill the gap."
        )
    yield from RULES.get(segment.rule or "", unexplained)(case)


def by_acknowledgements(case: Argument) -> Iterator[str]:
    """Fast retransmission."""
    yield from case.asked_for()
    yield "So the acknowledgements asked for it: fast retransmission (RFC 5681, 6675, 8985)."


def by_timer(case: Argument) -> Iterator[str]:
    """Retransmission timeout."""
    yield from case.timer()
    yield "So a retransmission timer expired (RFC 6298), not acknowledgements that asked for it."


def by_lost_again(case: Argument) -> Iterator[str]:
    """Retransmission timeout while other segments were sent and acknowledged."""
    yield from case.deadline()
    yield (
        "What came since then were duplicate acknowledgements, which do not restart the timer"
        " (RFC 6298): it expired, since what was sent again had been lost too."
    )


def by_timeout_recovery(case: Argument) -> Iterator[str]:
    """After the first of a timeout."""
    where = "frame < $frame AND kind = 'rto_retransmission' AND rule IN ('timer', 'lost_again')"
    rows = case.trace.mine(where)
    if rows:
        yield f"The timer had expired before {case.frame(rows[-1])}, {case.since(rows[-1])} ago."
    yield (
        "Until everything that was in flight then is acknowledged, what is sent again belongs to"
        " this timeout: the sender goes back to the first byte not acknowledged (RFC 5681)."
    )


def by_recovery(case: Argument) -> Iterator[str]:
    """Further losses of the same recovery."""
    where = "frame < $frame AND kind = $kind AND rule <> 'recovery'"
    rows = case.trace.mine(where, kind=case.segment.kind)
    if rows:
        last = rows[-1]
        yield f"A recovery was under way: {case.frame(last)}, {case.since(last)} ago, is of it too."
    yield from case.asked_for()
    yield "It lies below what was in flight then, so it belongs to the same recovery."


def by_tail(case: Argument) -> Iterator[str]:
    """Tail loss probe."""
    yield from case.timer()
    yield (
        "It is the highest segment sent, again before the timer could expire and without an"
        " acknowledgement that asked for it: a probe that is to provoke one (RFC 8985)."
    )


def by_acknowledged(case: Argument) -> Iterator[str]:
    """Spurious already when it came."""
    progress = case.progress()
    if progress:
        yield (
            f"{case.frame(progress)} had acknowledged everything below {progress.ack:,},"
            f" {case.since(progress)} before it: whatever made the sender send it again, it"
            " was not needed."
        )


def by_unheard(case: Argument) -> Iterator[str]:
    """Spurious, and yet the timer ran out."""
    yield from by_acknowledged(case)
    yield from case.timer()
    yield "Most likely that acknowledgement was lost after it had passed here."


def unexplained(case: Argument) -> Iterator[str]:
    """No rule applies."""
    yield from case.asked_for()
    yield from case.timer()
    yield (
        "No acknowledgement asked for it, the timer cannot have expired, and it is not the"
        " highest segment: nothing tells why it was sent again."
    )


def reordered(case: Argument) -> Iterator[str]:
    """Late, but sent once."""
    segment = case.segment
    if segment.rule == "acknowledged_unseen":
        progress = case.progress()
        if progress:
            yield (
                f"{case.frame(progress)} acknowledged it {case.since(progress)} before the"
                " capture shows it for the first time: the capture has frames in another order"
                " than the wire."
            )
        return
    yield from case.overtaken()
    yield "No copy of these bytes came before."
    opener = next(iter(case.trace.frames([segment.proof_frame or 0])), None)
    if opener is None:
        return
    other = case.frame(opener)
    if segment.rule == "identification":
        yield (
            f"Its IPv4 identification, {segment.ip_id}, is before that of {other},"
            f" {opener.ip_id}: the sender sent it first. What is sent again has a later one."
        )
    elif segment.rule == "timestamps":
        yield (
            f"Its timestamp, {segment.tsval}, is before that of {other}, {opener.tsval}: the"
            " sender sent it first. What is sent again has a later one."
        )
    else:
        yield (
            f"It came {case.since(opener)} after {other}, sooner than a sender could know that"
            " it was missing: a path that changes the order, not a loss."
        )


def probe(case: Argument) -> Iterator[str]:
    """A byte into a closed window."""
    closed = case.trace.theirs("frame < $frame AND window_raw = 0")
    if closed:
        last = closed[-1]
        yield f"{case.frame(last)} had closed the window, {case.since(last)} before."
    yield (
        "A byte sent all the same asks whether it is open again (RFC 9293 section 3.8.6.1); it"
        " counts neither as new data nor as a retransmission."
    )


def keep_alive(case: Argument) -> Iterator[str]:
    """An old byte to see whether the peer lives."""
    silence = case.silence()
    if silence:
        yield (
            f"The direction had been silent for {case.since(silence)}, since {case.frame(silence)}."
        )
    yield (
        "It has no more than one byte, and that lies just below the next one to send: it asks"
        " whether the other side is alive (RFC 9293 section 3.8.4) and counts as no data."
    )


def copy(case: Argument) -> Iterator[str]:
    """A mirror port's second copy."""
    numbers = '"start" = $start AND "end" = $end AND acked IS NOT DISTINCT FROM $ack'
    first = case.trace.copies_too(
        f"frame < $frame AND direction = $direction AND {numbers} AND ip_id = $ip_id",
        ip_id=case.segment.ip_id,
        ack=case.segment.ack,
    )
    if first:
        yield (
            f"{case.frame(first[-1])}, {case.since(first[-1])} before, is the same packet: the"
            " same numbers, flags and timestamps, and the same IPv4 identification"
            f" ({case.segment.ip_id})."
        )
    yield (
        "A host gives what it sends again another identification; this is one packet that the"
        " capture has twice, from both sides of a switch or router, or from several interfaces."
        " It counts for nothing else."
    )


Teller = Callable[[Argument], Iterator[str]]

TELLERS: dict[str, Teller] = {
    "new": new,
    "fast_retransmission": again,
    "rto_retransmission": again,
    "tlp_retransmission": again,
    "retransmission": again,
    "spurious_retransmission": again,
    "reordered": reordered,
    "zero_window_probe": probe,
    "keep_alive": keep_alive,
    "duplicate_frame": copy,
}
"""Who tells why, by kind; the rest are acknowledgements."""

RULES: dict[str, Teller] = {
    "duplicate_acks": by_acknowledgements,
    "sack_above": by_acknowledgements,
    "few_duplicate_acks": by_acknowledgements,
    "timer": by_timer,
    "lost_again": by_lost_again,
    "timeout_recovery": by_timeout_recovery,
    "recovery": by_recovery,
    "tail": by_tail,
    "acknowledged": by_acknowledged,
    "unheard": by_unheard,
}
"""Who tells why bytes were sent again, by the rule that decided."""
