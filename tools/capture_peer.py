#!/usr/bin/env python3
"""One end of a TCP transfer with known limits: a sender or a receiver, reporting TCP_INFO.

`receive` prints one JSON line when the connection has ended; `send` prints one line per sample of
TCP_INFO and a last one with `"final": true`. Everything is bounded by --seconds.
"""

from __future__ import annotations

import argparse
import json
import socket
import struct
import time

# struct tcp_info of include/uapi/linux/tcp.h up to tcpi_snd_wnd; names without tcpi_.
TCP_INFO_FORMAT = "<8B24I4Q6I4Q2I2Q4I"
_NAMES = """
    state ca_state retransmits probes backoff options wscale flags
    rto ato snd_mss rcv_mss unacked sacked lost retrans fackets last_data_sent last_ack_sent
    last_data_recv last_ack_recv pmtu rcv_ssthresh rtt rttvar snd_ssthresh snd_cwnd advmss
    reordering rcv_rtt rcv_space total_retrans
    pacing_rate max_pacing_rate bytes_acked bytes_received
    segs_out segs_in notsent_bytes min_rtt data_segs_in data_segs_out
    delivery_rate busy_time rwnd_limited sndbuf_limited delivered delivered_ce
    bytes_sent bytes_retrans dsack_dups reord_seen rcv_ooopack snd_wnd
"""
TCP_INFO_FIELDS = _NAMES.split()
SAMPLE_EVERY_S = 0.1


def tcp_info(connection: socket.socket) -> dict[str, int]:
    """The kernel's view of a connection; times in microseconds as the kernel gives them."""
    size = struct.calcsize(TCP_INFO_FORMAT)
    raw = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, size)
    return dict(zip(TCP_INFO_FIELDS, struct.unpack(TCP_INFO_FORMAT, raw), strict=True))


def send(options: argparse.Namespace) -> None:
    """Connects and sends `--bytes` in all, `--write` bytes `--every` seconds."""
    peer = socket.create_connection((options.host, options.port), timeout=options.seconds)
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, options.cc.encode())
    begin = time.monotonic()
    end = begin + options.seconds
    next_write = next_sample = begin
    block = bytes(options.write)
    left = options.bytes
    while left > 0 and time.monotonic() < end:
        now = time.monotonic()
        if now < next_write:
            time.sleep(min(next_write - now, SAMPLE_EVERY_S))
        else:
            peer.settimeout(max(0.01, end - now))
            left -= peer.send(block[: min(left, len(block))])
            next_write += options.every
        if time.monotonic() >= next_sample:
            print(json.dumps(tcp_info(peer)), flush=True)
            next_sample += SAMPLE_EVERY_S
    finish(peer, max(1.0, end - time.monotonic()), begin)


def finish(peer: socket.socket, seconds: float, begin: float) -> None:
    """Closes the sending side, samples until the other side has closed too, and sums up."""
    peer.shutdown(socket.SHUT_WR)
    end = time.monotonic() + seconds
    peer.settimeout(SAMPLE_EVERY_S)
    while time.monotonic() < end:
        try:
            peer.recv(1)
            break
        except TimeoutError:
            print(json.dumps(tcp_info(peer)), flush=True)
    summary = tcp_info(peer) | {"final": True, "seconds": time.monotonic() - begin}
    print(json.dumps(summary), flush=True)
    peer.close()


def receive(options: argparse.Namespace) -> None:
    """Accepts one connection and reads it to its end, slowly with `--pause`."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, options.cc.encode())
    if options.rcvbuf:
        # Before listen(), so that the window scale of the SYN/ACK fits the buffer.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, options.rcvbuf)
    listener.bind(("", options.port))
    listener.listen(1)
    print("ready", flush=True)
    listener.settimeout(options.seconds)
    connection, _ = listener.accept()
    connection.settimeout(options.seconds)
    received = 0
    begin = time.monotonic()
    while block := connection.recv(options.read):
        received += len(block)
        if options.pause:
            time.sleep(options.pause)
    rcvbuf = connection.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
    seconds = time.monotonic() - begin
    print(json.dumps({"received": received, "seconds": seconds, "rcvbuf": rcvbuf}))
    connection.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=30.0, help="stop after this long")
    parser.add_argument("--cc", default="cubic", help="congestion control")
    roles = parser.add_subparsers(required=True)
    sender = roles.add_parser("send")
    sender.set_defaults(run=send)
    sender.add_argument("host")
    sender.add_argument("port", type=int)
    sender.add_argument("--bytes", type=int, required=True, help="bytes in all")
    sender.add_argument("--write", type=int, default=65536, help="bytes per write")
    sender.add_argument("--every", type=float, default=0.0, help="seconds between writes")
    receiver = roles.add_parser("receive")
    receiver.set_defaults(run=receive)
    receiver.add_argument("port", type=int)
    receiver.add_argument("--rcvbuf", type=int, default=0, help="SO_RCVBUF; 0 leaves autotuning")
    receiver.add_argument("--read", type=int, default=65536, help="bytes per read")
    receiver.add_argument("--pause", type=float, default=0.0, help="seconds after each read")
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
