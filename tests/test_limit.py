"""Verdicts of TCP_INFO: what each kind of transfer looks like in the kernel, and the answer.

The numbers are those of transfers over an emulated path of 40 ms, rounded.
"""

import pytest

from tcpwhy.active.advice import advise
from tcpwhy.active.limit import limit_of, overall
from tcpwhy.active.report import reached
from tcpwhy.active.rows import row_of
from tcpwhy.host import tcpinfo

MSS = 1448
BASE = {name: 0 for name, *_ in tcpinfo.FIELDS} | {
    "state": 1,
    "snd_mss": MSS,
    "rtt": 40_200,
    "min_rtt": 40_000,
    "snd_cwnd": 100,
    "snd_ssthresh": 60,
    "snd_wnd": 1_000_000,
    "options": 7,
    "max_pacing_rate": 2**64 - 1,
    "delivery_rate_app_limited": False,
    "controller": "cubic",
    "sndbuf_bytes": 2_000_000,
}


def transfer(rate_bps=10e6, seconds=1.0, busy=1.0, rwnd=0.0, sndbuf=0.0, loss=0.0, **fields):
    """Make eleven samples of a steady transfer. A field may be a function of the share of time."""
    samples = []
    for i in range(11):
        t = i / 10
        sent = int(rate_bps / 8 * seconds * t)
        packets = sent // MSS
        sample = BASE | {
            "at_s": seconds * t,
            "busy_time": int(busy * seconds * t * 1e6),
            "rwnd_limited": int(rwnd * seconds * t * 1e6),
            "sndbuf_limited": int(sndbuf * seconds * t * 1e6),
            "bytes_sent": sent,
            "bytes_acked": sent,
            "data_segs_out": packets,
            "total_retrans": int(loss * packets),
            "notsent_bytes": 100_000,
            "unacked": 100,
        }
        sample |= {name: value(t) if callable(value) else value for name, value in fields.items()}
        samples.append(sample)
    return samples


CASES = {
    "nothing at all": (
        transfer(rate_bps=0, busy=0, unacked=0, notsent_bytes=0),
        "application/idle",
    ),
    "bursts with pauses": (
        transfer(rate_bps=3.2e6, busy=0.18, notsent_bytes=0, unacked=0),
        "application/idle",
    ),
    "a slow writer": (
        transfer(
            rate_bps=3.2e6, busy=0.88, notsent_bytes=0, unacked=11, delivery_rate_app_limited=True
        ),
        "application/paced",
    ),
    "a paced socket": (
        transfer(rate_bps=7.94e6, max_pacing_rate=1_000_000, unacked=44),
        "application/paced",
    ),
    "a small receive buffer": (
        transfer(rate_bps=8.1e6, rwnd=0.99, unacked=28, snd_wnd=41_000),
        "receiver_window/buffer",
    ),
    "a slow reader, seen from the sender": (
        transfer(rate_bps=2e6, rwnd=1.0, unacked=0, snd_wnd=0, probes=1),
        "receiver_window/slow_reader",
    ),
    "a slow reader, seen from both": (
        transfer(rate_bps=2e6, rwnd=1.0, unacked=8, snd_wnd=12_000, peer_unread_bytes=69_000),
        "receiver_window/slow_reader",
    ),
    "a small buffer, seen from both": (
        transfer(rate_bps=8e6, rwnd=1.0, unacked=28, snd_wnd=41_000, peer_unread_bytes=0),
        "receiver_window/buffer",
    ),
    "no window scaling": (
        transfer(rate_bps=13e6, rwnd=0.98, unacked=45, snd_wnd=65_535, options=3),
        "receiver_window/no_window_scaling",
    ),
    # The kernel calls it limited by the application as well.
    "a small send buffer": (
        transfer(
            rate_bps=11.5e6,
            sndbuf=0.84,
            unacked=40,
            notsent_bytes=0,
            delivery_rate_app_limited=True,
        ),
        "sender_window/send_buffer",
    ),
    # A write larger than the buffer: the kernel's clock does not run.
    "a small send buffer and large writes": (
        transfer(rate_bps=43e6, unacked=200, snd_cwnd=300, notsent_bytes=0, program="eager"),
        "sender_window/send_buffer",
    ),
    # Of a stranger's program nothing is known but its buffer.
    "a small send buffer of another program": (
        transfer(
            rate_bps=9e6,
            unacked=30,
            notsent_bytes=0,
            delivery_rate_app_limited=True,
            sndbuf_bytes=65_536,
            queued_bytes=48_000,
        ),
        "sender_window/send_buffer",
    ),
    "a slow writer with room in its buffer": (
        transfer(
            rate_bps=9e6,
            unacked=30,
            notsent_bytes=0,
            delivery_rate_app_limited=True,
            sndbuf_bytes=131_072,
            queued_bytes=48_000,
        ),
        "application/paced",
    ),
    # Nothing waits because the writer has no time to write: over loopback.
    "a writer at the limit of its processor": (
        transfer(
            rate_bps=20e9,
            rtt=200,
            min_rtt=100,
            unacked=3,
            notsent_bytes=0,
            program="eager",
            writer_cpu_s=lambda t: 0.9 * t,
        ),
        "application",
    ),
    # The other end took the processor: the buffer is empty all the same.
    "hosts at the limit of their processors": (
        transfer(
            rate_bps=14e9,
            rtt=230,
            min_rtt=100,
            unacked=0,
            notsent_bytes=0,
            program="eager",
            writer_cpu_s=lambda t: 0.4 * t,
        ),
        "application",
    ),
    "a clamped cwnd": (
        transfer(rate_bps=5.6e6, snd_cwnd=20, unacked=20),
        "sender_window/cwnd_clamp",
    ),
    "a queue": (transfer(rtt=110_000), "unshared_bottleneck/queue"),
    "a queue that several streams of a test fill": (
        transfer(rtt=110_000, shares_path=True),
        "shared_bottleneck/queue",
    ),
    "a queue that overflows": (
        transfer(rtt=75_000, loss=0.01),
        "unshared_bottleneck/loss",
    ),
    "loss without a queue": (transfer(rate_bps=3e6, loss=0.01), "random_loss"),
    "a little loss far below what limits": (
        transfer(rate_bps=3e6, loss=0.0005, snd_cwnd=20, unacked=20),
        "sender_window/cwnd_clamp",
    ),
    "slow start": (
        transfer(
            snd_ssthresh=tcpinfo.INFINITE_SSTHRESH,
            snd_cwnd=lambda t: int(10 * 2 ** (5 * t)),
            unacked=lambda t: int(10 * 2 ** (5 * t)),
        ),
        "transport/slow_start",
    ),
    "congestion avoidance": (
        transfer(snd_cwnd=lambda t: 100 + int(25 * t), unacked=lambda t: 100 + int(25 * t)),
        "transport/congestion_avoidance",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_each_limit_has_its_look(case):
    samples, word = CASES[case]
    limit = limit_of(samples)
    assert limit.word == word, limit.evidence
    assert limit.evidence
    assert limit.confidence in ("high", "medium", "low")


def test_long_and_large_is_not_cut():
    """Microseconds after 2147 s and windows from 2 GiB need more than 31 bits."""
    day_s, window = 86_400, 3 << 30
    samples = transfer(
        rate_bps=80e9, seconds=day_s, rwnd=0.9, rtt=300_000, unacked=window // MSS, snd_wnd=window
    )
    limit = limit_of(samples)
    assert (limit.rwnd_share, limit.word) == (pytest.approx(0.9), "receiver_window/buffer")
    assert "3.22 GB in flight" in limit.evidence
    row = row_of(1, [one | {"raw": b""} for one in samples], [], sends=True)
    assert row.flight_bytes == window // MSS * MSS
    assert row.throughput_bps == pytest.approx(80e9)
    assert row.busy_share == pytest.approx(1)


def test_busy_alone_is_no_proof_of_anything():
    limit = limit_of(transfer(unacked=30))
    assert (limit.limitation, limit.confidence) == ("mixed", "low")


def test_the_limit_of_most_of_the_time_is_that_of_the_whole():
    limits = [limit_of(CASES[name][0]) for name in ("a queue", "slow start", "a queue")]
    best, shares = overall(limits)
    assert best.word == "unshared_bottleneck/queue"
    assert shares == pytest.approx(
        {"unshared_bottleneck/queue": 2 / 3, "transport/slow_start": 1 / 3}
    )


def test_the_gain_is_the_next_bound():
    # 41 kB of window over 40 ms; with a larger one, 2 MB of send buffer, half of it payload, of
    # which three quarters are filled.
    samples, _ = CASES["a small receive buffer"]
    samples = [s | {"sndbuf_is_fixed": True, "rtt": 40_000} for s in samples]
    advice = advise([limit_of(samples)], samples)
    assert advice.next_limitation == "sender_window"
    assert advice.headroom_bps == pytest.approx(2e6 * 0.5 * 3 / 4 * 8 / 0.04)
    assert "tcp_rmem" in advice.remedy


def test_a_promise_stops_at_the_rate_of_the_path():
    samples, _ = CASES["a small receive buffer"]
    samples = [s | {"sndbuf_is_fixed": True, "rtt": 40_000} for s in samples]
    samples[-1]["path_bps"] = 100e6
    advice = advise([limit_of(samples)], samples)
    assert (advice.headroom_bps, advice.next_limitation) == (100e6, "unshared_bottleneck")


def test_a_promise_is_of_round_trips_without_the_queue_that_goes_too():
    """Bursts of a send buffer lengthen most round trips by half."""
    samples, _ = CASES["a small send buffer"]
    trips = (40_000, 40_000, *[60_000] * 9)
    samples = [s | {"rtt": trip} for s, trip in zip(samples, reversed(trips), strict=True)]
    advice = advise([limit_of(samples)], samples)
    assert advice.next_limitation == "receiver_window"
    assert advice.headroom_bps == pytest.approx(1_000_000 * 8 / 0.04)


def test_over_a_short_trip_no_window_is_promised():
    samples, _ = CASES["a small receive buffer"]
    for rtt, is_known in ((230, False), (40_000, True)):
        near = [sample | {"rtt": rtt, "min_rtt": rtt} for sample in samples]
        found = advise([limit_of(near)], near, window_max_bytes=6_000_000)
        assert (found.headroom_bps is not None) == is_known
        assert found.gain_unknown == (None if is_known else "host_before_window")


def test_a_full_path_promises_nothing():
    samples, _ = CASES["a queue"]
    advice = advise([limit_of(samples)], samples)
    assert advice.headroom_bps is None
    assert advice.gain_unknown == "only_this_link"
    assert "AQM" in advice.remedy


def test_a_rate_that_was_asked_for_and_kept_is_the_limit():
    samples = transfer(rate_bps=49e6, busy=0.9, unacked=0, notsent_bytes=0)
    found = advise([limit_of(samples)], samples, bitrate_bps=50e6)
    assert found.limitation == "application"
    kept = reached(found, samples, 50e6)
    assert (kept.word, kept.headroom_bps) == ("application/paced", None)
    assert "50.0 Mbit/s asked for (--bitrate), 49.0 Mbit/s reached" in kept.evidence
    assert reached(found, samples, 80e6) is found
