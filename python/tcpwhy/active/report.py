"""From an outcome to rows and answers."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from tcpwhy.active.advice import Advice, advise
from tcpwhy.active.client import Outcome
from tcpwhy.active.limit import limit_of
from tcpwhy.active.rows import Row, rows_of
from tcpwhy.active.session import window_max_of
from tcpwhy.active.stream import Stream
from tcpwhy.units import as_rate


def rows(outcome: Outcome, stream: Stream) -> list[Row]:
    """Give the rows of a stream, with what the other end found when it was asked."""
    return rows_of(
        stream.number,
        outcome.samples[stream.number],
        outcome.peer_samples.get(stream.number, []),
        sends=stream.sends,
        interval_s=outcome.parameters.interval_s,
        omit_s=outcome.parameters.omit_s,
    )


def moved_bytes(outcome: Outcome, stream: Stream) -> int:
    """Bytes that arrived: as acknowledged where this end sends, as read where it receives."""
    samples = outcome.samples[stream.number]
    counted = [one for one in samples if one["at_s"] >= outcome.parameters.omit_s] or samples[-1:]
    name = "bytes_acked" if stream.sends else "bytes_received"
    total: int = counted[-1][name] - counted[0][name]
    return total


def advice(outcome: Outcome, stream: Stream) -> Advice:
    """Say what limited a stream, and what to do about it."""
    sender = outcome.samples if stream.sends else outcome.peer_samples
    samples = [
        one
        for one in sender.get(stream.number, ())
        if one["at_s"] >= outcome.parameters.omit_s - 0.05
    ]
    if len(samples) < 2:
        text = "only the sender's kernel knows: run `tcpwhy measure --server` at the other end"
        return Advice("-", None, None, None, text)
    window_max = window_max_of(outcome.peer) if stream.sends else None
    limits = [row.limit for row in rows(outcome, stream) if row.limit]
    bitrate_bps = outcome.parameters.bitrate_bps
    found = advise(
        limits or [limit_of(samples)],
        samples,
        bitrate_bps=bitrate_bps,
        window_max_bytes=window_max,
    )
    return reached(found, samples, bitrate_bps) if bitrate_bps else found


REACHED = 0.95
"""Of the rate that was asked for: what a test of few seconds shows of one that is kept."""


def reached(found: Advice, samples: Sequence[dict[str, Any]], bitrate_bps: float) -> Advice:
    """Say that the rate which was asked for was the limit, where the program kept it."""
    first, last = samples[0], samples[-1]
    seconds = max(last["at_s"] - first["at_s"], 1e-9)
    rate_bps = (last["bytes_acked"] - first["bytes_acked"]) * 8 / seconds
    if found.limitation != "application" or rate_bps < REACHED * bitrate_bps:
        return found
    return replace(
        found,
        word="application/paced",
        cause="application/paced",
        shares={"application/paced": 1.0},
        evidence=f"{as_rate(bitrate_bps)} asked for (--bitrate), {as_rate(rate_bps)} reached",
        remedy="none is needed: a test without --bitrate shows what the path can carry",
        headroom_bps=None,
        next_limitation=None,
        gain_unknown="asked_for",
    )


def receiver_note(outcome: Outcome, stream: Stream) -> str | None:
    """Say when options for the receiver could not be set there."""
    options = outcome.parameters.options
    asked = options.window_clamp_bytes or outcome.parameters.read_bps
    if stream.sends and asked and not outcome.peer_samples:
        return "the other end is iperf3: it does not know a window clamp or a slow reader"
    return None


def as_json(outcome: Outcome) -> Iterator[dict[str, Any]]:
    """Give the rows and the answer of every stream."""
    for stream in outcome.streams:
        for row in rows(outcome, stream):
            yield {"kind": "interval", **row.to_json()}
        told: dict[str, Any] = next(
            (s for s in outcome.peer["streams"] if s["id"] == stream.number), {}
        )
        yield {
            "kind": "end",
            "stream": stream.number,
            "sends": stream.sends,
            "controller": stream.controller,
            "seconds": outcome.seconds,
            "moved_bytes": moved_bytes(outcome, stream),
            "program_bytes": stream.bytes,
            "syscalls": stream.calls,
            "peer_bytes": told.get("bytes"),
            **advice(outcome, stream).to_json(),
        }
