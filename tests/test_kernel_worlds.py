"""Worlds on the kernel: what is adapted, and how clocks and the path's log become the truth."""

import struct
from pathlib import Path

import duckdb
import pytest

from kernel_worlds import adapted, clocks, frames, judged, path, plain
from tcpwhy.lab import scenario

MS = 1_000_000


def look(at_ms: int, **state: int) -> dict[str, int]:
    """Give a look at a sender that has more to send than cwnd lets it."""
    usual = {
        "wall_ns": at_ms * MS,
        "send_queue_bytes": 100_000,
        "unsent_bytes": 85_520,
        "snd_mss": 1448,
        "snd_cwnd": 10,
        "snd_ssthresh": 5,
        "snd_wnd": 1_000_000,
        "unacked": 10,
        "state": 1,
        "ca_state": 0,
        "retransmits": 0,
        "pacing_rate": 10**9,
        "sndbuf_limited": 0,
        "rtt": 20_000,
        "min_rtt": 10_000,
        "at_s": at_ms / 1e3,
        "sndbuf_bytes": 200_000,
        "wmem_queued_bytes": 110_000,
        "total_rto": 0,
        "bytes_acked": 0,
        "segs_out": 0,
    }
    return usual | state


CASES = [
    ("congestion_avoidance", {}, {}),
    ("slow_start", {"snd_ssthresh": 2**31 - 1}, {}),
    ("application", {"unsent_bytes": 0}, {}),
    ("receiver_window", {"snd_wnd": 15_000}, {}),
    ("recovery", {"ca_state": 3, "unsent_bytes": 0}, {}),
    ("recovery", {"ca_state": 4}, {}),
    ("timer", {"ca_state": 4, "retransmits": 2}, {}),
    ("closed", {"state": 6}, {}),
    ("cwnd_clamp", {}, {"cwnd_clamp_bytes": 14_480}),
    ("congestion_avoidance", {}, {"cwnd_clamp_bytes": 144_800}),
    ("socket_pacing", {"unacked": 4, "pacing_rate": 125_000}, {"pacing_rate_bps": 1_000_000}),
    ("nagle", {"send_queue_bytes": 5_100, "unsent_bytes": 700, "unacked": 4}, {}),
]


@pytest.mark.parametrize(("limit", "state", "tcp"), CASES)
def test_a_look_says_what_holds_a_sender_back(limit, state, tcp):
    assert clocks.limit(look(0, **state), False, tcp) == limit


SENT, PIECE = {"unsent_bytes": 0}, {"send_queue_bytes": 5_100, "unsent_bytes": 700, "unacked": 4}


@pytest.mark.parametrize(
    ("is_refused", "state", "limit"),
    [
        (True, SENT, "send_buffer"),
        (True, PIECE, "send_buffer"),
        (True, PIECE | {"snd_wnd": 5_000}, "receiver_window"),
        (False, SENT, "application"),
    ],
)
def test_a_writer_that_is_refused_waits_for_the_buffer(is_refused, state, limit):
    assert clocks.limit(look(0, **state), is_refused, {}) == limit


def test_no_writer_is_woken_before_half_of_what_waits_is_free():
    assert not clocks.is_short_of_room(look(0, wmem_queued_bytes=133_000))
    assert clocks.is_short_of_room(look(0, wmem_queued_bytes=134_000))


@pytest.mark.parametrize(
    ("program", "end", "expected"),
    [
        ({"bulk": {}}, 0, [True, True, True]),
        ({"bulk": {}}, 1, [False, False, False]),
        ({"chunks": {"chunk_bytes": 150_000, "interval_ms": 20}}, 0, [True, False, True]),
        ({"request_response": {"request_bytes": 9, "response_bytes": 100_000}}, 1, [False] * 3),
        ({"request_response": {"request_bytes": 9, "response_bytes": 70_000}}, 1, [True] * 3),
        ({"relay": {}}, 0, [False, False, False]),
        (
            {"phases": {"list": [{"for_s": 0.005, "workload": {"bulk": {}}}]}},
            0,
            [True, False, False],
        ),
    ],
)
def test_what_a_program_still_has_to_write(program, end, expected):
    """After 100 kB written, then 150 kB of 150, then 200 kB of 300."""
    looks = [look(0), look(10, bytes_acked=50_000), look(20, bytes_acked=100_000)]
    if "request_response" in program:
        looks = [look(at) for at in (0, 10, 20)]
    assert list(clocks.waits_to_write(looks, program, end)) == expected


def test_both_windows_are_full_where_a_larger_one_would_gain_less_than_a_segment():
    full = SENT | {"snd_wnd": 100_500}
    assert clocks.both_full(look(0, **full), True, {})
    assert not clocks.both_full(look(0, **full), False, {})
    assert clocks.both_full(look(0, **full), False, {"cwnd_clamp_bytes": 101_000})
    assert not clocks.both_full(look(0, **SENT), True, {})


BBR = {"controller": "bbr1", "cwnd_clamp_bytes": 150_000}
NEAR = {"snd_cwnd": 200, "unacked": 95, "send_queue_bytes": 300_000, "unsent_bytes": 162_440}
"""Of 150,000 bytes, 137,560 are in flight, and cwnd would let more go."""
FAR = NEAR | {"unsent_bytes": 172_000}


@pytest.mark.parametrize(
    ("looks", "expected"),
    [
        ([NEAR] * 11, {"congestion_avoidance": 0.1}),
        (
            [NEAR | {"snd_wnd": 138_000}, *[NEAR | {"snd_wnd": 150_000}] * 10],
            {"receiver_window": 0.1, "paced_at_window": 0.09},
        ),
        (
            [NEAR | {"snd_cwnd": 100, "unacked": 100}, *[NEAR] * 10],
            {"cwnd_clamp": 0.1, "paced_at_window": 0.09},
        ),
        (
            [NEAR | {"snd_cwnd": 100, "unacked": 100}, *[FAR] * 10],
            {"cwnd_clamp": 0.01, "congestion_avoidance": 0.09},
        ),
    ],
)
def test_who_paces_at_the_rate_of_a_window_that_is_nearly_full_is_held_by_it(looks, expected):
    rows = [look(10 * number, **state) for number, state in enumerate(looks)]
    held = clocks.Clock(rows, BBR, QUIET, 0).between(0, 100 * MS)
    assert {name: s for name, s in held.time_s.items() if s} == pytest.approx(expected)


QUIET = {"fixed_size": {"bytes": 1}}
"""A program that has nothing more to write."""


def test_time_is_shared_out_and_a_full_buffer_is_no_idle_program():
    idle = {"unsent_bytes": 0}
    looks = [look(at, **(idle if at < 60 else {})) for at in range(0, 101, 10)]
    for number, one in enumerate(looks):
        one["sndbuf_limited"] = min(number, 4) * 5_000
    time_s, srtt_s, inflation = clocks.Clock(looks, {}, QUIET, 0).between(0, 100 * MS)
    assert (srtt_s, inflation) == (0.02, 2.0)
    assert time_s == pytest.approx(
        {"application": 0.04, "send_buffer": 0.02, "congestion_avoidance": 0.04}
    )


def test_a_sampler_that_was_away_leaves_the_time_out():
    looks = [look(0), look(10), look(600), look(610)]
    time_s = clocks.Clock(looks, {}, QUIET, 0).between(0, 1_000 * MS).time_s
    assert sum(time_s.values()) == pytest.approx(0.02)


def test_the_wait_before_a_timeout_is_the_timers():
    looks = [look(at, segs_out=min(at, 30)) for at in range(0, 101, 10)]
    looks[-1] |= {"total_rto": 1, "ca_state": 4}
    time_s = clocks.Clock(looks, {}, QUIET, 0).between(0, 100 * MS).time_s
    assert time_s == pytest.approx({"congestion_avoidance": 0.03, "timer": 0.07, **ZERO})


ZERO = {"application": 0.0, "send_buffer": 0.0}


def test_a_world_becomes_one_that_linux_can_run(tmp_path):
    named = {"sine", "Gbit/s", "controller fixed", "without SACK"}
    runs = 0
    for seed in range(800_000, 800_040):
        file = tmp_path / "world.toml"
        file.write_text(adapted.text(seed))
        obstacles = list(scenario.load(file).obstacles())
        assert all(any(word in why for word in named) for why in obstacles), (seed, obstacles)
        runs += not obstacles
    assert runs >= 30


def write(folder: Path, table: str, values: str) -> None:
    """Write a table of the emulator."""
    duckdb.sql(f"COPY (FROM (VALUES {values})) TO '{folder / table}.parquet'")


def test_the_path_says_how_busy_links_were_and_with_whose_bytes(tmp_path):
    looks = ", ".join(
        f"('near/forward', 0, {at * MS}, {at * MS // 2}, {at * 100})" for at in range(0, 1001, 10)
    )
    write(tmp_path, "queues", f"{looks}) AS t(link, element, at_ns, busy_ns, sent_bytes")
    drops = "(0, 500000000, 'drop', 'policed'), (0, 100000000, 'drop', 'policed'), "
    drops += "(1, 500000000, 'drop', 'queue_full'), (0, 600000000, 'mark', 'codel')"
    write(tmp_path, "events", f"{drops}) AS t(half, at_ns, action, reason")
    paths = path.Paths(tmp_path, {0: ["near/forward"], 1: ["near/backward"], 2: ["near/forward"]})
    ((busy, others),) = paths.servers(0, 405 * MS, 805 * MS, own_bytes=30_000)
    assert busy == pytest.approx(0.5)
    assert others == pytest.approx(0.25)
    assert paths.servers(1, 405 * MS, 805 * MS, 0) == []
    now, before = paths.events(0, 405 * MS, 805 * MS)
    assert sorted(now) == [("drop", "policed", 1), ("mark", "codel", 1)]
    assert before == [("drop", "policed", 1)]
    paths.routes = {0: ["near/forward"]}
    assert paths.servers(0, 405 * MS, 805 * MS, own_bytes=30_000) == [(pytest.approx(0.5), 0.0)]


def test_frames_are_counted_by_direction(tmp_path):
    ip = bytes([0x45]) + bytes(11) + bytes([10, 0, 0, 1]) + bytes([10, 0, 0, 2])
    frame = bytes(14) + ip + struct.pack(">HH", 4000, 80)
    record = struct.pack("<IIII", 7, 5, len(frame), 1514) + frame
    file = tmp_path / "D.pcap"
    file.write_bytes(b"\x4d\x3c\xb2\xa1" + bytes(20) + 2 * record)
    expected = {("10.0.0.1", 4000, "10.0.0.2", 80): ([7 * 10**9 + 5] * 2, [0, 1514, 3028])}
    assert frames.passed(file) == expected
    assert frames.passed(tmp_path / "none.pcap") == {}


def test_plain_cases_are_of_each_limit_in_turn_and_only_judge(tmp_path):
    path = tmp_path / "case.toml"
    texts = set()
    for seed in range(plain.FIRST, plain.FIRST + 2 * len(plain.FAMILIES)):
        path.write_text(plain.text(seed))
        case = scenario.load(path)
        assert len(case.flows) == 1 or plain.family(seed) == "shared"
        assert judged.purpose(seed) == "judge"
        assert plain.text(seed) == path.read_text()
        texts.add(path.read_text())
    assert len(texts) == 2 * len(plain.FAMILIES)
    assert len({plain.family(seed) for seed in range(10)}) == len(plain.FAMILIES)
