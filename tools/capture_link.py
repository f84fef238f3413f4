#!/usr/bin/env python3
"""A pair of TAP interfaces joined by a constant delay, for kernels without netem.

Each frame leaves exactly `delay` after it came in, in order: its departure is computed when it
arrives, so a late wake-up shifts one frame and never the next. Stops on SIGTERM and prints how
late the frames were, as JSON, so that a recording can be rejected when the machine was too busy.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import fcntl
import json
import os
import select
import signal
import struct
import time
from collections import deque
from dataclasses import dataclass, field

TUNSETIFF = 0x400454CA
IFF_TAP = 0x0002
IFF_NO_PI = 0x1000
PR_SET_TIMERSLACK = 29
FRAME_BYTES_MAX = 65536
QUEUE_FRAMES_MAX = 10_000


@dataclass
class Direction:
    """Frames on their way from one interface to the other."""

    source_fd: int
    sink_fd: int
    delay_ns: int
    frames: deque[tuple[int, bytes]] = field(default_factory=deque)
    late_ns: list[int] = field(default_factory=list)
    dropped: int = 0

    def accept(self, now_ns: int) -> None:
        """Takes every frame that waits at the source."""
        while True:
            try:
                frame = os.read(self.source_fd, FRAME_BYTES_MAX)
            except BlockingIOError:
                return
            if len(self.frames) < QUEUE_FRAMES_MAX:
                self.frames.append((now_ns + self.delay_ns, frame))
            else:
                self.dropped += 1

    def release(self, now_ns: int) -> None:
        """Sends every frame that is due."""
        while self.frames and self.frames[0][0] <= now_ns:
            due_ns, frame = self.frames.popleft()
            self.late_ns.append(now_ns - due_ns)
            try:
                os.write(self.sink_fd, frame)
            except OSError:
                # The interface is down or its queue is full: a real link would lose it too.
                self.dropped += 1

    def summary(self) -> dict[str, float]:
        """How many frames passed and how late they were, in microseconds."""
        late = sorted(self.late_ns)
        if not late:
            return {"frames": 0, "dropped": self.dropped}
        return {
            "frames": len(late),
            "dropped": self.dropped,
            "late_us_p50": late[len(late) // 2] / 1e3,
            "late_us_p99": late[len(late) * 99 // 100] / 1e3,
            "late_us_max": late[-1] / 1e3,
        }


def open_tap(name: str) -> int:
    """Creates a TAP interface without offloads and gives its file descriptor."""
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TAP | IFF_NO_PI))
    return fd


def be_punctual() -> None:
    """Asks for exact timers and real-time scheduling, as far as the system grants them."""
    ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(20))


def forward(directions: list[Direction], stopped: list[bool]) -> None:
    """Moves frames until `stopped` has an entry."""
    sources = [direction.source_fd for direction in directions]
    while not stopped:
        heads = [direction.frames[0][0] for direction in directions if direction.frames]
        wait = max(0, min(heads) - time.monotonic_ns()) / 1e9 if heads else 0.2
        ready, _, _ = select.select(sources, [], [], wait)
        now_ns = time.monotonic_ns()
        for direction in directions:
            if direction.source_fd in ready:
                direction.accept(now_ns)
            direction.release(now_ns)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("near", help="name of one TAP interface to create")
    parser.add_argument("far", help="name of the other")
    parser.add_argument("--delay-ms", type=float, required=True, help="one-way delay")
    options = parser.parse_args()
    near, far = open_tap(options.near), open_tap(options.far)
    delay_ns = int(options.delay_ms * 1e6)
    directions = [Direction(near, far, delay_ns), Direction(far, near, delay_ns)]
    stopped: list[bool] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.append(True))
    be_punctual()
    print("ready", flush=True)
    forward(directions, stopped)
    print(json.dumps([direction.summary() for direction in directions]), flush=True)


if __name__ == "__main__":
    main()
