"""A process that records `tcp:tcp_probe`: `python -m tcpwhy.lab.tracer FILE PORT...`.

The kernel keeps an instance of its tracer until someone removes it, whoever made it. So this
process does not end with its parent: it ends when its input does, however that came about, and
removes the instance first. One that was left by a tracer that died as well is removed by the next.
"""

import contextlib
import json
import os
import select
import signal
import sys
from pathlib import Path
from typing import BinaryIO

from tcpwhy.lab.kernel import CLONE_NEWNS, mount, stay_private, unshare

TRACEFS = Path("/sys/kernel/tracing")
EVENT = "events/tcp/tcp_probe"
NAME = "tcpwhy-"
BUFFER_KB = 8192
"""For each processor: a second of what the lab's fastest link acknowledges."""
PERIOD_MS = 200
"""How often the buffer is emptied: waiting for every event would cost more than the event."""


def reach() -> None:
    """Make tracefs reachable for this process alone where nobody has mounted it."""
    if (TRACEFS / "instances").is_dir():
        return
    unshare(CLONE_NEWNS)
    stay_private()
    mount("tracefs", str(TRACEFS), "tracefs")


def sweep(instances: Path) -> None:
    """Remove the instances of tracers that are gone."""
    for old in instances.glob(f"{NAME}*"):
        if not Path("/proc", old.name.removeprefix(NAME)).exists():
            with contextlib.suppress(OSError):
                old.rmdir()


def record(target: Path, ports: list[str]) -> int:
    """Record until the input ends; how many events the buffer had no room for."""
    instances = TRACEFS / "instances"
    sweep(instances)
    instance = instances / f"{NAME}{os.getpid()}"
    instance.mkdir()
    try:
        (instance / "buffer_size_kb").write_text(str(BUFFER_KB))
        (instance / "trace_clock").write_text("mono")
        event = instance / EVENT
        (event / "filter").write_text(" || ".join(f"sport == {port}" for port in ports))
        (event / "enable").write_text("1")
        say({"ready": True})
        pipe = os.open(instance / "trace_pipe", os.O_RDONLY | os.O_NONBLOCK)
        with target.open("wb") as file:
            ended = select.poll()
            ended.register(0, select.POLLIN | select.POLLHUP)
            while not ended.poll(PERIOD_MS):
                drain(pipe, file)
            (event / "enable").write_text("0")
            drain(pipe, file)
        lost = sum(overrun(path) for path in instance.glob("per_cpu/cpu*/stats"))
        os.close(pipe)
        return lost
    finally:
        with contextlib.suppress(OSError):
            (instance / EVENT / "enable").write_text("0")
        instance.rmdir()


def drain(pipe: int, file: BinaryIO) -> None:
    """Take everything that waits."""
    with contextlib.suppress(BlockingIOError):
        while block := os.read(pipe, 1 << 16):
            file.write(block)


def overrun(stats: Path) -> int:
    """Events that a processor's buffer lost."""
    lines = (line.split(":") for line in stats.read_text().splitlines())
    return sum(int(number) for name, number in lines if name in ("overrun", "dropped events"))


def say(what: dict[str, object]) -> None:
    """Tell the parent, if it is still there."""
    # Without a buffer, which would be flushed again at the end, and fail there.
    with contextlib.suppress(OSError):
        os.write(1, json.dumps(what).encode() + b"\n")


def main() -> None:
    """Record, or with no port only look whether that is possible."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    target, ports = Path(sys.argv[1]), sys.argv[2:]
    try:
        reach()
        if not (TRACEFS / EVENT).is_dir():
            say({"failure": "this kernel has no tracepoint tcp:tcp_probe"})
        elif ports:
            say({"lost": record(target, ports)})
        else:
            say({"ready": True})
    except OSError as error:
        say({"failure": f"tracefs: {error}"})


if __name__ == "__main__":
    main()
