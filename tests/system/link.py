"""A link between two network namespaces of our own, frames put on it, and who watches it."""

import contextlib
import ctypes
import fcntl
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import tcpwhy as api

NEAR, FAR = "twnear", "twfar"
"""The ends: frames are put on `FAR`, `NEAR` is watched."""

NEAR2, FAR2 = "twnear2", "twfar2"
"""Those of a second pair."""


class Link:
    """Two namespaces; frames can be sent from either end."""

    def __init__(self, near: str, far: str) -> None:
        self.near, self.far = near, far

    def command(self, *arguments: object) -> list[str]:
        """Give the command that runs `arguments` where the link is watched."""
        return ["ip", "netns", "exec", self.near, *map(str, arguments)]

    def python(self, *arguments: object) -> list[str]:
        """Give the command that runs this Python there."""
        return self.command(sys.executable, *arguments)

    def set(self, *arguments: str) -> None:
        """Change the end that is watched: `ip link set`."""
        _ip("-n", self.near, "link", "set", NEAR, *arguments)

    def second(self) -> None:
        """Join the namespaces by another veth pair, `NEAR2` and `FAR2`."""
        ends = ("netns", self.near, "type", "veth", "peer", "name", FAR2, "netns", self.far)
        _ip("link", "add", NEAR2, *ends)
        for name, interface in ((self.near, NEAR2), (self.far, FAR2)):
            with _inside(name):
                Path(f"/proc/sys/net/ipv6/conf/{interface}/disable_ipv6").write_text("1")
            _ip("-n", name, "link", "set", interface, "up")

    def bridge(self) -> None:
        """Pass frames from one pair to the other where they are watched."""
        made = subprocess.run(
            ["ip", "-n", self.near, "link", "add", "twbridge", "type", "bridge"],
            capture_output=True,
            text=True,
        )
        if made.returncode:
            pytest.skip(f"no bridge can be made: {made.stderr.strip()}")
        for interface in (NEAR, NEAR2):
            _ip("-n", self.near, "link", "set", interface, "master", "twbridge")
        with _inside(self.near):
            Path("/proc/sys/net/ipv6/conf/twbridge/disable_ipv6").write_text("1")
        _ip("-n", self.near, "link", "set", "twbridge", "up")

    def delete(self) -> None:
        """Take the link away."""
        _ip("-n", self.near, "link", "del", NEAR)

    def send(
        self, frames: Sequence[bytes], *, from_near: bool = False, over: str = "twfar"
    ) -> None:
        """Put frames on the link, in order; from the far end over this interface."""
        name, interface = (self.near, NEAR) if from_near else (self.far, over)
        with _inside(name), socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as sender:
            sender.bind((interface, 0))
            for frame in frames:
                sender.send(frame)

    def replay(self, frames: Sequence[tuple[float, bytes]]) -> None:
        """Put frames on the link from the far end, each at its time in seconds."""
        (first, _), began = frames[0], time.monotonic()
        with _inside(self.far), socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as sender:
            sender.bind((FAR, 0))
            for at, frame in frames:
                due = began + at - first
                while (ahead := due - time.monotonic()) > 0:
                    # A sleep takes 0.1 ms longer than it should.
                    time.sleep(max(ahead - 0.0002, 0))
                sender.send(frame)


ADDRESSES = {NEAR: "10.77.0.1", FAR: "10.77.0.2"}


@contextmanager
def link(*, queues: int = 1, taps: bool = False) -> Iterator[Link]:
    """Make a link, or skip the test where that is not possible.

    It is a veth pair with so many queues each way, or two taps with a program between them.
    """
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("network namespaces need root and iproute2")
    tag = uuid.uuid4().hex[:8]
    near, far = f"tcpwhy-near-{tag}", f"tcpwhy-far-{tag}"
    try:
        for name in (near, far):
            made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
            if made.returncode:
                pytest.skip(f"no network namespace can be made: {made.stderr.strip()}")
        joined = _taps(near, far) if taps else _veth(near, far, queues)
        for name, interface in ((near, NEAR), (far, FAR)):
            # The kernel's own chatter (router solicitations) is none of the test's packets.
            with _inside(name):
                Path(f"/proc/sys/net/ipv6/conf/{interface}/disable_ipv6").write_text("1")
            _ip("-n", name, "link", "set", interface, "up")
            _ip("-n", name, "address", "add", f"{ADDRESSES[interface]}/24", "dev", interface)
        with joined:
            yield Link(near, far)
    finally:
        for name in (near, far):
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


@contextmanager
def watching(link: Link, *arguments: object, end: int = signal.SIGINT, code: int = 130):
    """Run monitor until the frames that were sent have come; give its standard error."""
    command = ["-m", "tcpwhy", "monitor", NEAR, *arguments]
    with started(link.python(*command), "watching") as (process, said):
        yield said
        time.sleep(0.2)
        process.send_signal(end)
        said.append(process.communicate(timeout=60)[1])
        assert process.returncode == code, said


@contextmanager
def started(command: Sequence[object], sign: str):
    """Start a program and wait until it says on standard error that it is ready."""
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        line = process.stderr.readline()
        assert sign in line, line + process.stderr.read()
        yield process, [line]
    finally:
        process.kill()
        process.communicate()


PLACES = ("first_frame", "source", "stream")
"""A worker knows the number of a frame in its own ring only, and no number of a connection."""

ADDED = ("date", "start_time", "end_time")
"""Columns of a store for people."""


def rows(connection, table: str, *, without: Sequence[str] = ()) -> list[tuple]:
    """Give all rows without places, which a live run has its own of, and what a store adds."""
    columns = [name for name, *_ in connection.execute(f"DESCRIBE {table}").fetchall()]
    chosen = ", ".join(c for c in columns if c not in (*PLACES, *ADDED, *without))
    return sorted(connection.execute(f"SELECT {chosen} FROM {table}").fetchall(), key=repr)


def read_as_a_link(file: Path, tables: Sequence[str], *, interval: str) -> Any:
    """Analyse a capture as a link would be: no interval waits for those that follow.

    What is sure by itself must be the same where the file is read as a file.
    """
    at_once = api.analyze(file, table=tables, interval=interval, pace=100.0).to_duckdb()
    waited = api.analyze(file, table=tables, interval=interval).to_duckdb()
    sure = "SELECT flow_id, direction, start_ns, cause FROM intervals WHERE confidence = 'high'"
    sure_at_once = set(at_once.execute(sure).fetchall())
    assert sure_at_once <= set(waited.execute(sure).fetchall())
    same = "SELECT flow_id, direction, start_ns, end_ns, data_packets FROM intervals"
    assert sorted(at_once.execute(same).fetchall()) == sorted(waited.execute(same).fetchall())
    return at_once


def transfer(link: Link, sizes: Sequence[int], *, pause_s: float = 0.0) -> None:
    """Send so many bytes over a connection each, by the kernel's TCP, and half as many back."""
    with _inside(link.far):
        server = socket.create_server((ADDRESSES[FAR], 5001), backlog=64)
    server.settimeout(30)

    def serve() -> None:
        for size in sizes:
            connection, _ = server.accept()
            with connection:
                while connection.recv(1 << 16):
                    pass
                connection.sendall(bytes(size // 2))

    thread = threading.Thread(target=serve)
    thread.start()
    with server:
        for size in sizes:
            with _inside(link.near):
                client = socket.create_connection((ADDRESSES[FAR], 5001), timeout=30)
            with client:
                client.sendall(bytes(size))
                client.shutdown(socket.SHUT_WR)
                while client.recv(1 << 16):
                    pass
            time.sleep(pause_s)
        thread.join()


def _veth(near: str, far: str, queues: int):
    many = ["numrxqueues", str(queues), "numtxqueues", str(queues)] if queues > 1 else []
    one = ["link", "add", NEAR, "netns", near, *many]
    _ip(*one, "type", "veth", "peer", "name", FAR, "netns", far, *many)
    return contextlib.nullcontext()


@contextmanager
def _joined(ends: Sequence[int]) -> Iterator[None]:
    """Carry frames between two taps."""
    over = threading.Event()

    def carry() -> None:
        while not over.is_set():
            for end in select.select(ends, [], [], 0.05)[0]:
                other = ends[1 - ends.index(end)]
                os.write(other, os.read(end, 1 << 16))

    thread = threading.Thread(target=carry)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        for end in ends:
            os.close(end)


def _taps(near: str, far: str):
    if not Path("/dev/net/tun").exists():
        pytest.skip("taps need /dev/net/tun")
    ends = []
    for name, interface in ((near, NEAR), (far, FAR)):
        with _inside(name):
            end = os.open("/dev/net/tun", os.O_RDWR)
            # TUNSETIFF with IFF_TAP and IFF_NO_PI of linux/if_tun.h.
            fcntl.ioctl(end, 0x400454CA, struct.pack("16sH22x", interface.encode(), 0x1002))
        ends.append(end)
    return _joined(ends)


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@contextmanager
def _inside(name: str) -> Iterator[None]:
    """Move this thread into a namespace for a while."""
    libc = ctypes.CDLL(None, use_errno=True)
    with Path("/proc/thread-self/ns/net").open() as home, Path("/run/netns", name).open() as there:
        try:
            if libc.setns(there.fileno(), 0):
                raise OSError(ctypes.get_errno(), "setns")
            yield
        finally:
            libc.setns(home.fileno(), 0)
