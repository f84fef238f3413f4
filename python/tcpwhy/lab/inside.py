"""What runs inside a network namespace: `python -m tcpwhy.lab.inside DESCRIPTOR NAME`."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tcpwhy.lab import probe
from tcpwhy.lab.kernel import (
    CLONE_NEWNET,
    CLONE_NEWUSER,
    die_with_parent,
    open_tap,
    unshare,
)
from tcpwhy.lab.traffic import Traffic

COMMAND_TIMEOUT_S = 30.0
TX_QUEUE_FRAMES = 10_000
"""Frames that may wait for the emulator: none may be lost where nobody counts it."""


class Inside:
    """The functions that the other end may call."""

    def __init__(self, pipe: socket.socket) -> None:
        self._pipe = pipe
        self._traffic = Traffic()
        self._programs: dict[str, subprocess.Popen[bytes]] = {}

    def create_tap(self, name: str, offload: bool) -> None:
        """Create a TAP interface; its descriptor follows on the socket."""
        self._tap = open_tap(name, offload=offload)

    def ip(self, lines: Sequence[str]) -> None:
        """Run commands of `ip`, in one go."""
        self._run(["ip", "-batch", "-"], "\n".join(lines))

    def statistics(self, device: str) -> dict[str, int]:
        """Read the counters of an interface."""
        lines = Path("/proc/self/net/dev").read_text(encoding="ascii").splitlines()
        numbers = next(
            line.split(":")[1] for line in lines if line.strip().startswith(f"{device}:")
        )
        rx, tx = numbers.split()[:8], numbers.split()[8:]
        names = ("bytes", "packets", "errs", "drop")
        return {
            f"{side}_{name}": int(value)
            for side, values in (("rx", rx), ("tx", tx))
            for name, value in zip(names, values, strict=False)
        }

    def sysctl(self, values: Mapping[str, str]) -> None:
        """Set what /proc/sys/net has for this namespace."""
        for key, value in values.items():
            path = Path("/proc/sys") / key.replace(".", "/")
            path.write_text(value, encoding="ascii")

    def run(self, command: Sequence[str], text: str = "") -> str:
        """Run a command to its end; what it printed."""
        return self._run(command, text)

    def start(self, name: str, command: Sequence[str], ready: str = "") -> None:
        """Start a program; with `ready`, wait until it says that on standard error."""
        program = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE if ready else subprocess.DEVNULL,
            preexec_fn=die_with_parent,
        )
        self._programs[name] = program
        if ready and program.stderr is not None:
            said = b""
            for line in program.stderr:
                said += line
                if ready.encode() in line:
                    return
            raise RuntimeError(f"{command[0]}: {said.decode(errors='replace').strip()}")

    def stop(self, name: str, number: int = signal.SIGTERM) -> tuple[int, str]:
        """End a program that was started; its exit code and what it said last."""
        program = self._programs.pop(name)
        program.send_signal(number)
        try:
            _, said = program.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            program.kill()
            _, said = program.communicate()
        return program.returncode, (said or b"").decode(errors="replace")

    def running(self, name: str) -> bool:
        """Say whether a program that was started still runs."""
        return self._programs[name].poll() is None

    def echo(self, local: tuple[str, int]) -> None:
        """Send every datagram back."""
        probe.echo(local)

    def round_trips(self, **settings: Any) -> list[float | None]:
        """Time round trips of datagrams."""
        return probe.round_trips(**settings)

    def sink(self, local: tuple[str, int]) -> None:
        """Receive datagrams from now on."""
        self._sink = probe.Sink(local)

    def arrivals(self) -> list[int]:
        """Await the end of the datagrams; when each arrived."""
        return self._sink.result()

    def flood(self, **settings: Any) -> int:
        """Send datagrams at a steady rate."""
        return probe.flood(**settings)

    def watch_queues(self, device: str, period_s: float) -> None:
        """Read what the queueing disciplines of an interface count, time and again."""
        self._queues: list[tuple[int, list[dict[str, Any]]]] = []
        command = ["tc", "-s", "-j", "qdisc", "show", "dev", device]

        def watch() -> None:
            while True:
                at_ns = time.time_ns()
                self._queues.append((at_ns, json.loads(self._run(command, ""))))
                time.sleep(period_s)

        threading.Thread(target=watch, daemon=True).start()

    def queues(self) -> list[tuple[int, list[dict[str, Any]]]]:
        """Give what they counted, with the wall clock's ns."""
        return self._queues

    def listen(self, **settings: Any) -> None:
        """Await the connection of a flow."""
        self._traffic.listen(**settings)

    def connect(self, **settings: Any) -> None:
        """Plan the connection of a flow."""
        self._traffic.connect(**settings)

    def udp(self, **settings: Any) -> None:
        """Plan a UDP source."""
        self._traffic.udp(**settings)

    def listen_once(self, local: tuple[str, int]) -> None:
        """Await the connection of a warm-up."""
        self._traffic.listen_once(local)

    def warm_up(self, **settings: Any) -> None:
        """Make a short connection, so that the kernel keeps metrics of the destination."""
        self._traffic.warm_up(**settings)

    def go(self, start: float, until: float, sample_s: float) -> None:
        """Start all flows; `start` and `until` are times of the monotonic clock."""
        self._traffic.go(start, until, sample_s)

    def results(self) -> list[dict[str, Any]]:
        """Await the end of all flows; what became of each, with the samples of TCP_INFO."""
        return self._traffic.results()

    def now(self) -> float:
        """Read the monotonic clock."""
        return time.monotonic()

    def _run(self, command: Sequence[str], text: str) -> str:
        done = subprocess.run(
            command,
            input=text,
            capture_output=True,
            text=True,
            timeout=COMMAND_TIMEOUT_S,
            check=False,
            preexec_fn=die_with_parent,
        )
        if done.returncode:
            said = done.stderr.strip() or done.stdout.strip()
            raise RuntimeError(f"{' '.join(command)}: {said}")
        return done.stdout


def serve(pipe: socket.socket) -> None:
    """Answer calls until the other end closes."""
    calls = Connection(os.dup(pipe.fileno()))
    inside = Inside(pipe)
    calls.send((True, None))
    while True:
        try:
            function, arguments = calls.recv()
        except (EOFError, OSError):
            return
        try:
            answer = (True, getattr(inside, function)(**arguments))
        except Exception as error:
            answer = (False, (type(error).__name__, f"{function}: {error}"))
        calls.send(answer)
        if function == "create_tap" and answer[0]:
            socket.send_fds(pipe, [b"t"], [inside._tap])
            os.close(inside._tap)


def enter(*, rootless: bool) -> None:
    """Move into a new network namespace; without root, into one of a new user namespace."""
    if not rootless:
        unshare(CLONE_NEWNET)
        return
    user, group = os.getuid(), os.getgid()
    unshare(CLONE_NEWUSER | CLONE_NEWNET)
    Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
    Path("/proc/self/uid_map").write_text(f"0 {user} 1", encoding="ascii")
    Path("/proc/self/gid_map").write_text(f"0 {group} 1", encoding="ascii")


def main() -> None:
    """Enter a namespace of its own and serve."""
    die_with_parent()
    # Ctrl-C is for the process that asks; it ends this one when it is done.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    pipe = socket.socket(fileno=int(sys.argv[1]))
    try:
        enter(rootless="rootless" in sys.argv[3:])
    except OSError as error:
        reason = (type(error).__name__, f"no new network namespace ({error.strerror})")
        Connection(os.dup(pipe.fileno())).send((False, reason))
        return
    serve(pipe)
    # Threads of flows do not matter any more.
    os._exit(0)


if __name__ == "__main__":
    main()
