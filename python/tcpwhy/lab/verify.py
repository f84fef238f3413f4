"""Whether the limit that a scenario intends really bound: the kernel's clocks, the links' counters.

A label that nobody verified is no label. Every check reads what is independent of the analysis:
TCP_INFO of the sender and the emulator's own tables, between begin and end of the span.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, NamedTuple

from tcpwhy.host import tcpinfo
from tcpwhy.lab.network import KERNEL
from tcpwhy.lab.run import Run
from tcpwhy.lab.scenario import Expect


class Check(NamedTuple):
    """Something that must hold for the label to be true."""

    what: str
    value: float
    holds: bool

    def __str__(self) -> str:
        return f"{'' if self.holds else 'NOT '}{self.what} ({self.value:.3g})"


@dataclass(frozen=True)
class Span:
    """What kernel and emulator say about a half of a flow in a span of time."""

    seconds: float
    busy_share: float
    rwnd_share: float
    """Of the time that the kernel calls busy; as the next one."""
    sndbuf_share: float
    goodput_bps: float
    retransmitted_segs: int
    queued_share: float
    """Bytes in the send buffer, of its size: below 1 unless the kernel lets writes pass it by."""
    starved_share: float
    """Samples in which the program had left less than a segment unsent."""
    ready_share: float
    """Of the whole run: time in which the program did not wait for room in the send buffer."""
    cwnd_full_share: float
    """Samples in which what is in flight fills cwnd."""
    window_full_share: float
    """Samples in which what is in flight fills the receiver's window, or that is closed."""
    recovering_share: float
    cwnd_segs: float
    cwnd_segs_max: int
    rwnd_bytes: float
    ssthresh_is_infinite: bool
    unread_share: float
    """Unread bytes at the receiver, of its window when that is open."""
    is_scaled: bool
    pacing_bps: float
    link_busy_share: float
    """Of the busiest link on the path."""
    own_share: float
    """Of the bytes that this link carried."""
    drops: dict[str, int]
    marks: int


def verify(run: Run, expect: Expect) -> list[Check]:
    """Check one expectation; all checks must hold."""
    span = measure(run, expect)
    rule = _RULES.get(expect.cause or "") or _RULES[expect.limitation]
    return list(rule(span, run, expect))


def measure(run: Run, expect: Expect) -> Span:
    """Gather the facts of a span."""
    side, other = ("backward", "forward") if expect.backward else ("forward", "backward")
    sender = _within(run.samples(expect.flow, side), expect)
    receiver = _within(run.samples(expect.flow, other), expect)
    first, last = sender[0], sender[-1]
    seconds = max(last["at_s"] - first["at_s"], 1e-9)
    busy_us = max(last["busy_time"] - first["busy_time"], 1)
    links = _links(run, expect)
    acked = last["bytes_acked"] - first["bytes_acked"]
    return Span(
        seconds=seconds,
        busy_share=busy_us / 1e6 / seconds,
        rwnd_share=(last["rwnd_limited"] - first["rwnd_limited"]) / busy_us,
        sndbuf_share=(last["sndbuf_limited"] - first["sndbuf_limited"]) / busy_us,
        goodput_bps=acked * 8 / seconds,
        retransmitted_segs=last["total_retrans"] - first["total_retrans"],
        queued_share=median(s["send_queue_bytes"] / max(s["sndbuf_bytes"] or 0, 1) for s in sender),
        starved_share=_share(sender, lambda s: s["unsent_bytes"] < s["snd_mss"]),
        ready_share=1 - run.deeds(expect.flow, side)["blocked_s"] / run.scenario.duration_s,
        cwnd_full_share=_share(sender, lambda s: s["unacked"] + 1 >= s["snd_cwnd"]),
        window_full_share=_share(
            sender, lambda s: (s["unacked"] + 2) * s["snd_mss"] >= s["snd_wnd"]
        ),
        recovering_share=_share(sender, lambda s: s["ca_state"] >= 3),
        cwnd_segs=median(s["snd_cwnd"] for s in sender),
        cwnd_segs_max=max(s["snd_cwnd"] for s in sender),
        rwnd_bytes=median(s["snd_wnd"] or 0 for s in sender),
        ssthresh_is_infinite=last["snd_ssthresh"] >= tcpinfo.INFINITE_SSTHRESH,
        unread_share=_unread_share(receiver),
        is_scaled=bool(last["options"] & tcpinfo.OPTION_WSCALE),
        pacing_bps=last["max_pacing_rate"] * 8.0,
        **links,
    )


def _within(samples: Sequence[dict[str, Any]], expect: Expect) -> list[dict[str, Any]]:
    """Samples of the span; those nearest to it when it is shorter than the sampling."""
    inside = [s for s in samples if expect.from_s <= s["at_s"] <= expect.to_s and s["state"] != 10]
    return inside if len(inside) >= 2 else [samples[0], samples[-1]]


def _share(samples: Sequence[dict[str, Any]], holds: Callable[[dict[str, Any]], Any]) -> float:
    return sum(bool(holds(sample)) for sample in samples) / len(samples)


def _unread_share(receiver: Sequence[dict[str, Any]]) -> float:
    """Unread bytes against the window that would be there without them."""
    shares = [s["unread_bytes"] / max(s["unread_bytes"] + (s["rcv_wnd"] or 0), 1) for s in receiver]
    return float(median(shares))


def _links(run: Run, expect: Expect) -> dict[str, Any]:
    """What the emulator's tables say about the path of a half in a span."""
    import duckdb

    begin, end = (run.start_ns + round(t * 1e9) for t in (expect.from_s, expect.to_s))
    half = 2 * expect.flow + int(expect.backward)
    direction = "backward" if expect.backward else "forward"
    with duckdb.connect() as connection:
        queues = connection.execute(
            """SELECT link, (max(busy_ns) - min(busy_ns)) / (max(at_ns) - min(at_ns)) AS share,
                      max(sent_bytes) - min(sent_bytes) AS bytes
               FROM read_parquet($file)
               WHERE at_ns BETWEEN $begin AND $end AND list_contains($links, link)
               GROUP BY link, element HAVING max(at_ns) > min(at_ns)
               ORDER BY share DESC LIMIT 1""",
            {
                "file": str(run.folder / "queues.parquet"),
                "begin": begin,
                "end": end,
                "links": [f"{link}/{direction}" for link in run.scenario.flows[expect.flow].links],
            },
        ).fetchone()
        events = connection.execute(
            """SELECT action, reason, count(*) FROM read_parquet($file)
               WHERE at_ns BETWEEN $begin AND $end AND half = $half GROUP BY ALL""",
            {"file": str(run.folder / "events.parquet"), "begin": begin, "end": end, "half": half},
        ).fetchall()
        if run.emulator.get("kind") == KERNEL:
            events = _counted(connection, run, begin, end)
    _, busy, carried = queues or ("", 0.0, 0)
    own = _wire_bytes(run, expect)
    return {
        "link_busy_share": float(busy or 0.0),
        "own_share": min(1.0, own / carried) if carried else 1.0,
        "drops": {reason: n for action, reason, n in events if action == "drop"},
        "marks": sum(n for action, _, n in events if action == "mark"),
    }


def _counted(connection: Any, run: Run, begin: int, end: int) -> list[tuple[str, str, int]]:
    """What the kernel's disciplines dropped and marked, of whichever flow: they do not say.

    Each but the first holds the queue of the one before, which counts the same drops.
    """
    return [
        row
        for row in connection.execute(
            """WITH counts AS (
                   SELECT link, element, kind, max(drops) - min(drops) AS drops,
                          max(marks) - min(marks) AS marks
                   FROM read_parquet($file) WHERE at_ns BETWEEN $begin AND $end GROUP BY ALL
               )
               SELECT 'drop', CASE kind WHEN 'netem' THEN 'netem' ELSE 'queue_full' END, sum(drops)
               FROM counts WHERE kind != 'tbf' GROUP BY ALL
               UNION ALL SELECT 'mark', kind, sum(marks) FROM counts WHERE kind != 'tbf'
               GROUP BY ALL""",
            {"file": str(run.folder / "queues.parquet"), "begin": begin, "end": end},
        ).fetchall()
        if row[2]
    ]


def traced_cwnd_max(run: Run, expect: Expect) -> int | None:
    """Largest cwnd at any acknowledgement of the span; None where the tracepoint is not there."""
    import duckdb

    if "failure" in run.traced:
        return None
    begin, end = (run.start_ns + round(t * 1e9) for t in (expect.from_s, expect.to_s))
    with duckdb.connect() as connection:
        row = connection.execute(
            """SELECT max(cwnd_segs) FROM read_parquet($file)
               WHERE flow = $flow AND side = $side AND at_ns BETWEEN $begin AND $end""",
            {
                "file": str(run.folder / "cwnd.parquet"),
                "flow": expect.flow,
                "side": "backward" if expect.backward else "forward",
                "begin": begin,
                "end": end,
            },
        ).fetchone()
    return row[0] if row else None


def _wire_bytes(run: Run, expect: Expect) -> float:
    """Bytes that this half put on the links, headers included."""
    sender = _within(run.samples(expect.flow, "backward" if expect.backward else "forward"), expect)
    first, last = sender[0], sender[-1]
    headers = 52 + run.scenario.overhead_bytes
    segments: int = last["segs_out"] - first["segs_out"]
    payload: int = last["bytes_sent"] - first["bytes_sent"]
    return payload + segments * headers


# Shares are thresholds of plausibility, not of accuracy: a limit that binds does so most of the
# time, and half is where another one would bind longer.
MOST, HALF, FEW = 0.75, 0.5, 0.25
FITS = 1.25
"""What a last write may add to a buffer that had room for some of it."""


def _application(span: Span, run: Run, expect: Expect) -> Iterator[Check]:
    # A controller that paces keeps data for later; then the program must never have waited.
    starved = span.starved_share
    if expect.to_s - expect.from_s >= MOST * run.scenario.duration_s and span.ready_share >= 0.95:
        starved = max(starved, span.ready_share)
    yield Check("nothing waits to be sent", starved, starved >= MOST)
    yield Check("links not full", span.link_busy_share, span.link_busy_share < MOST)
    yield Check("receiver's window open", span.rwnd_share, span.rwnd_share < FEW)


def _paced(span: Span, run: Run, expect: Expect) -> Iterator[Check]:
    # 2^64-1 or 2^32-1 where no rate is set.
    if span.pacing_bps < 1e11:
        ratio = span.goodput_bps / span.pacing_bps
        yield Check("goodput is the pacing rate", ratio, 0.9 <= ratio <= 1.02)
        yield Check("links not full", span.link_busy_share, span.link_busy_share < MOST)
        return
    yield from _application(span, run, expect)


def _receiver_window(span: Span, run: Run, expect: Expect) -> Iterator[Check]:
    del run, expect
    share = max(span.rwnd_share, span.window_full_share)
    yield Check("receiver's window binds", share, share >= HALF)
    yield Check("links not full", span.link_busy_share, span.link_busy_share < MOST)


def _rwnd_buffer(span: Span, run: Run, expect: Expect) -> Iterator[Check]:
    yield from _receiver_window(span, run, expect)
    yield Check("the reader keeps up", span.unread_share, span.unread_share < FEW)


def _slow_reader(span: Span, run: Run, expect: Expect) -> Iterator[Check]:
    yield from _receiver_window(span, run, expect)
    yield Check("data waits unread", span.unread_share, span.unread_share >= FEW)


def _no_scaling(span: Span, run: Run, expect: Expect) -> Iterator[Check]:
    yield from _receiver_window(span, run, expect)
    yield Check("no window scale", span.is_scaled, not span.is_scaled)


def _send_buffer(span: Span, run: Run, expect: Expect) -> Iterator[Check]:
    del run, expect
    # The kernel's clock misses a program that polls for room: then it waited all the time while
    # nothing was left unsent.
    share = max(span.sndbuf_share, min(1 - span.ready_share, span.starved_share))
    yield Check("send buffer binds", share, share >= HALF)
    yield Check("what is queued fits the buffer", span.queued_share, span.queued_share <= FITS)
    yield Check("links not full", span.link_busy_share, span.link_busy_share < MOST)
    yield Check("receiver's window open", span.rwnd_share, span.rwnd_share < FEW)


def _cwnd_clamp(span: Span, run: Run, expect: Expect) -> Iterator[Check]:
    clamp = run.scenario.flows[expect.flow].tcp[0]["cwnd_clamp_bytes"]
    ratio = (traced_cwnd_max(run, expect) or span.cwnd_segs_max) * 1448 / clamp
    yield Check("cwnd is the clamp", ratio, 0.9 <= ratio <= 1.1)
    yield Check("cwnd is full", span.cwnd_full_share, span.cwnd_full_share >= MOST)
    yield Check("no loss", span.retransmitted_segs, span.retransmitted_segs == 0)


def _bottleneck(span: Span, run: Run, expect: Expect) -> Iterator[Check]:
    del run, expect
    # A queue of few packets overflows before the link is full: it is the limit all the same.
    full = FEW if span.drops.get("queue_full", 0) >= 3 else MOST
    yield Check("link full", span.link_busy_share, span.link_busy_share >= full)
    yield Check("receiver's window open", span.rwnd_share, span.rwnd_share < FEW)


def _unshared(span: Span, run: Run, expect: Expect) -> Iterator[Check]:
    yield from _bottleneck(span, run, expect)
    yield Check("link for itself", span.own_share, span.own_share >= 0.95)


def _shared(span: Span, run: Run, expect: Expect) -> Iterator[Check]:
    yield from _bottleneck(span, run, expect)
    yield Check("others on the link", 1 - span.own_share, span.own_share <= 0.95)


def _ecn(span: Span, run: Run, expect: Expect) -> Iterator[Check]:
    yield from _shared(span, run, expect)
    yield Check("packets marked", span.marks, span.marks >= 3)


def _policer(span: Span, run: Run, expect: Expect) -> Iterator[Check]:
    del run, expect
    drops = span.drops.get("policed", 0)
    yield Check("policer drops", drops, drops >= 3)
    yield Check("links not full", span.link_busy_share, span.link_busy_share < MOST)


def _random_loss(span: Span, run: Run, expect: Expect) -> Iterator[Check]:
    del run, expect
    queue = sum(n for reason, n in span.drops.items() if reason.startswith("queue"))
    drops = sum(span.drops.values()) - queue
    yield Check("packets lost at random", drops, drops >= 3)
    yield Check("none lost in a queue", queue, queue <= drops / 10)
    yield Check("links not full", span.link_busy_share, span.link_busy_share < MOST)


def _transport(span: Span, run: Run, expect: Expect) -> Iterator[Check]:
    del run, expect
    yield Check("links not full", span.link_busy_share, span.link_busy_share < MOST)
    yield Check("receiver's window open", span.rwnd_share, span.rwnd_share < FEW)


def _recovery(span: Span, run: Run, expect: Expect) -> Iterator[Check]:
    yield from _transport(span, run, expect)
    yield Check("in recovery", span.recovering_share, span.recovering_share >= HALF)


def _unresponsive(span: Span, run: Run, expect: Expect) -> Iterator[Check]:
    del run, expect
    again = span.retransmitted_segs
    yield Check("segments repeated", again, again >= 1)
    yield Check("hardly anything arrives", span.goodput_bps, span.goodput_bps < NOTHING_BPS)


NOTHING_BPS = 1e4
"""Goodput of a span that is all outage but for what was on its way when it began."""

_RULES = {
    "application": _application,
    "application/paced": _paced,
    "receiver_window": _receiver_window,
    "receiver_window/buffer": _rwnd_buffer,
    "receiver_window/slow_reader": _slow_reader,
    "receiver_window/no_window_scaling": _no_scaling,
    "sender_window/send_buffer": _send_buffer,
    "sender_window/cwnd_clamp": _cwnd_clamp,
    "unshared_bottleneck": _unshared,
    "shared_bottleneck": _shared,
    "shared_bottleneck/ecn": _ecn,
    "policer": _policer,
    "random_loss": _random_loss,
    "transport": _transport,
    "unresponsive": _unresponsive,
    "transport/recovery": _recovery,
    # A verdict nobody can tell from outside has no check of its own.
    "sender_window": _bottleneck,
    "mixed": _transport,
}
