"""What speaks against a verdict, or weakens what it rests on."""

from collections.abc import Iterator, Sequence

from tcpwhy.explain.facts import Beside, Half
from tcpwhy.explain.numbers import size
from tcpwhy.explain.timeline import Run, time_by_cause
from tcpwhy.explain.words import SHARES, limit, listed, own_shares, sentence, share_columns
from tcpwhy.units import as_bytes, as_duration, as_rate, as_share

NOTABLE = 0.1
"""Share of the time from which what else held the sender is worth a word."""

SEVERAL_MODES = ("pprate_data_modes", "pprate_acks_modes")
"""Methods of the capacity that chose one mode of several."""

FEW_PACKETS = 130
"""Data packets of a short transfer, which slow start dominates (IM 2021)."""

FEW_SAMPLES = 10
"""Round-trip samples below which their least and mean say little."""

WIDE = 2.0
"""Ratio of the bounds of a capacity from which it is not known well."""


def doubts(half: Half, found: Sequence[Run], beside: Beside | None = None) -> list[str]:
    """Give the sentences, the weightiest first; none for a half without a verdict."""
    if half.limitation is None:
        return []
    first = [*_beside(half, beside), *_model(half), *_time(half, found), *_pace(half)]
    return [*first, *_capture(half), *_window(half), *_capacity(half), *_size(half)]


def _beside(half: Half, beside: Beside | None) -> Iterator[str]:
    """Who is on the same path, where the link is called the connection's own."""
    if half.limitation != "unshared_bottleneck" or beside is None:
        return
    if beside.share(half) >= NOTABLE:
        yield (
            f"Others between the same hosts moved {beside.about(half)} of the bytes meanwhile:"
            " they pass the same link, unless hosts or routers send them another way."
        )


def _model(half: Half) -> Iterator[str]:
    """What weighed most against the limitation, and which one is the next likely."""
    if half.speaks_against:
        yield sentence(f"Weighed most against it, in log-odds: {half.speaks_against}")
    chance = half.alternative_probability
    if half.alternative and chance is not None and chance >= NOTABLE:
        yield f"The likeliest other answer is {limit(half.alternative, None)}: {as_share(chance)}."


def _time(half: Half, found: Sequence[Run]) -> Iterator[str]:
    """What else held the sender, by the shares and by the timeline."""
    own = own_shares(half.limitation)
    if own:
        others = {
            name: share
            for name, share in share_columns(half).items()
            if name not in own and share >= NOTABLE
        }
        if others:
            parts = [
                f"{SHARES[n]} for {as_share(share)} of the time" for n, share in others.items()
            ]
            yield sentence(listed(parts))
    times = time_by_cause(found)
    whole = sum(times.values())
    rest = {
        key: time
        for key, time in times.items()
        if key[0] is not None and key != (half.limitation, half.cause) and time >= NOTABLE * whole
    }
    if rest:
        parts = [f"{as_duration(time)} with {limit(*key)}" for key, time in rest.items()]
        yield f"Intervals with other causes: {listed(parts)}, of {as_duration(whole)} in all."


def _pace(half: Half) -> Iterator[str]:
    """What else may space packets where the sender is seen to leave room unused."""
    if half.cause == "application/paced" and half.confidence != "high":
        yield (
            "A shaper of the sending host (tbf, htb) would look the same: packets are captured"
            " behind it."
        )


def _capture(half: Half) -> Iterator[str]:
    """What the capture does not show."""
    if not half.handshake_seen:
        unknown = "what was negotiated there (window scale, MSS) and the delays to both ends"
        yield f"The whole handshake is not in the capture: {unknown} are inferred or unknown."
    if half.missed_bytes:
        share = as_share(half.missed_bytes / max(1, half.unique_bytes + half.missed_bytes))
        yield (
            f"The capture has gaps: it lacks {as_bytes(half.missed_bytes)} ({share}) that were"
            " acknowledged."
        )
    if half.position is None:
        yield (
            "Where the capture was made is unknown, so that flight and window may be off by part"
            " of a round trip."
        )
    if half.offload_seen:
        yield "Offload hides how the packets were spaced and in which order they left."
    if half.conn_state == "S1":
        yield "The capture does not show the end of the connection."


def _window(half: Half) -> Iterator[str]:
    if half.window_scale_source == "inferred":
        yield (
            f"The window scale, {half.window_scale}, is inferred from how much was in flight: the"
            " window may be another."
        )
    elif half.rwnd_max is None and half.handshake_seen:
        yield "The receiver's window is unknown."
    flight, window = half.flight_size_max, half.rwnd_max
    if flight and window and flight > WIDE * window:
        yield (
            f"{size(flight)} in flight are far more than the window of {size(window)} allows:"
            " the capture lacks acknowledgements, or the sender does not keep to the window."
        )
    again, needless = half.retransmitted_bytes, half.spurious_bytes
    if again and needless >= NOTABLE * again:
        share = as_share(needless / again)
        yield (
            f"{share} of the retransmitted bytes had not been lost: the path reorders or delays,"
            " or it loses acknowledgements."
        )


def _capacity(half: Half) -> Iterator[str]:
    """How well the capacity is known, where the verdict or the predicted gain rests on it."""
    is_full = half.limitation in ("unshared_bottleneck", "shared_bottleneck")
    if half.capacity_bps is None:
        if is_full:
            yield "Without a capacity nothing proves that the link was full."
            yield from _faster(half)
        return
    if not is_full and half.next_limitation != "unshared_bottleneck":
        return
    rests = "" if is_full else ", and the predicted gain rests on it"
    low, high = half.capacity_lower_bps, half.capacity_upper_bps
    if half.exceeds_capacity:
        yield (
            f"{as_rate(half.goodput_bps)} went through an estimated capacity of"
            f" {as_rate(half.capacity_bps)}: the estimate is too low."
        )
    elif low and high and not low <= half.capacity_bps <= high:
        yield f"The estimates of the capacity contradict each other{rests}."
    elif low and high and high >= WIDE * low:
        yield f"The capacity lies anywhere from {as_rate(low)} to {as_rate(high)}{rests}."
    elif is_full and half.capacity_method in SEVERAL_MODES:
        yield "The packet gaps have several modes: the capacity is the likeliest of them."


def _faster(half: Half) -> Iterator[str]:
    low, now = half.capacity_lower_bps, half.goodput_bps
    if low and now and low >= WIDE * now:
        yield (
            f"Packets passed the observer at {as_rate(low)}: the full link lies elsewhere on the"
            " path, or is none."
        )


def _size(half: Half) -> Iterator[str]:
    """How little it rests on."""
    if half.data_packets < FEW_PACKETS:
        packets = f"{half.data_packets:,} data packet{'s' * (half.data_packets != 1)}"
        yield f"It rests on {packets} only."
    elif half.rtt_samples < FEW_SAMPLES:
        samples = f"{half.rtt_samples} round-trip sample{'s' * (half.rtt_samples != 1)}"
        yield f"It rests on {samples} only." if half.rtt_samples else "No round trip was measured."
