"""Makes small captures: a TCP transfer in Ethernet frames, in a pcap file."""

import struct
from collections.abc import Iterator
from functools import partial
from pathlib import Path

FIN, SYN, ACK = 0x01, 0x02, 0x10

MAGIC_NS = 0xA1B23C4D
"""Magic number of a pcap file with times in ns."""

SECOND = 10**9
START = 1_700_000_000 * SECOND
MSS = 1000


def frame(
    sender: int,
    port: int,
    flags: int,
    seq: int,
    ack: int,
    size: int,
    window: int,
    *,
    mss: int = MSS,
    timestamps: bool = False,
    ip_id: int = 1,
    server: int = 2,
) -> bytes:
    """Make a frame from 10.0.0.1 (sender 0, the given port) or 10.0.0.2 (sender 1, port 80).

    With another `server` that is the end of its address.
    """
    ports = (port, 80) if sender == 0 else (80, port)
    options = struct.pack(">BBH", 2, 4, mss) if flags & SYN else b""
    options += struct.pack(">BBBBII", 1, 1, 8, 10, 1, 0) if timestamps else b""
    offset = (20 + len(options)) // 4 << 4
    tcp = struct.pack(">HHIIBBHHH", *ports, seq, ack, offset, flags, window, 0, 0) + options
    hosts = bytes([10, 0, 0, 1]), bytes([10, 0, 0, server])
    addresses = hosts if sender == 0 else hosts[::-1]
    length = 20 + len(tcp) + size
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, length, ip_id, 0, 64, 6, 0, *addresses)
    return bytes(12) + b"\x08\x00" + ip + tcp + bytes(size)


def transfer(
    segments: int = 400,
    *,
    port: int = 40000,
    start: int = START,
    rtt: int = SECOND // 50,
    server: int = 2,
) -> Iterator[tuple[int, bytes]]:
    """Send segments from 10.0.0.1 to 10.0.0.2, ten a round trip, seen at the sender."""
    send = partial(frame, server=server)
    time = start
    yield time, send(0, port, SYN, 999, 0, 0, 65535)
    yield time + rtt, send(1, port, SYN | ACK, 4999, 1000, 0, 10 * MSS)
    time += rtt + 1000
    yield time, send(0, port, ACK, 1000, 5000, 0, 65535)
    sent = 0
    while sent < segments:
        burst = min(10, segments - sent)
        for number in range(burst):
            seq = 1000 + (sent + number) * MSS
            yield time + number * 10_000, send(0, port, ACK, seq, 5000, MSS, 65535)
        sent += burst
        for number in range(2, burst + 1, 2):
            ack = 1000 + (sent - burst + number) * MSS
            yield time + rtt + number * 10_000, send(1, port, ACK, 5000, ack, 0, 10 * MSS)
        time += rtt + 200_000
    end = 1000 + sent * MSS
    yield time, send(0, port, FIN | ACK, end, 5000, 0, 65535)
    yield time + rtt, send(1, port, FIN | ACK, 5000, end + 1, 0, 10 * MSS)
    yield time + rtt + 1000, send(0, port, ACK, end + 1, 5001, 0, 65535)


def head(linktype: int = 1) -> bytes:
    """Make the head of a pcap file."""
    return struct.pack("<IHHiIII", MAGIC_NS, 2, 4, 0, 0, 65535, linktype)


def record(time: int, data: bytes) -> bytes:
    """Make the record of a frame."""
    return struct.pack("<IIII", *divmod(time, SECOND), len(data), len(data)) + data


def pcap(frames: Iterator[tuple[int, bytes]]) -> bytes:
    """Make a pcap file."""
    return head() + b"".join(record(time, data) for time, data in frames)


def write_transfer(path: Path, segments: int = 400, **options: int) -> Path:
    """Write a capture of one transfer."""
    path.write_bytes(pcap(transfer(segments, **options)))
    return path
