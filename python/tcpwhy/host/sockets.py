"""Every TCP socket of this host, from the kernel's socket diagnostics (sock_diag(7)).

One request over netlink gives what `ss -ti` prints; it needs no privilege. Which process a socket
belongs to is found in /proc, where one's own processes can be seen.
"""

import os
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tcpwhy._core import TcpwhyError
from tcpwhy.host import tcpinfo

NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY = 4, 20
_NLM_F_REQUEST, _NLM_F_DUMP = 1, 0x300
_NLMSG_ERROR, _NLMSG_DONE = 2, 3
_INFO, _CONG, _SKMEMINFO = 2, 4, 7
_EXTENSIONS = 1 << (_INFO - 1) | 1 << (_CONG - 1) | 1 << (_SKMEMINFO - 1)
_TIME_WAIT, _LISTEN = 6, 10
STATES = 0xFFF & ~(1 << 0 | 1 << _TIME_WAIT | 1 << _LISTEN | 1 << 7)
"""All but listening sockets, those that are closed, and those that only wait."""

_HEADER = struct.Struct("=IHHII")
_MESSAGE = struct.Struct("!BBBB HH 16s 16s")
_REST = struct.Struct("=IQ IIIII")
_ATTRIBUTE = struct.Struct("=HH")


@dataclass(frozen=True)
class Socket:
    """A TCP socket at one instant."""

    cookie: int
    """Names it for as long as the host runs."""
    src: str
    src_port: int
    dst: str
    dst_port: int
    uid: int
    inode: int
    sample: dict[str, Any]
    """TCP_INFO, as `tcpwhy.active.limit` wants it."""


def snapshot() -> list[Socket]:
    """List the connected sockets of this network namespace with their TCP_INFO."""
    found: list[Socket] = []
    with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, NETLINK_SOCK_DIAG) as netlink:
        netlink.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 21)
        for family in (socket.AF_INET, socket.AF_INET6):
            now = time.monotonic()
            request = struct.pack("=BBBxI48x", family, socket.IPPROTO_TCP, _EXTENSIONS, STATES)
            flags = _NLM_F_REQUEST | _NLM_F_DUMP
            length = _HEADER.size + len(request)
            netlink.send(_HEADER.pack(length, SOCK_DIAG_BY_FAMILY, flags, family, 0) + request)
            found += (_socket_of(message, now) for message in _answers(netlink))
    return [one for one in found if one.sample["state"] is not None]


def _answers(netlink: socket.socket) -> Iterator[bytes]:
    """Give the messages up to the end of the list."""
    while True:
        data = netlink.recv(1 << 20)
        while data:
            length, kind, _, _, _ = _HEADER.unpack_from(data)
            body = data[_HEADER.size : length]
            if kind == _NLMSG_DONE:
                return
            if kind == _NLMSG_ERROR:
                (number,) = struct.unpack_from("=i", body)
                text = os.strerror(-number)
                raise TcpwhyError(f"socket diagnostics: {text}; is the module tcp_diag there?")
            yield body
            data = data[(length + 3) & ~3 :]


def _socket_of(message: bytes, now: float) -> Socket:
    """Take struct inet_diag_msg and what follows it apart (linux/inet_diag.h)."""
    family, _, _, _, src_port, dst_port, src, dst = _MESSAGE.unpack_from(message)
    rest = _REST.unpack_from(message, _MESSAGE.size)
    _, cookie, _, unread, queued, uid, inode = rest
    attributes = dict(_attributes(message[_MESSAGE.size + _REST.size :]))
    memory = attributes.get(_SKMEMINFO, b"")
    sizes = struct.unpack(f"={len(memory) // 4}I", memory) if len(memory) >= 24 else (None,) * 6
    raw = attributes.get(_INFO, b"")
    return Socket(
        cookie=cookie,
        src=_address(family, src),
        src_port=src_port,
        dst=_address(family, dst),
        dst_port=dst_port,
        uid=uid,
        inode=inode,
        sample={
            "at_s": now,
            "controller": attributes.get(_CONG, b"").split(b"\0")[0].decode(),
            "unread_bytes": unread,
            "written_bytes": queued,
            "rcvbuf_bytes": sizes[1],
            "sndbuf_bytes": sizes[3],
            "queued_bytes": sizes[5],
            **tcpinfo.decode(raw),
            "raw": raw,
        },
    )


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    while len(data) >= _ATTRIBUTE.size:
        length, kind = _ATTRIBUTE.unpack_from(data)
        if length < _ATTRIBUTE.size:
            return
        yield kind, data[_ATTRIBUTE.size : length]
        data = data[(length + 3) & ~3 :]


def _address(family: int, octets: bytes) -> str:
    if family == socket.AF_INET:
        return socket.inet_ntop(socket.AF_INET, octets[:4])
    return socket.inet_ntop(socket.AF_INET6, octets).removeprefix("::ffff:")


def owners() -> dict[int, tuple[int, str]]:
    """Find whose a socket is: process and program by inode, as far as /proc shows them."""
    found: dict[int, tuple[int, str]] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with suppress(OSError):
            name = (entry / "comm").read_text(encoding="utf-8", errors="replace").strip()
            for descriptor in (entry / "fd").iterdir():
                # A descriptor may be gone by now.
                with suppress(OSError):
                    target = str(descriptor.readlink())
                    if target.startswith("socket:["):
                        found[int(target[8:-1])] = (int(entry.name), name)
    return found
