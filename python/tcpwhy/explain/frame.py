"""Why one frame was counted as what it was, with the frames that prove it.

It may be new data, a kind of retransmission, late, a probe, a copy or an acknowledgement. What
Wireshark calls it stands beside it, and why that differs where it does.
"""

from collections.abc import Iterator
from os import PathLike
from typing import Any, NamedTuple

from tcpwhy.explain import wireshark
from tcpwhy.explain.acks import acknowledgement, later
from tcpwhy.explain.argument import Argument
from tcpwhy.explain.data import TELLERS
from tcpwhy.explain.trace import Flow, Segment, Trace


class Explanation(NamedTuple):
    """The argument for the class of one frame."""

    segment: Segment
    flow: Flow
    headline: str
    """What the frame is."""
    why: list[str]
    """What was known when it came, and which rule decided."""
    later: list[str]
    """What came of it."""
    wireshark: list[str]
    """What Wireshark calls it, and why that differs where it does."""
    frames: list[Segment]
    """The frames that prove it, this one among them."""

    @property
    def filter(self) -> str:
        """A display filter that shows these frames."""
        return f"frame.number in {{{', '.join(str(row.frame) for row in self.frames)}}}"

    def record(self) -> dict[str, Any]:
        """Give the same facts as plain values."""
        told = self._asdict() | {"filter": self.filter}
        told |= {"segment": self.segment._asdict(), "flow": self.flow._asdict()}
        return told | {"frames": [row._asdict() for row in self.frames]}


def explain_frame(capture: str | PathLike[str], frame: int) -> Explanation:
    """Say why a frame of a capture was counted as what it was.

    Raises:
        UsageError: when there is no such frame, or no TCP in it.
        InputError: for a capture that cannot be read.

    """
    case = Argument(Trace(capture, frame))
    tell = TELLERS.get(case.segment.kind, acknowledgement)
    return Explanation(
        segment=case.segment,
        flow=case.trace.flow,
        headline=case.headline(),
        why=[*map(_capital, tell(case))],
        later=[*map(_capital, later(case))],
        wireshark=[*map(_capital, compared(case))],
        # Last: the sentences before cite them.
        frames=case.trace.frames(sorted({frame, *case.cited})),
    )


def compared(case: Argument) -> Iterator[str]:
    """Say what Wireshark calls it."""
    label = wireshark.label(case.trace)
    if label is None:
        yield "Wireshark has no remark about it."
        return
    yield f"Wireshark calls it [{label.text}]: {label.because}."
    yield from wireshark.difference(case.segment, label)


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
