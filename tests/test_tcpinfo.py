"""TCP_INFO: the layout against the kernel's own, ends that are missing or new."""

import socket
import struct

import pytest

from tcpwhy.host import tcpinfo


def connected():
    listener = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(listener.getsockname())
    server, _ = listener.accept()
    listener.close()
    return client, server


def test_offsets_are_those_of_the_header():
    # Checked by hand against include/uapi/linux/tcp.h.
    known = {"rto": 8, "rtt": 68, "snd_cwnd": 80, "total_retrans": 100, "pacing_rate": 104}
    known |= {"bytes_acked": 120, "min_rtt": 148, "delivery_rate": 160, "busy_time": 168}
    known |= {"rwnd_limited": 176, "sndbuf_limited": 184, "delivered": 192, "bytes_sent": 200}
    known |= {"snd_wnd": 228, "rcv_wnd": 232, "total_rto": 240, "accecn_opt_seen": 278}
    offsets = {field.name: field.offset for field in tcpinfo.FIELDS}
    assert {name: offsets[name] for name in known} == known


def test_a_live_connection_makes_sense():
    client, server = connected()
    with client, server:
        client.sendall(bytes(5000))
        assert len(server.recv(5000, socket.MSG_WAITALL)) == 5000
        info = tcpinfo.decode(tcpinfo.read(client))
        peer = tcpinfo.decode(tcpinfo.read(server))
    assert tcpinfo.STATES[info["state"]] == "ESTABLISHED"
    # One more than the payload: the SYN.
    assert info["bytes_acked"] in (5000, 5001)
    assert peer["bytes_received"] == 5000
    assert info["snd_wscale"] == peer["rcv_wscale"]
    assert 0 < info["rtt"] < 1e6


@pytest.mark.parametrize("length", [0, 1, 8, 104, 191, 232])
def test_an_older_kernel_leaves_the_rest_unknown(length):
    info = tcpinfo.decode(bytes(length))
    for name, offset, format in tcpinfo.FIELDS:
        if name in info:
            known = offset + struct.calcsize(format) <= length
            assert (info[name] is not None) == known, name


def test_a_newer_kernel_does_no_harm():
    raw = bytes(range(256)) * 2
    assert tcpinfo.decode(raw + b"what is yet to come") == tcpinfo.decode(raw)


def test_64_bit_counters_do_not_wrap():
    raw = bytearray(280)
    struct.pack_into("=Q", raw, 168, 3_000_000_000_000)
    assert tcpinfo.decode(bytes(raw))["busy_time"] == 3_000_000_000_000
