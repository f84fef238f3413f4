"""Datagrams that measure a path: round trips one by one, and the rate of an overload."""

import socket
import struct
import threading
import time

MARK = struct.Struct("=Id")
PAUSE_AFTER_S = 0.5


def echo(local: tuple[str, int]) -> None:
    """Send every datagram back to where it came from."""
    server = _datagrams(local)

    def serve() -> None:
        while True:
            data, peer = server.recvfrom(65536)
            server.sendto(data, peer)

    threading.Thread(target=serve, daemon=True).start()


def round_trips(
    local: tuple[str, int], remote: tuple[str, int], count: int, every_s: float
) -> list[float | None]:
    """Time round trips in seconds; None for a datagram that did not come back in time."""
    times: list[float | None] = [None] * count
    with _datagrams(local) as client:

        def gather() -> None:
            client.settimeout(PAUSE_AFTER_S + every_s)
            try:
                while True:
                    number, sent = MARK.unpack_from(client.recv(65536))
                    times[number] = time.monotonic() - sent
            except TimeoutError:
                return

        gatherer = threading.Thread(target=gather, daemon=True)
        gatherer.start()
        for number in range(count):
            client.sendto(MARK.pack(number, time.monotonic()), remote)
            time.sleep(every_s)
        gatherer.join()
    return times


class Sink:
    """Receives datagrams until nothing comes any more, and notes when the kernel had them."""

    def __init__(self, local: tuple[str, int]) -> None:
        self._socket = _datagrams(local)
        self._socket.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        self._socket.settimeout(10)
        self.arrivals_ns: list[int] = []
        self._thread = threading.Thread(target=self._receive, daemon=True)
        self._thread.start()

    def _receive(self) -> None:
        with self._socket:
            try:
                while True:
                    _, ancillary, _, _ = self._socket.recvmsg(65536, 64)
                    seconds, ns = struct.unpack("=qq", ancillary[0][2])
                    self.arrivals_ns.append(seconds * 10**9 + ns)
                    self._socket.settimeout(PAUSE_AFTER_S)
            except TimeoutError:
                return

    def result(self) -> list[int]:
        """Await the end; times in ns since the epoch."""
        self._thread.join()
        return self.arrivals_ns


def flood(
    local: tuple[str, int], remote: tuple[str, int], size: int, pps: float, seconds: float
) -> int:
    """Send datagrams at a steady rate; how many."""
    with _datagrams(local) as client:
        begin = time.monotonic()
        payload = bytes(size)
        total = int(pps * seconds)
        for number in range(total):
            if (wait := begin + number / pps - time.monotonic()) > 0:
                time.sleep(wait)
            client.sendto(payload, remote)
    return total


def _datagrams(local: tuple[str, int]) -> socket.socket:
    family = socket.AF_INET6 if ":" in local[0] else socket.AF_INET
    made = socket.socket(family, socket.SOCK_DGRAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    made.bind(local)
    return made


_SO_TIMESTAMPNS = 35
"""socket(7): when the kernel received the datagram."""
