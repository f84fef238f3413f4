"""A link between two network namespaces of our own, and frames put on it."""

import ctypes
import os
import shutil
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

NEAR, FAR = "twnear", "twfar"
"""The ends: frames are put on `FAR`, `NEAR` is watched."""


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

    def delete(self) -> None:
        """Take the link away."""
        _ip("-n", self.near, "link", "del", NEAR)

    def send(self, frames: Sequence[bytes], *, from_near: bool = False) -> None:
        """Put frames on the link, in order."""
        name, interface = (self.near, NEAR) if from_near else (self.far, FAR)
        with _inside(name), socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as sender:
            sender.bind((interface, 0))
            for frame in frames:
                sender.send(frame)


@contextmanager
def link() -> Iterator[Link]:
    """Make a link, or skip the test where that is not possible."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("network namespaces need root and iproute2")
    tag = uuid.uuid4().hex[:8]
    near, far = f"tcpwhy-near-{tag}", f"tcpwhy-far-{tag}"
    try:
        for name in (near, far):
            made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
            if made.returncode:
                pytest.skip(f"no network namespace can be made: {made.stderr.strip()}")
        _ip("link", "add", NEAR, "netns", near, "type", "veth", "peer", "name", FAR, "netns", far)
        for name, interface in ((near, NEAR), (far, FAR)):
            # The kernel's own chatter (router solicitations) is none of the test's packets.
            with _inside(name):
                Path(f"/proc/sys/net/ipv6/conf/{interface}/disable_ipv6").write_text("1")
            _ip("-n", name, "link", "set", interface, "up")
        yield Link(near, far)
    finally:
        for name in (near, far):
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


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
