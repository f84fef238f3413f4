"""Bytes that arrived, by direction, from the captures that the lab makes: Ethernet, IPv4, TCP."""

from __future__ import annotations

import socket
import struct
from pathlib import Path

Key = tuple[str, int, str, int]
"""Source address and port, destination address and port."""

HEADER_BYTES, RECORD_BYTES = 24, 16
ETHERNET_BYTES = 14


def passed(capture: Path) -> dict[Key, tuple[list[int], list[int]]]:
    """Give for each direction the times of its frames, and the bytes before each of them."""
    if not capture.exists():
        return {}
    data = capture.read_bytes()
    if data[:4] != b"\x4d\x3c\xb2\xa1":
        raise ValueError(f"{capture} is no little-endian pcap with nanoseconds")
    found: dict[Key, tuple[list[int], list[int]]] = {}
    at = HEADER_BYTES
    while at + RECORD_BYTES <= len(data):
        seconds, nanos, kept, length = struct.unpack_from("<IIII", data, at)
        at += RECORD_BYTES
        ip = at + ETHERNET_BYTES
        at += kept
        if data[ip] >> 4 != 4:
            continue
        tcp = ip + 4 * (data[ip] & 0xF)
        src, dst = (socket.inet_ntoa(data[ip + i : ip + i + 4]) for i in (12, 16))
        ports = struct.unpack_from(">HH", data, tcp)
        times, totals = found.setdefault((src, ports[0], dst, ports[1]), ([], [0]))
        times.append(seconds * 10**9 + nanos)
        totals.append(totals[-1] + length)
    return found
