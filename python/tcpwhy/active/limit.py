"""What limits a connection, as its own kernel knows it: from samples of TCP_INFO to a verdict.

The kernel's clocks say when a sender waited for the receiver's window and for its own send buffer
(tcp_chrono_*; `busy_time` only means that something was in flight, so that it proves nothing about
the network). What they are blind to, windows, loss and round trips tell: a window that is full and
does not grow, retransmissions, a queue. The words are those of the passive verdict.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from tcpwhy.host import tcpinfo
from tcpwhy.model import predict
from tcpwhy.units import as_bytes, as_duration, as_rate, as_share

Sample = dict[str, Any]
"""TCP_INFO decoded, with `at_s`, `controller` and what the socket says of its buffers.

What looks on its own program adds `program`: `eager` when it waits to write more, `done` when it
has written all; and `writer_cpu_s`, how long its writer ran. Of any other program it is not known.
`shares_path` says that other connections of the same program go the same way.
"""

HALF = 0.5
"""What holds for more than half of the time is what limits."""
FULL = 0.9
"""A window counts as full from here: a sample falls between an ACK and the segments it frees."""
QUEUE_RATIO = 1.25
"""A round trip so much longer than the smallest one means a queue, and 2 ms at least: what is
less, delayed acknowledgements and scheduling make too."""
QUEUE_MIN_US = 2_000
IDLE_SHARE = 0.25
"""Nothing in flight for so much of the time: the program had nothing to send."""
BUFFERED = 0.6
"""A writer is woken when a third of the send buffer is free (`sk_stream_min_wspace`): the rest,
less a segment or two that went since. A buffer that grows by itself is kept at twice cwnd, and half
empty then."""
HOLLOW = 0.1
"""In flight with nothing behind it, so little of the send buffer is not what fills it: a writer is
woken when a third is free."""
PACED_RATIO = 0.85
LOSS_BINDS = 0.25
"""Loss limits when the sender gets near to what it allows: delayed acknowledgements and timeouts
take up to three quarters of it, CUBIC and BBR exceed it."""
NO_RATE = 1 << 40
"""Bytes per second that no one sets: the kernel gives all ones without a pacing rate."""


SURE = (None, "low", "medium", "high")
"""Values of `confidence`, as in the tables of a capture; the surest last."""
_, LOW, MEDIUM, HIGH = SURE


@dataclass(frozen=True)
class Limit:
    """What limited a connection in a span of time."""

    limitation: str | None
    cause: str | None
    confidence: str | None
    """high where the kernel's own clocks or states show it, medium where several numbers agree, low
    where it is what remains."""
    evidence: str
    rwnd_share: float
    sndbuf_share: float
    app_share: float
    seconds: float

    @property
    def word(self) -> str:
        """The cause, the limitation where there is none, or a dash."""
        return self.cause or self.limitation or "-"


def limit_of(samples: Sequence[Sample]) -> Limit:
    """Say what limited the sender between the first and the last sample, two at least."""
    span = Span(samples)
    for rule in _RULES:
        if (found := rule(span)) is not None:
            word, confidence, evidence = found
            limitation = word.split("/")[0]
            cause = word if "/" in word or word in ("policer", "random_loss") else None
            return span.limit(limitation, cause, confidence, evidence)
    return span.limit(None, None, None, "nothing was sent")


class Span:
    """Facts between the first and the last of some samples."""

    def __init__(self, samples: Sequence[Sample]) -> None:
        self.samples = samples
        self.first, self.last = samples[0], samples[-1]
        self.seconds = max(self.last["at_s"] - self.first["at_s"], 1e-9)
        self.inner = samples[1:]
        self.busy = self._clock("busy_time")
        self.rwnd = self._clock("rwnd_limited")
        self.sndbuf = self._clock("sndbuf_limited")
        self.eager = self._share(lambda s: s.get("program") == "eager") > HALF
        self.writing = self._writing()
        self.done = self.last.get("program") == "done"
        self.bottleneck = f"{'' if self.last.get('shares_path') else 'un'}shared_bottleneck"
        self.sent = self.delta("bytes_sent")
        self.acked = self.delta("bytes_acked")
        self.retrans = self.delta("total_retrans")
        # Less than a segment may wait for its time (RFC 896): that is nothing to send.
        self.starved = self._share(lambda s: (s["notsent_bytes"] or 0) < s["snd_mss"])
        self.buffered = self._share(
            lambda s: (s.get("queued_bytes") or 0) >= BUFFERED * (s.get("sndbuf_bytes") or NO_RATE)
        )
        self.app = self._share(
            lambda s: s["delivery_rate_app_limited"] and (s["notsent_bytes"] or 0) < s["snd_mss"]
        )
        self.cwnd_full = self._share(lambda s: s["unacked"] >= FULL * s["snd_cwnd"] - 1)
        self.recovering = self._share(lambda s: s["ca_state"] >= 3)
        self.rtt_us = median(s["rtt"] for s in self.inner)
        self.min_rtt_us = self.last["min_rtt"] or self.rtt_us
        self.flight_bytes = median(s["unacked"] * s["snd_mss"] for s in self.inner)
        self.rwnd_bytes = median(s["snd_wnd"] or 0 for s in self.inner)
        self.cwnd_bytes = median(s["snd_cwnd"] * s["snd_mss"] for s in self.inner)

    def delta(self, name: str) -> int:
        """How much a counter grew; 0 when the kernel does not have it."""
        return int((self.last[name] or 0) - (self.first[name] or 0))

    @property
    def rate_bps(self) -> float:
        """Acknowledged bits per second."""
        return float(self.acked * 8 / self.seconds)

    @property
    def is_hollow(self) -> bool:
        """Say whether the send buffer is all but empty: a writer that waits waits for no room."""
        return bool(self.flight_bytes < HOLLOW * (self.last.get("sndbuf_bytes") or 0))

    @property
    def has_queue(self) -> bool:
        """Say whether round trips show a queue."""
        least = max(QUEUE_RATIO * self.min_rtt_us, self.min_rtt_us + QUEUE_MIN_US)
        return bool(self.rtt_us >= least)

    def loss_bound_bps(self, loss: float) -> float:
        """Give what a sender reaches with this loss, by the model `mathis`; 0 where all is lost."""
        mss, rtt_ns = self.last["snd_mss"], max(self.rtt_us, 1) * 1e3
        return float(predict("mathis", mss_bytes=mss, rtt_ns=rtt_ns, loss=loss) or 0.0)

    def limit(
        self, limitation: str | None, cause: str | None, confidence: str | None, evidence: str
    ) -> Limit:
        """Put a verdict together with the shares."""
        app = max(self.app, 1 - self.busy) if limitation == "application" else self.app
        return Limit(
            limitation, cause, confidence, evidence, self.rwnd, self.sndbuf, app, self.seconds
        )

    def _clock(self, name: str) -> float:
        return float(min(1.0, self.delta(name) / 1e6 / self.seconds))

    def _writing(self) -> float:
        """Give the share of the time in which the writer was on a processor; 0 if unknown."""
        begin, end = (sample.get("writer_cpu_s") for sample in (self.first, self.last))
        return 0.0 if begin is None or end is None else float((end - begin) / self.seconds)

    def _share(self, holds: Any) -> float:
        return sum(bool(holds(s)) for s in self.inner) / max(len(self.inner), 1)


Found = tuple[str, str, str] | None


def _silence(span: Span) -> Found:
    if span.sent > 0 or span.last["unacked"] > 0 or span.last["notsent_bytes"]:
        return None
    return "application/idle", HIGH, f"nothing sent in {as_duration(span.seconds * 1e9)}"


def _receiver_window(span: Span) -> Found:
    if span.rwnd < HALF:
        return None
    numbers = (
        f"the kernel waited for the receiver's window {as_share(span.rwnd)} of the time; "
        f"window {as_bytes(span.rwnd_bytes)}, {as_bytes(span.flight_bytes)} in flight, "
        f"RTT {as_duration(span.rtt_us * 1e3)}"
    )
    if not span.last["options"] & tcpinfo.OPTION_WSCALE and span.rwnd_bytes > 32767:
        return "receiver_window/no_window_scaling", HIGH, f"no window scaling: {numbers}"
    unread = [s["peer_unread_bytes"] for s in span.inner if s.get("peer_unread_bytes") is not None]
    if unread:
        share = median(unread) / max(median(unread) + span.rwnd_bytes, 1)
        if share >= 0.25:
            text = f"{as_bytes(median(unread))} wait unread at the receiver; {numbers}"
            return "receiver_window/slow_reader", HIGH, text
        return "receiver_window/buffer", HIGH, f"the receiver reads all at once; {numbers}"
    # A reader slower than the sender closes the window; a buffer that is too small keeps it.
    closed = sum((s["snd_wnd"] or 0) < 2 * s["snd_mss"] for s in span.inner) / len(span.inner)
    probing = any(s["probes"] for s in span.inner)
    if probing or closed >= 0.1:
        return "receiver_window/slow_reader", MEDIUM, f"the window closes; {numbers}"
    return "receiver_window/buffer", MEDIUM, numbers


def _send_buffer(span: Span) -> Found:
    size = span.last.get("sndbuf_bytes")
    numbers = (
        f"; buffer {as_bytes(size)}" if size else ""
    ) + f", {as_bytes(span.flight_bytes)} in flight, RTT {as_duration(span.rtt_us * 1e3)}"
    if span.sndbuf >= HALF:
        share = as_share(span.sndbuf)
        text = f"the kernel waited for room in the send buffer {share} of the time"
        return "sender_window/send_buffer", HIGH, text + numbers
    # A write larger than the buffer sleeps until two thirds are free: the kernel's clock, which
    # starts only when nothing is left unsent, misses that.
    if span.eager and span.starved > HALF and span.writing < HALF and not span.is_hollow:
        share = as_share(span.starved)
        text = f"the program waits to write, yet nothing is left to send in {share} of the samples"
        return "sender_window/send_buffer", MEDIUM, text + numbers
    # Of another program it is not known whether it waits; a buffer full of what is in flight,
    # with nothing behind it, lets it not write.
    if min(span.buffered, span.starved) > HALF:
        share = as_share(span.buffered)
        text = f"what is in flight fills the send buffer in {share} of the samples"
        return "sender_window/send_buffer", MEDIUM, text + numbers
    return None


def _paced(span: Span) -> Found:
    limit = span.last["max_pacing_rate"]
    if not limit or limit >= NO_RATE or span.starved > HALF:
        return None
    if span.rate_bps < PACED_RATIO * limit * 8:
        return None
    text = f"{as_rate(span.rate_bps)} of the {as_rate(limit * 8)} to which the socket is paced"
    return "application/paced", HIGH, text


def _host(span: Span) -> Found:
    if not span.eager or span.starved <= HALF:
        return None
    if span.writing < HALF and span.is_hollow:
        text = (
            f"the hosts cannot move more: the program waits to write, yet in "
            f"{as_share(span.starved)} of the samples nothing is left to send and next to nothing "
            f"in flight ({as_bytes(span.flight_bytes)} of a buffer of "
            f"{as_bytes(span.last['sndbuf_bytes'])})"
        )
        return "application", LOW, text
    if span.writing < HALF:
        return None
    text = (
        f"this host cannot write faster: its writer ran {as_share(span.writing)} of the time, yet "
        f"nothing is left to send in {as_share(span.starved)} of the samples"
    )
    return "application", MEDIUM, text


def _application(span: Span) -> Found:
    if span.eager or span.done:
        return None
    if span.busy < 1 - IDLE_SHARE:
        text = f"nothing in flight {as_share(1 - span.busy)} of the time"
        return "application/idle", HIGH, text
    if max(span.app, span.starved) > HALF:
        share = as_share(max(span.app, span.starved))
        text = f"nothing left to send in {share} of the samples, {as_rate(span.rate_bps)} written"
        return "application/paced", MEDIUM, text
    return None


def _recovery(span: Span) -> Found:
    timeouts = span.delta("total_rto")
    if span.recovering <= HALF and not (timeouts and span.acked * 4 < span.cwnd_bytes):
        return None
    # With loss all the time, repairing is the shape, not the reason.
    if span.retrans > 0 and span.acked > 0:
        return None
    text = f"repairing in {as_share(span.recovering)} of the samples, nothing new acknowledged"
    return "transport/recovery", MEDIUM, text


def _loss(span: Span) -> Found:
    if span.retrans <= 0:
        return None
    packets = max(span.delta("data_segs_out"), 1)
    trips = f"RTT {as_duration(span.rtt_us * 1e3)} over {as_duration(span.min_rtt_us * 1e3)}"
    share = as_share(span.retrans / packets)
    if span.delta("delivered_ce") > 0:
        return f"{span.bottleneck}/queue", LOW, f"marked and retransmitted {share}; {trips}"
    if span.has_queue:
        text = f"{share} of the packets sent again; a queue: {trips}"
        return f"{span.bottleneck}/loss", MEDIUM, text
    if span.rate_bps < LOSS_BINDS * span.loss_bound_bps(span.retrans / packets):
        return None
    text = f"{share} of the packets sent again without a queue: {trips}"
    return "random_loss", MEDIUM, text


def _queue(span: Span) -> Found:
    trips = f"RTT {as_duration(span.rtt_us * 1e3)} over {as_duration(span.min_rtt_us * 1e3)}"
    if span.has_queue and span.acked > 0:
        text = f"a queue stands: {trips}, {as_rate(span.rate_bps)} delivered"
        return f"{span.bottleneck}/queue", MEDIUM, text
    return None


def _rate_based(span: Span) -> Found:
    if span.last.get("controller") != "bbr" or span.acked <= 0:
        return None
    if _is_starting(span):
        return None
    text = f"BBR paces at its estimate of the bottleneck, {as_rate(span.rate_bps)} delivered"
    return f"{span.bottleneck}/queue", LOW, text


def _is_starting(span: Span) -> bool:
    cwnds = [s["snd_cwnd"] for s in span.samples]
    infinite = span.last["snd_ssthresh"] >= tcpinfo.INFINITE_SSTHRESH
    return bool(infinite and cwnds[-1] > cwnds[0] * 1.1)


def _window(span: Span) -> Found:
    cwnds = [s["snd_cwnd"] for s in span.samples]
    packets = f"cwnd {cwnds[0]} to {cwnds[-1]} segments"
    if _is_starting(span):
        return "transport/slow_start", MEDIUM, f"{packets}, no loss yet"
    if span.cwnd_full <= HALF:
        return None
    if len(set(cwnds)) == 1 and len(cwnds) > 2:
        text = (
            f"{packets}, full and without growth though nothing is lost and no queue stands, "
            f"RTT {as_duration(span.rtt_us * 1e3)}"
        )
        return "sender_window/cwnd_clamp", HIGH, text
    return "transport/congestion_avoidance", LOW, f"{packets}, full, no loss, no queue"


def _rest(span: Span) -> Found:
    if span.acked <= 0:
        return None
    if _is_starting(span):
        return "transport/slow_start", LOW, "cwnd grows"
    text = f"{as_rate(span.rate_bps)}: neither clocks nor windows nor loss show a limit"
    return "mixed", LOW, text


# In this order: what the kernel's clocks prove comes first. A small send buffer makes the kernel
# call the flow application-limited too, so that it comes before the application.
_RULES = (
    _silence,
    _receiver_window,
    _send_buffer,
    _paced,
    _host,
    _application,
    _recovery,
    _loss,
    _queue,
    _rate_based,
    _window,
    _rest,
)


def overall(limits: Sequence[Limit]) -> tuple[Limit | None, dict[str, float]]:
    """Give the limit that held longest, and the share of time of every one."""
    times: Counter[str] = Counter()
    for limit in limits:
        times[limit.word] += limit.seconds  # type: ignore[assignment]
    total = sum(times.values())
    if not total:
        return None, {}
    word = max(times, key=lambda name: times[name])
    chosen = [limit for limit in limits if limit.word == word]
    best = max(chosen, key=lambda limit: SURE.index(limit.confidence))
    return best, {name: seconds / total for name, seconds in times.most_common()}
