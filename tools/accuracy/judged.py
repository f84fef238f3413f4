"""An answer held against what is true."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from tcpwhy import vocabulary

CLASSES = ("application", "receiver_window", "network", "recovery")
"""The classes of the time shares."""

LIMITATIONS = tuple(each.word for each in vocabulary.limitations() if each.word != "mixed")


@dataclass(frozen=True)
class Judged:
    """One row of an analysis whose truth is known."""

    group: str
    name: str
    variant: str
    tap: str
    start_s: float
    end_s: float
    expected: str
    """The cause, or the limitation where nothing finer is known."""
    allowed: tuple[str, ...]
    """Causes and limitations that are right, the expected one among them."""
    cause: str | None
    paper: str | None
    confidence: str | None
    is_mixed: bool = False
    drops: int = 0
    """Packets of this half that the path dropped in this time."""
    held: str = ""
    """What held the sender back by its own state, in words."""
    evidence: str = ""

    @property
    def is_right(self) -> bool:
        """Whether the refined answer is right."""
        return self.cause is not None and bool({self.cause, self.limitation} & set(self.allowed))

    @property
    def is_paper_right(self) -> bool:
        """Whether the paper's tree is right, as far as its words go."""
        limitations = {word.split("/")[0] for word in self.allowed}
        return vocabulary.is_paper_right(self.paper, limitations)

    @property
    def limitation(self) -> str | None:
        """The limitation of the answer."""
        return self.cause.split("/")[0] if self.cause else None

    @property
    def expected_limitation(self) -> str:
        """The limitation that is true."""
        return self.expected.split("/")[0]


class Shares(NamedTuple):
    """Shares of the time of an interval, of the classes in their order."""

    name: str
    tap: str
    found: tuple[float, ...]
    true: tuple[float, ...]


class Capacity(NamedTuple):
    """A capacity and what was configured."""

    name: str
    tap: str
    configured_bps: float
    found_bps: float | None
    unknown: str | None
    """Why it was not found."""


class LeftOut(NamedTuple):
    """A span whose truth is not what its label says."""

    name: str
    variant: str
    expected: str
    reason: str
