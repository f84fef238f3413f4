"""A relay of the lab between two real sockets."""

import socket
import threading
import time
from contextlib import ExitStack

import pytest

from tcpwhy.lab.relay import relay
from tcpwhy.lab.workload import Clock

HELD_BYTES = 10_000


@pytest.fixture
def joined():
    """The outer ends of two connections, and what the relay between the inner ones did."""
    with ExitStack() as stack:
        left, taking = (stack.enter_context(one) for one in socket.socketpair())
        passing, right = (stack.enter_context(one) for one in socket.socketpair())
        clock = Clock(time.monotonic(), time.monotonic() + 20)
        deeds = []
        thread = threading.Thread(
            target=lambda: deeds.extend(relay(taking, passing, HELD_BYTES, clock)), daemon=True
        )
        thread.start()
        for end in (left, right):
            end.settimeout(10)
        yield left, right, thread, deeds


def drained(end: socket.socket) -> int:
    """Read to the end of a connection."""
    total = 0
    while part := end.recv(1 << 16):
        total += len(part)
    return total


def test_what_one_connection_brings_the_other_carries_on_with_its_close(joined):
    left, right, thread, deeds = joined
    left.sendall(bytes(100_000))
    left.shutdown(socket.SHUT_WR)
    assert drained(right) == 100_000
    right.sendall(b"answer")
    right.shutdown(socket.SHUT_WR)
    assert len(left.recv(100)) == len(b"answer")
    assert drained(left) == 0
    thread.join(5)
    assert not thread.is_alive()
    read, written = deeds
    assert (read.bytes, written.bytes) == (100_000, 100_000)
    assert read.closed
    assert written.closed


def test_it_holds_no_more_than_its_buffer(joined):
    left, right, thread, _ = joined
    left.setblocking(False)
    sent, begin = 0, time.monotonic()
    while time.monotonic() - begin < 0.5:
        try:
            sent += left.send(bytes(1 << 16))
        except BlockingIOError:
            time.sleep(0.01)
    buffers = sum(end.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) for end in (left, right))
    assert sent <= buffers + HELD_BYTES
    left.setblocking(True)
    left.shutdown(socket.SHUT_WR)
    assert drained(right) == sent
    right.shutdown(socket.SHUT_WR)
    thread.join(5)
    assert not thread.is_alive()
