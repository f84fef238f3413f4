"""Signals in order: what is finished is written, and the exit code is 130."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""What ends a run. One that was ignored from the start, as nohup does, stays ignored."""


@contextmanager
def stopping(stop: Callable[[], object] = lambda: None) -> Iterator[list[int]]:
    """Note the signals that come in the list that is given.

    The first one calls `stop`, which ends the run in order; the second ends it at once.
    """
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)
        if len(came) > 1:
            raise KeyboardInterrupt
        stop()

    before = _take(note)
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def interrupt() -> list[int]:
    """Let every signal do what Ctrl-C does, where no run looks after them; give those that come."""
    came: list[int] = []

    def raised(number: int, frame: FrameType | None) -> None:
        came.append(number)
        raise KeyboardInterrupt

    _take(raised)
    return came


def _take(handler: Callable[[int, FrameType | None], None]) -> dict[int, Any]:
    wanted = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    return {number: signal.signal(number, handler) for number in wanted}
