"""What held a sender back, by the kernel's own state each few milliseconds.

The words and the order of the conditions are those of `crates/sim/src/tcp/limit.rs`. A send buffer
refuses where the program has more to write and less is free than half of what waits
(`sk_stream_min_wspace`). The kernel's chronograph (`tcpi_sndbuf_limited`) is asked as well, but
starts only when something leaves while a writer sleeps (`tcp_cwnd_validate`).
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

from tcpwhy.lab import workload

CLOSED = {2, 3, 6, 7, 10, 12}
"""SYN-SENT, SYN-RECEIVED, TIME-WAIT, CLOSED, LISTEN: see `tcpwhy.host.tcpinfo.STATES`."""
RECOVERY, LOSS = 3, 4
WINDOWS = {"receiver_window", "send_buffer", "cwnd_clamp"}
PACED = 0.98
"""The share of the socket's rate from which it, and not the controller, paces."""
PACING = "pacing"
"""A controller that paces by the rate it measured (BBR) waits, and cwnd is not used up."""
BEFORE_NS = 10_000_000_000
"""How long before an interval a window may have held back what still paces at its rate."""
GAP_NS = 200_000_000
"""A sampler that was away for longer leaves the time out."""


class Sample(NamedTuple):
    """The state from one look to the next."""

    at_ns: int
    length_ns: int
    limit: str
    phase: str
    both_windows: bool
    nearly_full: str | None
    sndbuf_limited_us: int
    srtt_s: float
    min_rtt_s: float


class Held(NamedTuple):
    """What held a sender back between two times."""

    time_s: dict[str, float]
    """Seconds by owner."""
    srtt_s: float | None
    """The smoothed round-trip time at the end."""
    inflation: float | None
    """Its mean over the least of the connection so far."""


class Clock:
    """The sending end of one direction."""

    def __init__(
        self,
        raw: list[dict[str, Any]],
        tcp: Mapping[str, Any],
        program: Mapping[str, Any],
        end: int,
    ) -> None:
        """Take the samples of end 0 or 1 of a flow whose workload is `program`."""
        refused = [
            more and is_short_of_room(one)
            for one, more in zip(raw, waits_to_write(raw, program, end), strict=True)
        ]
        limits = [limit(*each, tcp) for each in zip(raw, refused, strict=True)]
        both = [both_full(*each, tcp) for each in zip(raw, refused, strict=True)]
        wait_for_the_timer(raw, limits)
        ends = [one["wall_ns"] for one in raw[1:]]
        self._samples = [
            Sample(
                one["wall_ns"],
                upto - one["wall_ns"],
                name,
                phase(one),
                is_both and name in WINDOWS,
                nearly_full(one, tcp),
                one["sndbuf_limited"],
                one["rtt"] / 1e6,
                one["min_rtt"] / 1e6,
            )
            for one, upto, name, is_both in zip(raw, ends, limits, both, strict=False)
        ]

    def between(self, start_ns: int, end_ns: int) -> Held:
        """Share out the time."""
        early, first, last = (
            bisect_left(self._samples, at, key=lambda sample: sample.at_ns)
            for at in (start_ns - BEFORE_NS, start_ns, end_ns)
        )
        mine = [sample for sample in self._samples[first:last] if sample.length_ns <= GAP_NS]
        held = {sample.limit for sample in self._samples[early:last]}
        time_s: defaultdict[str, float] = defaultdict(float)
        for sample in mine:
            seconds = min(sample.length_ns, end_ns - sample.at_ns) / 1e9
            name = sample.limit
            if name == PACING and sample.nearly_full in held:
                name = sample.nearly_full or PACING
                time_s["paced_at_window"] += seconds
            time_s[sample.phase if name == PACING else name] += seconds
            if sample.both_windows:
                time_s["both_windows"] += seconds
        if not mine:
            return Held({}, None, None)
        waited_s = (mine[-1].sndbuf_limited_us - mine[0].sndbuf_limited_us) / 1e6
        moved_s = min(max(0.0, waited_s - time_s["send_buffer"]), time_s["application"])
        time_s["application"] -= moved_s
        time_s["send_buffer"] += moved_s
        least_s = sum(sample.min_rtt_s for sample in mine)
        inflation = sum(sample.srtt_s for sample in mine) / least_s if least_s else None
        return Held(dict(time_s), mine[-1].srtt_s or None, inflation)


def waits_to_write(
    raw: list[dict[str, Any]], program: Mapping[str, Any], end: int
) -> Iterator[bool]:
    """Tell of each look whether the program had more to write than the kernel had taken."""
    turns = program.get("request_response")
    if turns:
        size = turns["response_bytes" if end else "request_bytes"]
        # A SYN may count as one acknowledged byte.
        yield from (1 < written(one) % size < size - 1 for one in raw)
        return
    if end or "relay" in program:
        yield from (False for _ in raw)
        return
    pending = workload.ticks(program, raw[0]["at_s"], raw[-1]["at_s"] + 1) if raw else iter(())
    tick, due = next(pending, None), 0.0
    for one in raw:
        while tick and tick.at_s <= one["at_s"]:
            due = written(one) if tick.bytes == -inf else due + tick.bytes
            tick = next(pending, None)
        yield due > written(one) + 1


def written(one: Mapping[str, Any]) -> int:
    """Give how many bytes of the program the kernel has taken."""
    return int(one["bytes_acked"] + one["send_queue_bytes"])


def is_short_of_room(one: Mapping[str, Any]) -> bool:
    """Tell whether less is free in the send buffer than half of what waits: no writer is woken."""
    size, queued = one["sndbuf_bytes"], one["wmem_queued_bytes"]
    return bool(size and queued and size - queued < queued / 2)


def both_full(one: Mapping[str, Any], is_refused: bool, tcp: Mapping[str, Any]) -> bool:
    """Tell whether neither host's window has room for a full segment."""
    mss, unsent = one["snd_mss"], one["unsent_bytes"]
    flight = one["send_queue_bytes"] - unsent
    is_own = is_refused and unsent < mss
    is_clamped = tcp.get("cwnd_clamp_bytes", inf) < flight + mss
    return bool(one["snd_wnd"] < flight + mss and (is_own or is_clamped))


def nearly_full(one: Mapping[str, Any], tcp: Mapping[str, Any]) -> str | None:
    """Name the host's window of which less than two segments or a tenth are left."""
    flight = one["send_queue_bytes"] - one["unsent_bytes"]
    windows = {
        "receiver_window": one["snd_wnd"],
        "cwnd_clamp": tcp.get("cwnd_clamp_bytes", inf),
    }
    for name, window in windows.items():
        if window < flight + max(2 * one["snd_mss"], window / 10):
            return name
    return None


def phase(one: Mapping[str, Any]) -> str:
    """Name what congestion control does while nothing is repaired."""
    return "slow_start" if one["snd_cwnd"] < one["snd_ssthresh"] else "congestion_avoidance"


def limit(one: Mapping[str, Any], is_refused: bool, tcp: Mapping[str, Any]) -> str:
    """Name what holds a sender back in one look."""
    unacknowledged = one["send_queue_bytes"] - one["unsent_bytes"]
    mss, unsent = one["snd_mss"], one["unsent_bytes"]
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
        return "send_buffer" if is_refused else "application"
    if unacknowledged + min(mss, unsent) > one["snd_wnd"]:
        return "receiver_window"
    is_cwnd_used = one["unacked"] >= one["snd_cwnd"]
    if is_cwnd_used:
        is_clamped = clamp and one["snd_cwnd"] * mss >= 0.95 * clamp
        return "cwnd_clamp" if is_clamped else phase(one)
    if rate and one["pacing_rate"] * 8 >= PACED * rate:
        return "socket_pacing"
    if unsent < mss and one["unacked"] and tcp.get("nagle", "minshall") != "off":
        return "send_buffer" if is_refused else "nagle"
    return PACING if tcp.get("controller", "").startswith("bbr") else phase(one)


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
