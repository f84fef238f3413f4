"""How a live run does, in two lines: what comes and what it takes, what is lost and what fails."""

import os
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from tcpwhy import _core
from tcpwhy.analysis import Result
from tcpwhy.sinks._delivery import Delivery
from tcpwhy.tui.board import Board
from tcpwhy.units import as_bytes, as_duration, as_rate

NOTED_S = 20.0
"""How long a message stays in the head."""

_PROBLEMS = (
    "packets_tag_hidden",
    "table_evictions",
    "evicted_long",
    "outstanding_overflow",
    "tunnel_overflow",
)
"""Bounds that bit, beside what the kernel and slow outputs lost."""


class Run:
    """A run with its outputs, as the view shows it."""

    def __init__(
        self, name: str, result: Result, board: Board, outputs: Sequence[Delivery]
    ) -> None:
        """Watch a run under this name."""
        self.name = name
        self.over = False
        self._result, self._board, self._outputs = result, board, outputs
        self._began = self._then = time.monotonic()
        self._packets, self._rate = 0, 0.0
        self._notes: deque[tuple[float, str]] = deque(maxlen=100)

    def note(self, message: str) -> None:
        """Show a message for a while; from any thread."""
        self._notes.append((time.monotonic(), message))

    def notes(self) -> list[str]:
        """Give all messages, for when the screen is the shell's again."""
        return [message for _, message in self._notes]

    def line(self) -> str:
        """Say what comes and what it takes."""
        now, packets = time.monotonic(), self._result.progress().packets
        if now - self._then >= 1:
            self._rate = (packets - self._packets) / (now - self._then)
            self._packets, self._then = packets, now
        totals = self._board.snapshot().totals
        # The newest step is still being filled.
        payload = sum(totals[-2][1].values()) if len(totals) > 1 else 0
        parts = [
            f"tcpwhy {self.name}",
            as_duration((now - self._began) // 1 * 1e9),
            f"{self._rate:,.0f} packets/s",
            as_rate(payload * 8e9 / self._board.step_ns),
            f"{self._result.standing().flows:,} flows",
            as_bytes(memory_bytes()),
        ]
        return " · ".join(parts)

    def troubles(self) -> list[str]:
        """Say what was lost and what fails."""
        lost = self._result.lost()
        found = []
        if lost.packets:
            found.append(f"the kernel dropped {lost.packets:,} packets")
        if lost.rows:
            found.append(f"{lost.rows:,} rows came too fast")
        for output in self._outputs:
            if output.rows_lost or output.failing:
                fails = " fails," if output.failing else ""
                found.append(f"{output.name}:{fails} {output.rows_lost:,} rows lost")
        counters = self._result.standing().counters
        found += [f"{name} {counters[name]:,}" for name in _PROBLEMS if counters.get(name)]
        recent = (text for at, text in reversed(self._notes) if time.monotonic() - at < NOTED_S)
        return [*recent, *found]

    def counters(self) -> list[tuple[str, int, str]]:
        """Name counters with values and meanings."""
        values = self._result.standing().counters
        return [(name, values.get(name, 0), doc) for name, doc in _core.counters()]

    def is_over(self) -> bool:
        """Say whether the run has ended."""
        return self.over


def memory_bytes() -> int:
    """Give the memory of this process that is resident, rings included."""
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGESIZE")
