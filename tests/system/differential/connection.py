"""One shape for what every tool says: facts per half of a connection."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

# What is compared. All of it is about the data that `src` sends; windows, duplicate ACKs and round
# trips come from the other side's segments.
FACTS = (
    "packets",
    "data_packets",
    "payload_bytes",
    "unique_bytes",
    "retransmitted_bytes",
    "zero_window_events",
    "duplicate_acks",
    "rtt_min_ms",
    "handshake_rtt_ms",
    "mss_option",
    "window_scale",
)

Endpoint = tuple[str, int]
Value = float | int | None


@dataclass
class Half:
    """One direction of a connection as one tool sees it."""

    src: Endpoint
    dst: Endpoint
    begin_s: float
    facts: dict[str, Value] = field(default_factory=dict)


@dataclass(frozen=True)
class Key:
    """A half in a capture: who sends to whom, and which of the connections of that 4-tuple."""

    src: Endpoint
    dst: Endpoint
    ordinal: int

    def __str__(self) -> str:
        which = f" ({self.ordinal + 1})" if self.ordinal else ""
        return f"{self.src[0]}:{self.src[1]} > {self.dst[0]}:{self.dst[1]}{which}"


def keyed(halves: Iterable[Half]) -> dict[Key, Half]:
    """Halves by key; connections of one 4-tuple are numbered by their begin."""
    by_pair: dict[tuple[Endpoint, Endpoint], list[Half]] = defaultdict(list)
    for half in halves:
        by_pair[half.src, half.dst].append(half)
    return {
        Key(src, dst, ordinal): half
        for (src, dst), same in by_pair.items()
        for ordinal, half in enumerate(sorted(same, key=lambda half: half.begin_s))
    }


class SequenceSpace:
    """The bytes that one side sent, by sequence number: the plainest possible second opinion."""

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.last: int | None = None

    def add(self, seq: int, length: int) -> int:
        """Notes a segment; how many of its bytes were there before."""
        begin = self._unwrap(seq)
        end = begin + length
        first = bisect_left(self.ends, begin)
        after = first
        seen = 0
        low, high = begin, end
        while after < len(self.starts) and self.starts[after] <= end:
            seen += max(0, min(end, self.ends[after]) - max(begin, self.starts[after]))
            low, high = min(low, self.starts[after]), max(high, self.ends[after])
            after += 1
        self.starts[first:after] = [low]
        self.ends[first:after] = [high]
        return seen

    def _unwrap(self, seq: int) -> int:
        """The 32-bit number as the one of all its continuations that is nearest to the last."""
        if self.last is None:
            self.last = seq
        else:
            self.last += (seq - self.last + (1 << 31)) % (1 << 32) - (1 << 31)
        return self.last
