"""What `record_captures.py` records: each scenario with its limit and the proof that it bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from capture_path import Limits

SNAPLEN = 128


@dataclass(frozen=True)
class Scenario:
    """One recording: the path, what both ends do, where it is captured, and what must be true."""

    name: str
    about: str
    limits: Limits
    bytes: int
    bound: Callable[[dict[str, float]], bool]
    taps: tuple[str, ...] = ("sender",)
    send: tuple[str, ...] = ()
    receive: tuple[str, ...] = ()
    snaplen: int = SNAPLEN


# 20 ms + 40 ms of round trip before and behind the middle: a capture in the middle is at 1/3.
THIRD = Limits(near_delay_ms=10, far_delay_ms=20)

SCENARIOS = (
    Scenario(
        "bulk_tbf",
        "A bulk transfer through a 4 Mbit/s token bucket with a queue of 60 kB.",
        replace(THIRD, rate_bps=4_000_000, queue_bytes=60_000),
        bytes=3_600_000,
        taps=("sender", "middle", "receiver"),
        bound=lambda f: (
            f["goodput_bps"] > 0.9 * 4e6 and f["tbf_drops"] > 0 and f["rwnd_share"] < 0.05
        ),
    ),
    Scenario(
        "receiver_window",
        "SO_RCVBUF of 16 kB at the receiver, RTT 60 ms, no other limit.",
        THIRD,
        bytes=2_000_000,
        receive=("--rcvbuf=16384",),
        # The kernel's clock pauses while the write queue is short, so the rate is the better proof.
        bound=lambda f: (
            f["rwnd_share"] > 0.7
            and f["total_retrans"] == 0
            and f["goodput_bps"] > 0.95 * f["snd_wnd"] * 8 / (f["min_rtt"] / 1e6)
        ),
    ),
    Scenario(
        "application",
        "The sender writes 20,000 bytes every 200 ms, RTT 30 ms.",
        Limits(near_delay_ms=5, far_delay_ms=10),
        bytes=800_000,
        send=("--write=20000", "--every=0.2"),
        bound=lambda f: (
            f["goodput_bps"] < 0.9e6
            and f["busy_share"] < 0.6
            and f["rwnd_share"] < 0.05
            and f["total_retrans"] == 0
        ),
    ),
    Scenario(
        "loss",
        "1 in 100 data packets dropped at random in the middle, RTT 60 ms.",
        replace(THIRD, drop_percent=1),
        bytes=2_000_000,
        taps=("sender", "middle", "receiver"),
        bound=lambda f: (
            f["dropped_by_rule"] >= 10
            and f["goodput_bps"] < 4e6
            and f["total_retrans"] >= f["dropped_by_rule"]
            and f["rwnd_share"] < 0.05
        ),
    ),
    Scenario(
        "slow_reader",
        "The receiving application reads 64 kB each 300 ms: the window closes.",
        Limits(near_delay_ms=5, far_delay_ms=10),
        bytes=1_800_000,
        receive=("--rcvbuf=65536", "--read=65536", "--pause=0.3"),
        bound=lambda f: f["rwnd_share"] > 0.8 and f["total_retrans"] == 0,
    ),
    Scenario(
        "offload",
        "Captured at a sender with TSO: segments of many MSS; 40 Mbit/s, RTT 20 ms.",
        Limits(far_delay_ms=10, offload=True, rate_bps=40_000_000, queue_bytes=200_000),
        bytes=6_000_000,
        bound=lambda f: f["goodput_bps"] > 0.85 * 4e7 and f["rwnd_share"] < 0.05,
    ),
    Scenario(
        "mirror_bridge",
        "The loss scenario over a bridge whose SPAN port copies what enters and "
        "what leaves: each frame twice, dropped ones once.",
        replace(THIRD, bridge=True, mirror=True, drop_percent=1),
        bytes=1_000_000,
        taps=("mon",),
        bound=lambda f: f["dropped_by_rule"] >= 3 and f["rwnd_share"] < 0.05,
    ),
    Scenario(
        "mirror_router",
        "The bulk_tbf scenario captured on all interfaces of the router (Linux "
        "SLL2): each packet twice, TTL one less, the second time after the queue.",
        replace(THIRD, rate_bps=4_000_000, queue_bytes=60_000),
        bytes=1_400_000,
        taps=("any",),
        bound=lambda f: f["goodput_bps"] > 0.85 * 4e6 and f["rwnd_share"] < 0.05,
        snaplen=140,
    ),
)
