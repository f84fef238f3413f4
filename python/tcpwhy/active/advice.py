"""What to change, on which host, to what value, and what that would gain.

The gain is the next lowest bound that is known: a window over the round-trip time, the send buffer
over it, the rate asked for, the loss model, the rate at which the path handed on the first bursts.
Where nothing else is known, no number is made up.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import sqrt
from pathlib import Path
from statistics import median
from typing import Any

from tcpwhy.active.limit import NO_RATE, Limit, Sample, overall
from tcpwhy.units import as_bytes, as_duration, as_rate

MATHIS_C = sqrt(3 / 2)
"""Periodic loss, an ACK for every segment (Mathis et al. 1997, section 3)."""
MARGIN = 2
"""A buffer of twice the bandwidth-delay product: the kernel's own bookkeeping counts in it
(`tcp_adv_win_scale`, socket(7)), and autotuning aims at twice what one round trip needs."""
SHORT_TRIP_S = 1e-3
"""In a shorter round trip a window is no bound: copying and scheduling take as long."""
WINDOWS = ("receiver_window", "sender_window/send_buffer")
FILLED = 3 / 4
"""Linux wakes a writer that waits for the send buffer when a third of it is free
(`sk_stream_min_wspace`, half of what is queued): it is filled between two thirds, when the writer
is late, and five sixths, the middle of a saw tooth. Measured over 100 ms: 0.70 to 0.81."""


@dataclass(frozen=True)
class Advice:
    """The answer to a test."""

    word: str
    limitation: str | None
    cause: str | None
    confidence: float
    evidence: str
    shares: dict[str, float] = field(default_factory=dict)
    remedy: str = ""
    headroom_bps: float | None = None
    next_limitation: str | None = None
    gain_unknown: str = ""

    def to_json(self) -> dict[str, Any]:
        """Give it as JSON has it."""
        return dict(vars(self))


def advise(
    limits: Sequence[Limit],
    samples: Sequence[Sample],
    *,
    bitrate_bps: float | None = None,
    window_max_bytes: int | None = None,
) -> Advice:
    """Put the limits of all intervals together, and say what to do.

    `samples` are those of the sender from the begin of the first interval to the end;
    `window_max_bytes` is what the receiver's window may grow to, when it told that.
    """
    best, shares = overall(limits)
    if best is None or len(samples) < 2:
        return Advice("-", None, None, 0.0, "nothing was measured")
    facts = _Facts(samples, bitrate_bps)
    window_bytes = max(facts.rwnd_bytes, window_max_bytes or 0)
    remedy = _REMEDIES.get(best.word) or _REMEDIES.get(best.limitation or "")
    bounds = sorted(_bounds(facts, window_bytes, best.word))
    known = [bound for bound in bounds if bound[0] > facts.rate_bps * 1.02]
    unknown = "" if known else "no other bound is known, the path was never filled"
    if known and facts.rtt_s < SHORT_TRIP_S and known[0][1] in WINDOWS:
        trip = as_duration(facts.rtt_s * 1e9)
        known, unknown = [], f"round trips take {trip}: the hosts stop it before any window does"
    if best.word == "application":
        known, unknown = [], "the host is at its own limit, the path is not"
    if best.limitation in ("unshared_bottleneck", "shared_bottleneck", "policer"):
        known, unknown = [], "only another path or link can carry more"
    return Advice(
        word=best.word,
        limitation=best.limitation,
        cause=best.cause,
        confidence=best.confidence,
        evidence=best.evidence,
        shares=shares,
        remedy=remedy(facts) if remedy else "",
        headroom_bps=known[0][0] if known else None,
        next_limitation=known[0][1] if known else None,
        gain_unknown=unknown,
    )


class _Facts:
    """What the samples of a sender say about its bounds."""

    def __init__(self, samples: Sequence[Sample], bitrate_bps: float | None) -> None:
        first, last = samples[0], samples[-1]
        late = samples[len(samples) // 2 :]
        seconds = max(last["at_s"] - first["at_s"], 1e-9)
        self.last = last
        self.rate_bps = (last["bytes_acked"] - first["bytes_acked"]) * 8 / seconds
        # Not the middle one: what queue the bursts of this test make, goes with its limit.
        self.rtt_s = max(sorted(s["rtt"] for s in late)[len(late) // 10], 1) / 1e6
        self.min_rtt_s = max(last["min_rtt"] or 1, 1) / 1e6
        self.rwnd_bytes = max(s["snd_wnd"] or 0 for s in late)
        self.rwnd_median_bytes = median(s["snd_wnd"] or 0 for s in late)
        self.cwnd_bytes = max(s["snd_cwnd"] * s["snd_mss"] for s in late)
        self.mss = last["snd_mss"]
        segments = max((last["data_segs_out"] or 0) - (first["data_segs_out"] or 0), 1)
        self.loss = (last["total_retrans"] - first["total_retrans"]) / segments
        self.bitrate_bps = bitrate_bps
        self.path_bps = last.get("path_bps")
        self.sndbuf_bytes = last.get("sndbuf_bytes") or 0
        self.payload_share = _payload_share(late)

    def over_trip(self, size: float) -> float:
        """Bits per second of so many bytes in a round trip."""
        return float(size * 8 / self.rtt_s)


def _payload_share(samples: Sequence[Sample]) -> float:
    """How much of the send buffer is payload; the rest is the kernel's bookkeeping."""
    shares = [
        (s["unacked"] * s["snd_mss"] + (s["notsent_bytes"] or 0)) / s["queued_bytes"]
        for s in samples
        if s.get("queued_bytes")
    ]
    return min(1.0, median(shares)) if shares else 0.5


def _sndbuf_max(facts: _Facts) -> int:
    """The size to which the send buffer may grow: fixed ones do not (socket(7))."""
    try:
        limits = Path("/proc/sys/net/ipv4/tcp_wmem").read_text(encoding="ascii").split()
    except OSError:
        return facts.sndbuf_bytes
    return facts.sndbuf_bytes if facts.last.get("sndbuf_is_fixed") else int(limits[2])


def _bounds(facts: _Facts, window_bytes: int, word: str) -> Iterator[tuple[float, str]]:
    """Give every bound that is known, less the one that is removed."""
    if not word.startswith("receiver_window"):
        yield facts.over_trip(window_bytes), "receiver_window"
    if word != "sender_window/send_buffer":
        size = _sndbuf_max(facts) * facts.payload_share
        if facts.last.get("sndbuf_is_fixed"):
            size *= FILLED
        yield facts.over_trip(size), "sender_window/send_buffer"
    if facts.path_bps:
        yield facts.path_bps, "unshared_bottleneck"
    if facts.bitrate_bps and not word.startswith("application"):
        yield facts.bitrate_bps, "application/paced"
    pacing = facts.last["max_pacing_rate"]
    if pacing and pacing < NO_RATE and not word.startswith("application"):
        yield pacing * 8.0, "application/paced"
    if facts.loss > 0 and word != "random_loss":
        yield MATHIS_C * facts.mss * 8 / (facts.min_rtt_s * sqrt(facts.loss)), "random_loss"


def _more_window(facts: _Facts) -> str:
    now = as_bytes(facts.rwnd_bytes)
    return (
        f"on the receiver, a larger window than {now}: net.ipv4.tcp_rmem[2] of "
        f"{as_bytes(MARGIN * 2 * facts.rwnd_bytes)} or more allows twice the rate; a program that "
        "sets SO_RCVBUF must not"
    )


def _read_faster(facts: _Facts) -> str:
    return f"on the receiver, a program that reads faster than {as_rate(facts.rate_bps)}"


def _scale_window(facts: _Facts) -> str:
    del facts
    return "on both hosts net.ipv4.tcp_window_scaling=1, and no middlebox that takes the option out"


def _more_buffer(facts: _Facts) -> str:
    size = as_bytes(facts.sndbuf_bytes)
    twice = as_bytes(MARGIN * facts.sndbuf_bytes)
    return (
        f"on the sender, a larger send buffer than {size}: net.ipv4.tcp_wmem[2] of {twice} or more "
        "allows twice the rate; a program that sets SO_SNDBUF must not"
    )


def _unclamp(facts: _Facts) -> str:
    return (
        f"on the sender, take away what holds cwnd at {as_bytes(facts.cwnd_bytes)}: `ip route show`"
        " tells of `cwnd lock`"
    )


def _unpace(facts: _Facts) -> str:
    pacing = facts.last["max_pacing_rate"]
    if pacing and pacing < NO_RATE:
        return f"on the sender, a higher SO_MAX_PACING_RATE than {as_rate(pacing * 8)}"
    return "on the sender, a program that writes more"


def _write_more(facts: _Facts) -> str:
    del facts
    return "on the sender, a program that always has something to send"


def _spread(facts: _Facts) -> str:
    del facts
    return "on the sender, more streams (--parallel) or a faster processor"


def _mend(facts: _Facts) -> str:
    return (
        f"find what loses {facts.loss * 100:.2g} % of the packets without a queue (radio, cable, "
        "duplex, a short buffer); BBR is less sensitive to it"
    )


def _less_queue(facts: _Facts) -> str:
    queue_s = max(0.0, facts.rtt_s - facts.min_rtt_s)
    if queue_s < 5e-3:
        return "the path is full: nothing on the hosts helps"
    delay = as_duration(queue_s * 1e9)
    return (
        f"the path is full; an AQM at the bottleneck (fq_codel, CAKE) takes {delay} of queue away"
    )


def _wait(facts: _Facts) -> str:
    del facts
    return "a longer transfer, or a connection that is used again"


_REMEDIES = {
    "receiver_window/buffer": _more_window,
    "receiver_window/slow_reader": _read_faster,
    "receiver_window/no_window_scaling": _scale_window,
    "sender_window/send_buffer": _more_buffer,
    "sender_window/cwnd_clamp": _unclamp,
    "application/paced": _unpace,
    "application/idle": _write_more,
    "application": _spread,
    "random_loss": _mend,
    "unshared_bottleneck": _less_queue,
    "transport/slow_start": _wait,
}
