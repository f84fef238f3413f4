"""What held a sender back, by the kernel's own state each few milliseconds.

The words and the order of the conditions are those of `crates/sim/src/tcp/limit.rs`; full send
buffers come from the kernel's chronograph (`tcpi_sndbuf_limited`).
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

CLOSED = {2, 3, 6, 7, 10, 12}
"""SYN-SENT, SYN-RECEIVED, TIME-WAIT, CLOSED, LISTEN: see `tcpwhy.host.tcpinfo.STATES`."""
RECOVERY, LOSS = 3, 4
PACED = 0.98
"""The share of the socket's rate from which it, and not the controller, paces."""
GAP_NS = 200_000_000
"""A sampler that was away for longer leaves the time out."""


class Sample(NamedTuple):
    """The state from one look to the next."""

    at_ns: int
    length_ns: int
    limit: str
    sndbuf_limited_us: int
    srtt_s: float


class Clock:
    """The sending end of one direction."""

    def __init__(self, raw: list[dict[str, Any]], tcp: Mapping[str, Any]) -> None:
        limits = [limit(one, tcp) for one in raw]
        wait_for_the_timer(raw, limits)
        ends = [one["wall_ns"] for one in raw[1:]]
        self._samples = [
            Sample(
                one["wall_ns"], end - one["wall_ns"], name, one["sndbuf_limited"], one["rtt"] / 1e6
            )
            for one, end, name in zip(raw, ends, limits, strict=False)
        ]

    def between(self, start_ns: int, end_ns: int) -> tuple[dict[str, float], float | None]:
        """Seconds by owner of the time, and the smoothed round-trip time at the end."""
        first = bisect_left(self._samples, start_ns, key=lambda sample: sample.at_ns)
        mine = [s for s in self._samples[first:] if s.at_ns < end_ns and s.length_ns <= GAP_NS]
        time_s: defaultdict[str, float] = defaultdict(float)
        for sample in mine:
            time_s[sample.limit] += min(sample.length_ns, end_ns - sample.at_ns) / 1e9
        if not mine:
            return {}, None
        waited_s = (mine[-1].sndbuf_limited_us - mine[0].sndbuf_limited_us) / 1e6
        moved_s = min(waited_s, time_s["application"])
        time_s["application"] -= moved_s
        time_s["send_buffer"] += moved_s
        return dict(time_s), mine[-1].srtt_s or None


def limit(one: Mapping[str, Any], tcp: Mapping[str, Any]) -> str:
    """Name what holds a sender back in one look."""
    unacknowledged = one["send_queue_bytes"] - one["unsent_bytes"]
    mss, unsent = one["snd_mss"], one["unsent_bytes"]
    phase = "slow_start" if one["snd_cwnd"] < one["snd_ssthresh"] else "congestion_avoidance"
    clamp = tcp.get("cwnd_clamp_bytes")
    rate = tcp.get("pacing_rate_bps")
    match one:
        case {"state": state} if state in CLOSED:
            return "closed"
        case {"retransmits": again} if again:
            return "timer"
        case {"ca_state": state} if state in (RECOVERY, LOSS):
            return "recovery"
    if not unsent:
        return "application"
    if unacknowledged + min(mss, unsent) > one["snd_wnd"]:
        return "receiver_window"
    is_cwnd_used = one["unacked"] >= one["snd_cwnd"]
    if is_cwnd_used:
        is_clamped = clamp and one["snd_cwnd"] * mss >= 0.95 * clamp
        return "cwnd_clamp" if is_clamped else phase
    if rate and one["pacing_rate"] * 8 >= PACED * rate:
        return "socket_pacing"
    if unsent < mss and one["unacked"] and tcp.get("nagle", "minshall") != "off":
        return "nagle"
    return phase


def wait_for_the_timer(raw: list[dict[str, Any]], limits: list[str]) -> None:
    """Call the wait before a timeout the timer's: since something was last sent or acknowledged."""
    for i in range(1, len(raw)):
        if raw[i]["total_rto"] > raw[i - 1]["total_rto"]:
            moved = (raw[i - 1]["bytes_acked"], raw[i - 1]["segs_out"])
            j = i - 1
            while j >= 0 and (raw[j]["bytes_acked"], raw[j]["segs_out"]) == moved:
                limits[j] = "timer"
                j -= 1


def read(folder: Path) -> Iterator[tuple[tuple[int, str], list[dict[str, Any]]]]:
    """Give the samples of each end of each connection."""
    ends: dict[tuple[int, str], list[dict[str, Any]]] = {}
    with (folder / "tcp_info.jsonl").open(encoding="utf-8") as file:
        for line in file:
            sample = json.loads(line)
            ends.setdefault((sample["flow"], sample["side"]), []).append(sample)
    yield from ends.items()
