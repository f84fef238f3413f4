"""Data connections: one thread writes or reads, the sampler looks on."""

import array
import contextlib
import fcntl
import socket
import struct
import termios
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tcpwhy.host import tcpinfo

SO_MAX_PACING_RATE, TCP_WINDOW_CLAMP, SO_MEMINFO = 47, 10, 55
BLOCK_BYTES = 1 << 17
"""What iperf3 writes at once, too."""
READ_BYTES = 1 << 18


@dataclass(frozen=True)
class Options:
    """What is set on a data connection; None leaves it to the kernel."""

    controller: str | None = None
    sndbuf_bytes: int | None = None
    rcvbuf_bytes: int | None = None
    window_clamp_bytes: int | None = None
    pace_bps: int | None = None
    mss: int | None = None
    nodelay: bool = False

    def apply(self, connection: socket.socket) -> None:
        """Set them; before the connection is opened, so that they hold from its SYN on."""
        tcp, base = socket.IPPROTO_TCP, socket.SOL_SOCKET
        if self.controller:
            _set_controller(connection, self.controller)
        if self.sndbuf_bytes:
            connection.setsockopt(base, socket.SO_SNDBUF, self.sndbuf_bytes)
        if self.rcvbuf_bytes:
            connection.setsockopt(base, socket.SO_RCVBUF, self.rcvbuf_bytes)
        if self.window_clamp_bytes:
            if not self.rcvbuf_bytes:
                # Autotuning would raise the clamp again; a fixed buffer ends autotuning.
                connection.setsockopt(base, socket.SO_RCVBUF, self.window_clamp_bytes)
            connection.setsockopt(tcp, TCP_WINDOW_CLAMP, self.window_clamp_bytes)
        if self.pace_bps:
            rate = struct.pack("=Q", self.pace_bps // 8)
            connection.setsockopt(base, SO_MAX_PACING_RATE, rate)
        if self.mss:
            connection.setsockopt(tcp, socket.TCP_MAXSEG, self.mss)
        # Else what Nagle's algorithm keeps back lets writes pass the buffer by (docs/lab.md).
        if self.nodelay or self.sndbuf_bytes:
            connection.setsockopt(tcp, socket.TCP_NODELAY, 1)


class Stream:
    """A data connection with what it has moved."""

    def __init__(self, connection: socket.socket, number: int, *, sends: bool) -> None:
        self.connection = connection
        self.number = number
        self.sends = sends
        self.bytes = 0
        self.calls = 0
        self.controller = controller_of(connection)
        self.sndbuf_is_fixed = False
        self.shares_path = False
        self.program: str | None = None
        """What it does: `eager` to write more, `done` with writing; None when it keeps a rate."""
        self._cpu_s = 0.0
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def start(
        self,
        *,
        bitrate_bps: float | None,
        block_bytes: int,
        read_bps: float | None,
        limit_bytes: int | None,
    ) -> None:
        """Begin to write, so many bytes at most, or to read."""
        self.program = "eager" if self.sends and not bitrate_bps else None

        def work() -> None:
            if self.sends:
                self._write(bitrate_bps, block_bytes, limit_bytes)
            else:
                self._read(read_bps)

        self._thread = threading.Thread(target=work, daemon=True)
        self._thread.start()

    def halt(self) -> None:
        """Have a writer write no more; a reader goes on."""
        if self.sends:
            self._stopped.set()

    def stop(self) -> None:
        """End writing or reading at once."""
        self._stopped.set()
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)
        if self._thread:
            self._thread.join(timeout=5)

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()

    def is_over(self) -> bool:
        """Say whether the thread has ended: the other side closed."""
        return self._thread is not None and not self._thread.is_alive()

    def _write(self, bitrate_bps: float | None, block_bytes: int, limit_bytes: int | None) -> None:
        block = memoryview(bytes(block_bytes))
        begin = time.monotonic()
        self.connection.settimeout(None)
        with contextlib.suppress(OSError):
            while not self._stopped.is_set():
                if bitrate_bps:
                    due = begin + self.bytes * 8 / bitrate_bps
                    if (wait := due - time.monotonic()) > 0 and self._stopped.wait(wait):
                        return
                if limit_bytes is not None:
                    block = block[: limit_bytes - self.bytes]
                    if not block:
                        # The connection stays open: its last bytes are to be acknowledged.
                        self.program = "done"
                        self._stopped.wait()
                        return
                self.bytes += self.connection.send(block)
                self.calls += 1
                self._cpu_s = time.thread_time()

    def _read(self, read_bps: float | None) -> None:
        # A slow reader reads little at a time: 10 ms worth, so that its rate is even.
        size = READ_BYTES if not read_bps else max(1024, min(READ_BYTES, int(read_bps / 800)))
        buffer = bytearray(size)
        begin = time.monotonic()
        self.connection.settimeout(None)
        with contextlib.suppress(OSError):
            while not self._stopped.is_set():
                if read_bps:
                    due = begin + self.bytes * 8 / read_bps
                    if (wait := due - time.monotonic()) > 0 and self._stopped.wait(wait):
                        return
                count = self.connection.recv_into(buffer)
                if not count:
                    return
                self.bytes += count
                self.calls += 1

    def sample(self, at_s: float) -> dict[str, Any] | None:
        """Take the kernel's view at this instant; None when the connection is gone."""
        taken = sample(self.connection, at_s, self.controller)
        own: dict[str, Any] = {"sndbuf_is_fixed": self.sndbuf_is_fixed, "program": self.program}
        own |= {"shares_path": self.shares_path, "path_bps": None, "writer_cpu_s": self._cpu_s}
        return taken and {**taken, **own}


def sample(connection: socket.socket, at_s: float, controller: str) -> dict[str, Any] | None:
    """Take the kernel's view of a socket of this process."""
    try:
        raw = tcpinfo.read(connection)
        memory = struct.unpack("=9I", connection.getsockopt(socket.SOL_SOCKET, SO_MEMINFO, 36))
        unread = array.array("i", [0])
        fcntl.ioctl(connection, termios.FIONREAD, unread)
    except OSError:
        return None
    return {
        "at_s": at_s,
        "wall_ns": time.time_ns(),
        "controller": controller,
        "rcvbuf_bytes": memory[1],
        "sndbuf_bytes": memory[3],
        "queued_bytes": memory[5],
        "unread_bytes": unread[0],
        **tcpinfo.decode(raw),
        "raw": raw,
    }


def _set_controller(connection: socket.socket, name: str) -> None:
    try:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
    except PermissionError as error:
        # tcp(7): without CAP_NET_ADMIN only some controllers may be chosen.
        sysctl = "tcp_allowed_congestion_control"
        allowed = Path(f"/proc/sys/net/ipv4/{sysctl}").read_text(encoding="ascii").strip()
        text = f"not without root: {name}; allowed are {allowed} (sysctl net.ipv4.{sysctl})"
        raise PermissionError(error.errno, text) from error


def controller_of(connection: socket.socket) -> str:
    """Name the congestion controller of a connection."""
    name = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
    return name.split(b"\0")[0].decode()
