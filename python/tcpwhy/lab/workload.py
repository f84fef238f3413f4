"""What the programs at both ends of a connection do: the workloads of scenario files, for real.

Times count from the start of the run, on the monotonic clock. Every program ends at `until`.
"""

import select
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

Settings = Mapping[str, Any]

BLOCK = bytes(1 << 17)
READ_BYTES = 1 << 18
MESSAGE_BYTES = 36
"""What allows more to be sent, as the simulator has it where nothing else is said."""


@dataclass
class Clock:
    """The times of a run."""

    start: float
    until: float

    def now(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.start

    @property
    def end(self) -> float:
        """When the run ends, in seconds since its start."""
        return self.until - self.start


@dataclass
class Deeds:
    """What a program did."""

    bytes: int = 0
    calls: int = 0
    blocked_s: float = 0.0
    """Waiting for room in the send buffer, or for data to read."""
    idle_s: float = 0.0
    """Waiting for the time to write or read."""
    closed: bool = False


class Tick(NamedTuple):
    """When so many bytes more are to be written."""

    at_s: float
    bytes: float
    """inf: without end; -inf: what was not written by then is not written at all."""
    write_bytes: int | None = None
    """How much the program writes at once, where it says so."""


def ticks(workload: Settings, begin: float, end: float) -> Iterator[Tick]:
    """Give the writes of a workload in order. After an infinite one follow only ends of phases."""
    [(name, settings)] = workload.items()
    if name == "bulk":
        yield Tick(begin, float("inf"), settings.get("write_bytes"))
    elif name == "fixed_size":
        yield Tick(begin, settings["bytes"])
    elif name == "phases":
        for phase in settings["list"]:
            upto = min(end, begin + phase["for_s"])
            yield from ticks(phase["workload"], begin, upto)
            yield Tick(upto, float("-inf"))
            begin = upto
    else:
        size, period, count = _beat(name, settings)
        for number in range(count):
            at = begin + number * period
            if at >= end:
                return
            yield Tick(at, size)


def _beat(name: str, settings: Settings) -> tuple[int, float, int]:
    """Bytes, period and number of writes of a regular workload."""
    count = settings.get("count", 1 << 62)
    if name == "paced":
        size = settings.get("write_bytes", 20_000)
        return size, size * 8 / settings["rate_bps"], count
    if name == "chunks":
        return settings["chunk_bytes"], settings["interval_ms"] / 1e3, count
    if name == "small_writes":
        return settings["write_bytes"], settings["interval_ms"] / 1e3, count
    raise ValueError(f"no workload {name}")


def write_bytes_most(send_buffer_bytes: int | None) -> int:
    """Give how much to write at once, so that it is the buffer that limits.

    One write may pass the buffer by. Linux asks for room only when it begins a super-segment. What
    leaves from the last one makes room in it for more of the same write (`tcp_sendmsg_locked`). A
    write of 128 KiB put all of itself into a buffer of 64.
    """
    if send_buffer_bytes is None:
        return len(BLOCK)
    return max(1, min(len(BLOCK), int(send_buffer_bytes) // 4))


def write(
    connection: socket.socket, workload: Settings, clock: Clock, most_bytes: int = len(BLOCK)
) -> Deeds:
    """Write what the workload says, `most_bytes` at once."""
    deeds = Deeds()
    pending = ticks(workload, max(0.0, clock.now()), clock.end)
    upcoming = next(pending, None)
    owed = 0.0
    piece = left = most_bytes
    connection.setblocking(False)
    room = select.poll()
    room.register(connection, select.POLLOUT)
    while (now := clock.now()) < clock.end:
        while upcoming and upcoming.at_s <= now:
            owed = 0 if upcoming.bytes == float("-inf") else owed + upcoming.bytes
            piece = left = min(upcoming.write_bytes or most_bytes, most_bytes)
            upcoming = next(pending, None)
        wake = min(upcoming.at_s if upcoming else clock.end, clock.end)
        if owed > 0:
            try:
                sent = connection.send(memoryview(BLOCK)[: int(min(owed, left))])
            except BlockingIOError:
                room.poll(max(0.0, (wake - now) * 1e3))
                deeds.blocked_s += clock.now() - now
                continue
            owed -= sent
            left = left - sent or piece
            deeds.bytes += sent
            deeds.calls += 1
        elif upcoming is None:
            return _finish(connection, workload, clock, deeds)
        else:
            time.sleep(max(0.0, wake - now))
            deeds.idle_s += clock.now() - now
    return deeds


def _finish(connection: socket.socket, workload: Settings, clock: Clock, deeds: Deeds) -> Deeds:
    """Nothing is left to write: a transfer of known size closes, all else keeps quiet."""
    if "fixed_size" in workload:
        connection.shutdown(socket.SHUT_WR)
        deeds.closed = True
    begin = clock.now()
    time.sleep(max(0.0, clock.end - begin))
    deeds.idle_s += clock.now() - begin
    return deeds


def read(connection: socket.socket, reader: Settings, clock: Clock) -> Deeds:
    """Read as the reader says, until the other side closes."""
    [(name, settings)] = (reader or {"greedy": {}}).items()
    deeds = Deeds()
    buffer = bytearray(READ_BYTES)
    if name == "slow":
        begin = max(0.0, settings.get("from_s", 0))
        if begin and not _drain(connection, buffer, deeds, clock, begin):
            return deeds
        _sip(connection, settings, deeds, clock, begin)
    else:
        for begin, end in settings.get("pauses_s", ()):
            if not _drain(connection, buffer, deeds, clock, begin):
                return deeds
            time.sleep(max(0.0, min(end, clock.end) - clock.now()))
        _drain(connection, buffer, deeds, clock, clock.end)
    return deeds


def _drain(
    connection: socket.socket, buffer: bytearray, deeds: Deeds, clock: Clock, until: float
) -> bool:
    """Read all there is until a time. Say whether the connection is still open."""
    while (left := min(until, clock.end) - clock.now()) > 0:
        if (count := _receive(connection, buffer, left)) == 0:
            deeds.closed = True
            return False
        deeds.bytes += max(count, 0)
        deeds.calls += 1
    return True


def _sip(
    connection: socket.socket, settings: Settings, deeds: Deeds, clock: Clock, begin: float
) -> None:
    """Read the same number of bytes at equal intervals."""
    size = settings.get("read_bytes", 4096)
    period = size * 8 / settings["rate_bps"]
    buffer = bytearray(size)
    number = 0
    while clock.now() < clock.end:
        # A program that found nothing does not read twice as fast afterwards.
        number = max(number + 1, int((clock.now() - begin) / period))
        time.sleep(max(0.0, min(begin + number * period, clock.end) - clock.now()))
        if (count := _receive(connection, buffer, clock.end - clock.now())) == 0:
            deeds.closed = True
            return
        deeds.bytes += max(count, 0)
        deeds.calls += 1


def _receive(connection: socket.socket, buffer: bytearray, timeout_s: float) -> int:
    """Read once: bytes, 0 at the end, -1 when nothing came in time."""
    connection.settimeout(max(1e-3, timeout_s))
    try:
        return connection.recv_into(buffer)
    except TimeoutError:
        return -1


def converse(connection: socket.socket, settings: Settings, clock: Clock, *, asks: bool) -> Deeds:
    """Ask and await answers, or answer."""
    request, answer = settings["request_bytes"], settings["response_bytes"]
    awaits, says = (answer, request) if asks else (request, answer)
    pause = settings.get("think_ms" if asks else "serve_ms", 0) / 1e3
    turns = settings.get("count", 1 << 62) if asks else 1 << 62
    deeds = Deeds()
    is_first = asks
    while clock.now() < clock.end and turns > 0:
        if not is_first:
            if not _await(connection, awaits, deeds, clock):
                return deeds
            time.sleep(max(0.0, min(pause, clock.end - clock.now())))
            deeds.idle_s += pause
        is_first = False
        if not _say(connection, says, deeds, clock):
            return deeds
        turns -= 1
    return deeds


def send_allowed(connection: socket.socket, settings: Settings, clock: Clock) -> Deeds:
    """Write what the other side allows."""
    deeds = Deeds()
    allowed, message = settings["window_bytes"], settings.get("message_bytes", MESSAGE_BYTES)
    while clock.now() < clock.end and _say(connection, allowed, deeds, clock):
        if not _await(connection, message, deeds, clock):
            return deeds
        allowed = settings["update_bytes"]
    return deeds


def allow(connection: socket.socket, settings: Settings, clock: Clock) -> Deeds:
    """Read, and allow as many bytes more whenever enough were read."""
    deeds = Deeds()
    message = settings.get("message_bytes", MESSAGE_BYTES)
    while clock.now() < clock.end and _await(connection, settings["update_bytes"], deeds, clock):
        if not _say(connection, message, deeds, clock):
            return deeds
    return deeds


def _say(connection: socket.socket, size: int, deeds: Deeds, clock: Clock) -> bool:
    """Write so many bytes at once. Say whether the kernel took them before the end."""
    connection.settimeout(max(1e-3, clock.end - clock.now()))
    try:
        connection.sendall(bytes(size))
    except TimeoutError:
        return False
    deeds.bytes += size
    deeds.calls += 1
    return True


def _await(connection: socket.socket, size: int, deeds: Deeds, clock: Clock) -> bool:
    buffer = bytearray(READ_BYTES)
    begin = clock.now()
    while size > 0:
        left = clock.end - clock.now()
        if left <= 0 or (count := _receive(connection, buffer, left)) <= 0:
            return False
        size -= count
    deeds.blocked_s += clock.now() - begin
    return True


def emissions(source: Settings, seed: int, end: float) -> Sequence[float]:
    """Give the times of the packets of a UDP source, of those whose rate needs no sine."""
    import random

    [(name, settings)] = source.items()
    if name not in ("constant", "poisson", "on_off"):
        raise ValueError(f"the kernel lab has no UDP source {name}")
    rate = settings["rate_pps"]
    times: list[float] = []
    draw = random.Random(seed)
    at = 0.0
    while at < end:
        if name == "poisson":
            at += draw.expovariate(rate)
        elif name == "constant":
            at = (len(times) + 1) / rate
        else:
            per_period = max(1, int(rate * settings["on_ms"] / 1e3))
            periods, within = divmod(len(times), per_period)
            at = periods * (settings["on_ms"] + settings["off_ms"]) / 1e3 + within / rate
        times.append(at)
    return times
