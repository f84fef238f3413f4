"""From scenario files to the kernel: what each setting becomes, and what has no counterpart."""

import socket
import struct
import time
from pathlib import Path

import pytest

from tcpwhy.lab import settings, workload
from tcpwhy.lab.scenario import Expect, load
from tcpwhy.lab.workload import Clock, emissions, ticks

TCP = socket.IPPROTO_TCP
SCENARIOS = Path(__file__).parent / "system" / "lab"


def test_socket_options():
    chosen = settings.options(
        {"controller": "bbr1", "pacing_rate_bps": 8_000_000, "nagle": "off", "mss": 1000}
    )
    assert (TCP, socket.TCP_CONGESTION, b"bbr") in chosen
    assert (TCP, socket.TCP_NODELAY, 1) in chosen
    assert (TCP, socket.TCP_MAXSEG, 1000) in chosen
    rate = struct.pack("=Q", 1_000_000)
    assert (socket.SOL_SOCKET, settings.SO_MAX_PACING_RATE, rate) in chosen


def test_a_window_clamp_brings_a_fixed_buffer_along():
    """Else autotuning raises it again."""
    names = [name for _, name, _ in settings.options({"window_clamp_bytes": 20_000})]
    assert settings.SO_RCVBUFFORCE in names
    assert settings.TCP_WINDOW_CLAMP in names


def test_a_send_buffer_is_one_only_without_nagle():
    chosen = settings.options({"send_buffer_bytes": 65_536, "nagle": "off"})
    assert chosen.count((TCP, socket.TCP_NODELAY, 1)) == 1
    # The kernel doubles it; 65,536 bytes of data take 30 % more memory than that.
    assert (socket.SOL_SOCKET, settings.SO_SNDBUFFORCE, 42_598) in chosen


def test_a_receive_buffer_is_as_large_as_the_window_it_is_to_give():
    [(_, _, size)] = settings.options({"receive_buffer_bytes": 131_072, "controller": "bbr3"})
    # Linux advertises 170/256 of twice as much.
    assert 2 * size * 170 / 256 == pytest.approx(131_072, abs=2)


def test_fast_open_is_for_clients_and_listeners():
    names = [name for _, name, _ in settings.options({"fast_open": True})]
    assert {settings.TCP_FASTOPEN, settings.TCP_FASTOPEN_CONNECT} <= set(names)
    assert settings.host({"fast_open": True}).sysctls["net.ipv4.tcp_fastopen"] == "3"
    assert not settings.host({}).sysctls


def test_writes_are_smaller_than_the_send_buffer():
    """One write may pass the buffer by, and would be the limit in its place."""
    assert workload.write_bytes_most(32_768) == 8_192
    assert workload.write_bytes_most(10_000_000) == len(workload.BLOCK)
    assert workload.write_bytes_most(None) == len(workload.BLOCK)


def test_a_cwnd_clamp_is_a_locked_route_that_needs_a_warm_up():
    wanted = settings.host({"cwnd_clamp_bytes": 28_960})
    assert wanted.route == {"cwnd": "lock 20"}
    assert wanted.warm_up


@pytest.mark.parametrize(
    ("tcp", "names"),
    [
        ({}, []),
        ({"controller": "cubic", "ecn": True, "sack": False, "recovery": "newreno"}, []),
        ({"controller": "bbr3"}, ["controller bbr3"]),
        ({"profile": "classic"}, ["profile"]),
        ({"recovery": "reno"}, ["recovery reno with SACK"]),
        ({"rto_max_ms": 60_000}, ["rto_max_ms"]),
    ],
)
def test_what_linux_lacks_is_named(tcp, names):
    assert list(settings.without_counterpart(tcp)) == names


def test_a_scenario_is_taken_apart():
    one = load(SCENARIOS / "clamp.toml")
    # Numbered in the order of the names, as in the simulator.
    assert one.hosts == {"D": "10.0.0.1", "S": "10.0.0.2"}
    [flow] = one.flows
    assert (flow.hosts, flow.ports, flow.opener) == (("S", "D"), (40_000, 5001), 0)
    assert one.round_trip_ms == 40
    assert not one.offload
    assert list(one.obstacles()) == []


def test_an_answer_as_right_is_right():
    expect = Expect(0, False, 0, 1, "sender_window", "sender_window/cwnd_clamp", ("mixed",))
    assert expect.admits("sender_window", None)
    assert expect.admits("mixed", None)
    assert not expect.admits("transport", "transport/slow_start")
    assert not expect.admits(None, None)


def test_writes_come_at_their_times():
    phases = {
        "phases": {
            "list": [
                {"for_s": 1, "workload": {"paced": {"rate_bps": 80_000, "write_bytes": 5000}}},
                {"for_s": 2, "workload": {"chunks": {"chunk_bytes": 7, "interval_ms": 1000}}},
            ]
        }
    }
    inf = float("inf")
    expected = [(0, 5000), (0.5, 5000), (1, -inf), (1, 7), (2, 7), (3, -inf)]
    assert [tick[:2] for tick in ticks(phases, 0, 10)] == expected
    assert list(ticks({"fixed_size": {"bytes": 9}}, 2, 10)) == [(2, 9, None)]
    assert list(ticks({"bulk": {}}, 0, 10)) == [(0, inf, None)]
    assert list(ticks({"bulk": {"write_bytes": 8192}}, 0, 10)) == [(0, inf, 8192)]


def test_a_program_writes_as_much_at_once_as_it_says():
    # Each message is one write.
    writer, reader = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with writer, reader:
        now = time.monotonic()
        clock = Clock(now, now + 0.1)
        workload.write(writer, {"bulk": {"write_bytes": 3000}}, clock)
        sizes = {len(reader.recv(1 << 17)) for _ in range(3)}
    assert sizes == {3000}


def test_datagrams_come_at_their_rate():
    on_off = {"on_off": {"rate_pps": 10, "on_ms": 200, "off_ms": 800}}
    times = emissions(on_off, 1, 2)
    assert list(times[:4]) == pytest.approx([0, 0.1, 1.0, 1.1])
    poisson = emissions({"poisson": {"rate_pps": 100}}, 1, 10)
    assert 900 < len(poisson) < 1100
    assert poisson == emissions({"poisson": {"rate_pps": 100}}, 1, 10)
