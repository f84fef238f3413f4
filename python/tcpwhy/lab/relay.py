"""A program between two connections of a host: what one of them brings, the other one carries on.

RFC 3135 section 3.1.2 calls it a split connection. Each direction holds a bounded number of bytes;
a close is passed on when nothing is held any more.
"""

import select
import socket

from tcpwhy.lab.workload import BLOCK, READ_BYTES, Clock, Deeds


def relay(
    taking: socket.socket, passing: socket.socket, buffer_bytes: int, clock: Clock
) -> tuple[Deeds, Deeds]:
    """Join two connections until both directions are closed or the run ends.

    The first result says what was read at `taking`, the second what was written at `passing`.
    """
    along = _Way(taking, passing, buffer_bytes)
    back = _Way(passing, taking, buffer_bytes)
    for connection in (taking, passing):
        connection.setblocking(False)
    while (now := clock.now()) < clock.end and not (along.is_over and back.is_over):
        # Both directions move, whatever the first one did.
        if along.move() | back.move():
            continue
        _await((along, back), clock.end - now)
        waited_s = clock.now() - now
        along.written.blocked_s += waited_s if along.held_bytes else 0.0
        along.read.blocked_s += 0.0 if along.held_bytes else waited_s
    return along.read, along.written


class _Way:
    """One direction. What is held are counts: the lab's programs write zeros."""

    def __init__(self, source: socket.socket, target: socket.socket, buffer_bytes: int) -> None:
        self.source, self.target = source, target
        self.buffer_bytes = buffer_bytes
        self.held_bytes = 0
        self.read, self.written = Deeds(), Deeds()
        self._buffer = memoryview(bytearray(READ_BYTES))

    @property
    def is_over(self) -> bool:
        """Whether the close was passed on."""
        return self.written.closed

    @property
    def reads(self) -> bool:
        """Whether it would take more."""
        return self.held_bytes < self.buffer_bytes and not self.read.closed

    def move(self) -> bool:
        """Read and write once, as far as can be. Say whether anything moved."""
        if self.is_over:
            return False
        has_moved = (self.reads and self._read()) | (self.held_bytes > 0 and self._write())
        if self.read.closed and not self.held_bytes:
            self.target.shutdown(socket.SHUT_WR)
            self.written.closed = True
        return has_moved

    def _read(self) -> bool:
        room = min(self.buffer_bytes - self.held_bytes, READ_BYTES)
        try:
            count = self.source.recv_into(self._buffer, room)
        except BlockingIOError:
            return False
        self.read.bytes += count
        self.read.calls += 1
        self.read.closed = count == 0
        self.held_bytes += count
        return True

    def _write(self) -> bool:
        try:
            count = self.target.send(memoryview(BLOCK)[: self.held_bytes])
        except BlockingIOError:
            return False
        self.written.bytes += count
        self.written.calls += 1
        self.held_bytes -= count
        return True


def _await(ways: tuple[_Way, _Way], seconds: float) -> None:
    """Wait until one of the directions can move."""
    wanted: dict[socket.socket, int] = {}
    for way in ways:
        if way.reads:
            wanted[way.source] = wanted.get(way.source, 0) | select.POLLIN
        if way.held_bytes:
            wanted[way.target] = wanted.get(way.target, 0) | select.POLLOUT
    poll = select.poll()
    for connection, events in wanted.items():
        poll.register(connection, events)
    poll.poll(max(1.0, seconds * 1e3))
