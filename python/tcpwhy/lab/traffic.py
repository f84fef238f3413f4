"""The connections of one host: who opens what, who samples the kernel's view of it."""

import array
import contextlib
import fcntl
import socket
import struct
import termios
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from tcpwhy.host import tcpinfo
from tcpwhy.lab.relay import relay
from tcpwhy.lab.workload import (
    Clock,
    Deeds,
    Settings,
    allow,
    converse,
    emissions,
    read,
    send_allowed,
    write,
)

Option = tuple[int, int, int | bytes]

_SO_MEMINFO, _SO_COOKIE = 55, 57
_SIOCOUTQNSD = 0x894B


@dataclass
class End:
    """One side of a connection."""

    flow: int
    side: str
    program: Settings
    options: Sequence[Option]
    listener: "Listener | None" = None
    local: tuple[str, int] = ("", 0)
    remote: tuple[str, int] = ("", 0)
    start_s: float = 0.0
    connection: socket.socket | None = None
    deeds: Deeds = field(default_factory=Deeds)
    samples: list[dict[str, Any]] = field(default_factory=list)
    failure: str | None = None


class Listener:
    """A port that several flows come to; each is known by where it comes from."""

    def __init__(self, local: tuple[str, int], options: Sequence[Option]) -> None:
        self.options = list(options)
        self._socket = _socket(local, options)
        self._socket.listen(128)
        self._accepted: dict[tuple[str, int], socket.socket] = {}
        self._change = threading.Condition()
        threading.Thread(target=self._accept, daemon=True).start()

    def take(self, remote: tuple[str, int], timeout_s: float) -> socket.socket:
        """Await the connection from an address and port."""
        key = (remote[0], remote[1])
        with self._change:
            if not self._change.wait_for(lambda: key in self._accepted, timeout_s):
                raise TimeoutError(f"no connection from {remote[0]}:{remote[1]}")
            return self._accepted.pop(key)

    def close(self) -> None:
        """Stop listening."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, peer = self._socket.accept()
                with self._change:
                    self._accepted[peer[0], peer[1]] = connection
                    self._change.notify_all()


class Traffic:
    """All connections of a host."""

    def __init__(self) -> None:
        self._ends: list[End] = []
        self._listeners: dict[tuple[str, int], Listener] = {}
        self._sources: list[Callable[[Clock], None]] = []
        self._threads: list[threading.Thread] = []

    def listen(
        self,
        flow: int,
        side: str,
        local: tuple[str, int],
        remote: tuple[str, int],
        program: Settings,
        options: list[Option],
    ) -> None:
        """Await a connection; what is set on the listening socket holds for it from its SYN on."""
        if local not in self._listeners:
            self._listeners[local] = Listener(local, options)
        listener = self._listeners[local]
        if listener.options != options:
            raise ValueError(f"flow {flow} wants other options than one before at the same port")
        self._ends.append(End(flow, side, program, options, listener=listener, remote=remote))

    def connect(
        self,
        flow: int,
        side: str,
        local: tuple[str, int],
        remote: tuple[str, int],
        start_s: float,
        program: Settings,
        options: list[Option],
    ) -> None:
        """Plan to open a connection."""
        self._ends.append(
            End(flow, side, program, options, local=local, remote=remote, start_s=start_s)
        )

    def udp(
        self,
        local: tuple[str, int],
        remote: tuple[str, int],
        source: Settings,
        payload_bytes: int,
        start_s: float,
        stop_s: float | None,
        seed: int,
    ) -> None:
        """Plan a UDP source."""

        def send(clock: Clock) -> None:
            end = min(clock.end, stop_s or clock.end)
            with socket.socket(_family(local[0]), socket.SOCK_DGRAM) as connection:
                connection.bind(tuple(local))
                payload = bytes(payload_bytes)
                for at in emissions(source, seed, end - start_s):
                    time.sleep(max(0.0, start_s + at - clock.now()))
                    with contextlib.suppress(OSError):
                        connection.sendto(payload, tuple(remote))

        self._sources.append(send)

    def listen_once(self, local: tuple[str, int]) -> None:
        """Await one connection, read it to its end and close it."""
        listener = _socket(local, [])
        listener.listen()
        listener.settimeout(10)

        def serve() -> None:
            with listener, contextlib.suppress(OSError):
                connection, _ = listener.accept()
                with connection:
                    while connection.recv(1 << 16):
                        pass

        threading.Thread(target=serve, daemon=True).start()

    def warm_up(self, remote: tuple[str, int], size: int) -> None:
        """Transfer a little and close, so that the kernel has metrics of the destination."""
        with socket.socket(_family(remote[0])) as connection:
            connection.settimeout(5)
            connection.connect(tuple(remote))
            connection.sendall(bytes(size))
            connection.shutdown(socket.SHUT_WR)
            connection.recv(1)

    def go(self, start: float, until: float, sample_s: float) -> None:
        """Start everything."""
        clock = Clock(start, until)
        works = list(self._programs(clock))
        works += [partial(source, clock) for source in self._sources]
        works.append(partial(self._sample, clock, sample_s))
        self._threads = [threading.Thread(target=work, daemon=True) for work in works]
        for thread in self._threads:
            thread.start()

    def results(self) -> list[dict[str, Any]]:
        """Await the end of all."""
        for thread in self._threads:
            thread.join()
        results = []
        for end in self._ends:
            results.append(
                {
                    "flow": end.flow,
                    "side": end.side,
                    "deeds": asdict(end.deeds),
                    "samples": end.samples,
                    "failure": end.failure,
                    "cookie": cookie(end.connection) if end.connection else None,
                }
            )
            if end.connection:
                end.connection.close()
        for listener in self._listeners.values():
            listener.close()
        self._listeners = {}
        self._ends = []
        self._sources = []
        return results

    def _programs(self, clock: Clock) -> Iterator[Callable[[], None]]:
        """Give the programs of this host: one for each end, or for the two ends of a relay."""
        relays = {end.program["relay"]["of"]: end for end in self._ends if "relay" in end.program}
        for end in self._ends:
            if end.flow in relays:
                yield partial(self._relay, end, relays[end.flow], clock)
            elif "relay" not in end.program:
                yield partial(self._run, end, clock)

    def _run(self, end: End, clock: Clock) -> None:
        try:
            end.connection = _open(end, clock)
            end.deeds = _act(end.connection, end.program, clock)
        except OSError as error:
            end.failure = str(error)

    def _relay(self, taking: End, passing: End, clock: Clock) -> None:
        """Open the second connection once the first one is there, as a proxy does."""
        buffer_bytes = passing.program["relay"]["buffer_bytes"]
        try:
            taking.connection = _open(taking, clock)
            passing.connection = _open(passing, clock)
            ends = (taking.connection, passing.connection)
            taking.deeds, passing.deeds = relay(*ends, buffer_bytes, clock)
        except OSError as error:
            taking.failure = passing.failure = str(error)

    def _sample(self, clock: Clock, period: float) -> None:
        number = 0
        while number * period <= clock.end:
            time.sleep(max(0.0, number * period - clock.now()))
            for end in self._ends:
                if end.connection is not None:
                    end.samples.append(sample(end.connection, clock.now()))
            # A sampler that was held up leaves samples out instead of making them up later.
            number = max(number + 1, int(clock.now() / period))


def sample(connection: socket.socket, at: float) -> dict[str, Any]:
    """Take the kernel's view of a connection at this instant."""
    raw = b""
    queued, unread = array.array("i", [0]), array.array("i", [0])
    unsent = array.array("i", [0])
    with contextlib.suppress(OSError):
        raw = tcpinfo.read(connection)
        fcntl.ioctl(connection, termios.TIOCOUTQ, queued)
        fcntl.ioctl(connection, termios.FIONREAD, unread)
        fcntl.ioctl(connection, _SIOCOUTQNSD, unsent)
    memory: tuple[int, ...] = ()
    with contextlib.suppress(OSError):
        memory = struct.unpack("=9I", connection.getsockopt(socket.SOL_SOCKET, _SO_MEMINFO, 36))
    return {
        "at_s": at,
        "wall_ns": time.time_ns(),
        "raw": raw,
        "send_queue_bytes": queued[0],
        "unsent_bytes": unsent[0],
        "unread_bytes": unread[0],
        "rcvbuf_bytes": memory[1] if memory else None,
        "sndbuf_bytes": memory[3] if memory else None,
        "wmem_queued_bytes": memory[5] if memory else None,
    }


def cookie(connection: socket.socket) -> int | None:
    """Give the number by which the kernel tells sockets apart, whatever their addresses."""
    with contextlib.suppress(OSError):
        raw = connection.getsockopt(socket.SOL_SOCKET, _SO_COOKIE, 8)
        return int(struct.unpack("=Q", raw)[0])
    return None


def _open(end: End, clock: Clock) -> socket.socket:
    if end.listener:
        return end.listener.take(end.remote, max(0.1, clock.end - clock.now()))
    time.sleep(max(0.0, end.start_s - clock.now()))
    connection = _socket(end.local, end.options)
    connection.settimeout(max(0.1, clock.end - clock.now()))
    connection.connect(tuple(end.remote))
    return connection


def _act(connection: socket.socket, program: Settings, clock: Clock) -> Deeds:
    if "asks" in program:
        return converse(connection, program["turns"], clock, asks=program["asks"])
    if "allows" in program:
        act = allow if program["allows"] else send_allowed
        return act(connection, program["window"], clock)
    if "write" in program:
        return write(connection, program["write"], clock, program["most_bytes"])
    deeds = read(connection, program["read"], clock)
    if deeds.closed:
        connection.shutdown(socket.SHUT_WR)
    return deeds


def _socket(local: tuple[str, int], options: Sequence[Option]) -> socket.socket:
    connection = socket.socket(_family(local[0]))
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    for level, name, value in options:
        connection.setsockopt(level, name, value)
    connection.bind(tuple(local))
    return connection


def _family(address: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in address else socket.AF_INET
