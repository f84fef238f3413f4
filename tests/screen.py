"""A terminal of our own, in which a program runs, to read what a person would see."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Sequence

import pytest

PATIENCE_S = 60


class Screen:
    """A program on a terminal of this size."""

    def __init__(self, command: Sequence[str], size: tuple[int, int], **environment: str) -> None:
        """Start it; None in the environment takes a name out."""
        pyte = pytest.importorskip("pyte", reason="pyte reads the screen")
        self.columns, self.lines = size
        self._screen = pyte.Screen(*size)
        self._stream = pyte.ByteStream(self._screen)
        self.written = b""
        self._leader, terminal = pty.openpty()
        self._resize(*size)
        # A terminal has its size of its own, whatever runs the tests has set.
        others = {"NO_COLOR", "COLUMNS", "LINES"}
        base = {name: value for name, value in os.environ.items() if name not in others}
        self.process = subprocess.Popen(
            command,
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            env={**base, "TERM": "xterm-256color", **environment},
            start_new_session=True,
        )
        os.close(terminal)

    def press(self, keys: str) -> None:
        """Type."""
        os.write(self._leader, keys.encode())

    def resize(self, columns: int, lines: int) -> None:
        """Make the window larger or smaller."""
        self.columns, self.lines = columns, lines
        self._screen.resize(lines, columns)
        self._resize(columns, lines)
        self.process.send_signal(28)

    def text(self) -> str:
        """Give what is on it now."""
        return "\n".join(line.rstrip() for line in self._screen.display)

    def wait(self, what: str | Callable[[str], object]) -> str:
        """Wait until a text is there, or a condition on all text holds; give all text."""
        holds = (lambda text: what in text) if isinstance(what, str) else what
        until = time.monotonic() + PATIENCE_S
        while not holds(self.text()):
            assert time.monotonic() < until, f"not seen: {what}\n{self.text()}"
            assert self._read() or holds(self.text()), f"it ended: {what}\n{self.text()}"
        return self.text()

    def end(self) -> int:
        """Wait for the program's end; give its exit code."""
        while self._read():
            pass
        return self.process.wait(PATIENCE_S)

    def close(self) -> None:
        """Be done with it."""
        self.process.kill()
        self.process.wait()
        os.close(self._leader)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._leader], [], [], 0.2)
        if not ready:
            return True
        try:
            data = os.read(self._leader, 65536)
        except OSError:
            return False
        self.written += data
        self._stream.feed(data)
        return bool(data)

    def _resize(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self._leader, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
