"""What to change, on which host, to what value, and what that would gain.

Remedies, models and reasons are the core's (`crates/core/src/diagnosis/adviser.rs`), the same that
captures get; here is what the samples of a kernel say of a sender.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from tcpwhy import _core
from tcpwhy.active.limit import NO_RATE, Limit, Sample, overall

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
    confidence: str | None
    evidence: str
    shares: dict[str, float] = field(default_factory=dict)
    remedy: str | None = None
    headroom_bps: float | None = None
    next_limitation: str | None = None
    gain_unknown: str | None = None
    """A word of `tcpwhy.vocabulary.reasons("gain_unknown")`."""

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
        return Advice("-", None, None, None, "nothing was measured")
    facts = _facts(samples, bitrate_bps)
    facts["window_max_bytes"] = window_max_bytes
    return Advice(
        word=best.word,
        limitation=best.limitation,
        cause=best.cause,
        confidence=best.confidence,
        evidence=best.evidence,
        shares=shares,
        **_core.advise(best.word, facts),
    )


def _facts(samples: Sequence[Sample], bitrate_bps: float | None) -> dict[str, float | None]:
    """Say what the samples of a sender show, as the core's adviser takes it."""
    first, last = samples[0], samples[-1]
    late = samples[len(samples) // 2 :]
    pacing = last["max_pacing_rate"]
    paces = [bitrate_bps, pacing * 8.0 if pacing and pacing < NO_RATE else None]
    return {
        "seconds": max(last["at_s"] - first["at_s"], 1e-9),
        "acked_bytes": last["bytes_acked"] - first["bytes_acked"],
        "segments": max((last["data_segs_out"] or 0) - (first["data_segs_out"] or 0), 1),
        "retransmits": last["total_retrans"] - first["total_retrans"],
        # Not the middle one: what queue the bursts of this test make, goes with its limit.
        "rtt_ns": max(sorted(s["rtt"] for s in late)[len(late) // 10], 1) * 1e3,
        "rtt_min_ns": max(last["min_rtt"] or 1, 1) * 1e3,
        "mss_bytes": last["snd_mss"],
        "window_bytes": max(s["snd_wnd"] or 0 for s in late),
        "buffer_bytes": _buffer_bytes(last, _payload_share(late)),
        "link_bps": last.get("path_bps"),
        "pace_bps": min(filter(None, paces), default=None),
    }


def _payload_share(samples: Sequence[Sample]) -> float:
    """How much of the send buffer is payload; the rest is the kernel's bookkeeping."""
    shares = [
        (s["unacked"] * s["snd_mss"] + (s["notsent_bytes"] or 0)) / s["queued_bytes"]
        for s in samples
        if s.get("queued_bytes")
    ]
    return min(1.0, median(shares)) if shares else 0.5


def _buffer_bytes(last: Sample, payload_share: float) -> float:
    """Give the payload that the send buffer may hold: fixed ones do not grow (socket(7))."""
    size: float = last.get("sndbuf_bytes") or 0
    if last.get("sndbuf_is_fixed"):
        return size * payload_share * FILLED
    try:
        limits = Path("/proc/sys/net/ipv4/tcp_wmem").read_text(encoding="ascii").split()
    except OSError:
        return size * payload_share
    return int(limits[2]) * payload_share
