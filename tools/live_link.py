"""A link between two network namespaces, a load on one end, and who watches the other."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NEAR, FAR = "twnear", "twfar"
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass
class Link:
    """Two namespaces: loads are put on `FAR` of one, `NEAR` of the other is watched."""

    near: str
    far: str

    def near_command(self, *arguments: object) -> list[str]:
        """The command that runs a program where the link is watched."""
        return ["ip", "netns", "exec", self.near, *map(str, arguments)]

    def far_command(self, *arguments: object) -> list[str]:
        """The command that runs a program where the load comes from."""
        return ["ip", "netns", "exec", self.far, *map(str, arguments)]


@contextmanager
def link() -> Iterator[Link]:
    """Makes a link, for as long as it is needed."""
    tag = uuid.uuid4().hex[:8]
    near, far = f"tcpwhy-load-near-{tag}", f"tcpwhy-load-far-{tag}"
    try:
        for name in (near, far):
            _ip("netns", "add", name)
        _ip("link", "add", NEAR, "netns", near, "type", "veth", "peer", "name", FAR, "netns", far)
        for name, interface in ((near, NEAR), (far, FAR)):
            quiet = f"net.ipv6.conf.{interface}.disable_ipv6=1"
            _ip("netns", "exec", name, "sysctl", "-qw", quiet)
            _ip("-n", name, "link", "set", interface, "up")
        yield Link(near, far)
    finally:
        for name in (near, far):
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


@dataclass
class Watcher:
    """A program that watches the link, and what it uses."""

    process: subprocess.Popen[str]
    said: str
    began: float = 0.0
    before: tuple[float, float] = (0.0, 0.0)
    resident_bytes: list[int] = field(default_factory=list)

    def begin(self) -> None:
        """What is used counts from now on."""
        self.began, self.before = time.monotonic(), self._cpu_s()

    def sample(self) -> None:
        """Looks at the memory that it has now."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        rss = next(line for line in status.splitlines() if line.startswith("VmRSS"))
        self.resident_bytes.append(int(rss.split()[1]) * 1024)

    def cpu_share(self) -> tuple[float, float]:
        """CPU seconds per second since it began, as user and as system."""
        elapsed = time.monotonic() - self.began
        user, system = self._cpu_s()
        return (user - self.before[0]) / elapsed, (system - self.before[1]) / elapsed

    def end(self, timeout_s: float = 300) -> str:
        """Stops it in order; what it said."""
        self.process.send_signal(signal.SIGINT)
        out, err = self.process.communicate(timeout=timeout_s)
        self.said += out + err
        return self.said

    def _cpu_s(self) -> tuple[float, float]:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) / TICKS_PER_SECOND, int(fields[12]) / TICKS_PER_SECOND


@contextmanager
def watcher(command: list[str], sign: str) -> Iterator[Watcher]:
    """Starts a program that says `sign` on standard error when it is ready."""
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True)
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        if sign not in line:
            raise SystemExit(line + process.stderr.read())
        yield Watcher(process, line)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def send(
    load: list[str], watched: Watcher | None = None, every_s: float = 1.0, **popen: Any
) -> dict[str, float]:
    """Runs a load to its end and looks at the watcher now and then; what was sent."""
    process = subprocess.Popen(load, stdout=subprocess.PIPE, text=True, **popen)
    if watched:
        watched.begin()
    while True:
        try:
            if watched:
                watched.sample()
            out, _ = process.communicate(timeout=every_s)
            break
        except subprocess.TimeoutExpired:
            continue
    if process.returncode:
        raise SystemExit(f"{' '.join(load)} failed with {process.returncode}")
    sent: dict[str, float] = json.loads(out)
    return sent


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)
