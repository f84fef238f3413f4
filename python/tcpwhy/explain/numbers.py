"""The numbers behind a verdict, item by item, in sentences."""

from tcpwhy import vocabulary
from tcpwhy.explain.facts import Beside, Half
from tcpwhy.explain.words import counted, listed, sentence
from tcpwhy.units import as_bytes, as_duration, as_rate, as_share

EXACT = 2**20
"""Bytes up to which a window is given to the byte, since people know such numbers."""


def numbers(half: Half, beside: Beside | None = None) -> dict[str, str]:
    """Give the facts of a half by what they are about; unknown ones say why."""
    told = {
        "RTT": _rtt(half),
        "Loss": " ".join(_loss(half)),
        "Window": " ".join(_window(half)),
        "Capacity": _capacity(half),
        "Observer": _observer(half),
    }
    return told if beside is None else told | {"Beside": _beside(half, beside)}


def size(octets: int) -> str:
    """Write a window or a flight."""
    return f"{octets:,} bytes" if octets < EXACT else as_bytes(octets)


def _rtt(half: Half) -> str:
    if not half.rtt_samples:
        if half.handshake_rtt_ns is None:
            return "Unknown: no acknowledgement could be timed."
        return (
            f"{as_duration(half.handshake_rtt_ns)} in the handshake; nothing else could be timed."
        )
    if half.rtt_samples == 1:
        rest = "" if half.handshake_rtt_ns is None else f", {as_duration(half.handshake_rtt_ns)}"
        handshake = f"{rest} in the handshake" if rest else ""
        return f"{as_duration(half.rtt_mean_ns)}, from a single sample{handshake}."
    least = "below a tick of the capture's clock"
    if half.rtt_min_ns is not None:
        least = as_duration(half.rtt_min_ns)
    of_data = half.handshake_rtt_ns is None or half.handshake_rtt_ns != half.rtt_min_ns
    parts = [
        f"minimum {least}{'' if of_data else ' (handshake)'}",
        f"mean {as_duration(half.rtt_mean_ns)}",
        f"maximum {as_duration(half.rtt_max_ns)}",
    ]
    text = f"{sentence(listed(parts)).rstrip('.')}, from {counted(half.rtt_samples, 'sample')}"
    if half.handshake_rtt_ns is not None and of_data:
        text += f"; {as_duration(half.handshake_rtt_ns)} in the handshake"
    return f"{text}.{' A standing queue is on the path.' if half.bufferbloat else ''}"


def _loss(half: Half) -> list[str]:
    """Keep the ledger: what was sent again, of which kind, what of it was needed."""
    told = []
    if half.retransmitted_bytes:
        share = as_share(half.retransmitted_bytes / max(1, half.payload_bytes))
        kinds = {
            "fast retransmission": half.fast_retransmissions,
            "timeout": half.rto_events,
            "tail loss probe": half.tlp_events,
        }
        seen = [counted(number, noun) for noun, number in kinds.items() if number]
        others = seen and sum(kinds.values()) < half.loss_events
        unknown = "; the others are of unknown kind" if others else ""
        kind = f": {listed(seen)}{unknown}" if seen else ""
        episodes = counted(half.loss_events, "loss episode")
        again = as_bytes(half.retransmitted_bytes)
        told.append(f"{again} sent again, {share} of the payload, in {episodes}{kind}.")
        needless = half.spurious_bytes
        told.append(
            f"{as_bytes(needless)} of it proved spurious."
            if needless
            else "None of it proved spurious."
        )
    else:
        told.append("Nothing was sent again.")
    if half.reordered_packets:
        told.append(f"{counted(half.reordered_packets, 'packet')} came late, sent only once.")
    if half.duplicate_acks:
        told.append(f"The sender got {counted(half.duplicate_acks, 'duplicate ACK')}.")
    if half.duplicate_frames:
        copies = counted(half.duplicate_frames, "frame")
        told.append(f"{copies} more are copies that the capture made, and do not count.")
    return told


def _window(half: Half) -> list[str]:
    """Say what the receiver allowed, and what was in flight."""
    told = []
    if half.rwnd_max is None:
        why = "its scale was in the handshake, which was not seen"
        told.append(f"Unknown{'' if half.handshake_seen else f': {why}'}.")
    else:
        scale = "" if half.window_scale is None else f", scale {half.window_scale}"
        source = {"inferred": " (inferred)"}.get(half.window_scale_source or "", "")
        told.append(f"At most {size(half.rwnd_max)} advertised{scale}{source}.")
        if half.rtt_min_ns:
            rate = as_rate(half.rwnd_max * 8e9 / half.rtt_min_ns)
            told.append(f"One full window per minimum RTT allows {rate}.")
    if half.zero_window_events:
        probes = half.zero_window_probes
        probed = f", and was probed {_times(probes)}" if probes else ""
        told.append(f"It closed {_times(half.zero_window_events)}{probed}.")
    if half.flight_size_max is not None:
        segments = ""
        if half.effective_mss and half.flight_size_max >= 2 * half.effective_mss:
            many = counted(round(half.flight_size_max / half.effective_mss), "segment")
            segments = f", {many} of {half.effective_mss:,} bytes"
        told.append(f"At most {size(half.flight_size_max)} in flight{segments}.")
    return told


def _capacity(half: Half) -> str:
    low, high = half.capacity_lower_bps, half.capacity_upper_bps
    if half.capacity_bps is None:
        bound = f"; at least {as_rate(low)}" if low is not None else ""
        reason = vocabulary.meaning("capacity_unknown", half.capacity_unknown) or "not estimated"
        return f"Unknown: {reason}{bound}."
    method = vocabulary.meaning("capacity_method", half.capacity_method) or "not said how"
    bounds = ""
    if low is not None and high is not None and low <= high:
        bounds = f"; between {as_rate(low)} and {as_rate(high)}"
    elif low is not None:
        bounds = f"; at least {as_rate(low)}"
    return f"{as_rate(half.capacity_bps)} of IP packets ({method}){bounds}."


def _observer(half: Half) -> str:
    offload = " It saw super-packets of segmentation offload." if half.offload_seen else ""
    if half.position is None:
        return f"Where the capture was made is unknown.{offload}"
    if half.position < BESIDE:
        return f"The capture was made at the sender, {half.src}.{offload}"
    if half.position > 1 - BESIDE:
        return f"The capture was made at the receiver, {half.dst}.{offload}"
    share = as_share(half.position)
    return sentence(f"the capture was made {share} of the way from sender to receiver") + offload


def _beside(half: Half, beside: Beside) -> str:
    hosts = f"from {half.src} to {half.dst}"
    moved = f"moved {beside.about(half)} of what went {hosts} meanwhile"
    if beside.connections == 1:
        return f"Another connection {moved}: {beside.biggest.line}."
    others = counted(beside.connections, "other connection")
    return f"{others} {moved}. The biggest was {beside.biggest.line}."


def _times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number:,} times")


BESIDE = 0.02
"""Position below which nothing lies between a host and the observer, as the core has it."""
