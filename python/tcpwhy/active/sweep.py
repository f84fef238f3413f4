"""One test for each value of a setting, and a chart of what came of it."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tcpwhy._core import UsageError
from tcpwhy.active.number import prefixed
from tcpwhy.units import as_rate

SETTINGS = {"sndbuf": "sndbuf", "rcvbuf": "rcvbuf", "pace": "pace", "cc": "controller"}
"""What can be swept, and what the option is called inside."""


class Point(NamedTuple):
    """A test of a sweep."""

    value: str
    throughput_bps: float
    limit: str
    evidence: str


def parse(text: str) -> tuple[str, list[str] | list[int]]:
    """Read WHAT=VALUE,VALUE."""
    name, equals, rest = text.partition("=")
    values = [value for value in rest.split(",") if value]
    if name not in SETTINGS or not equals or not values:
        known = ", ".join(SETTINGS)
        raise UsageError(f"{text!r}: a sweep is WHAT=VALUE,VALUE with one of {known}")
    if name == "cc":
        return SETTINGS[name], values
    return SETTINGS[name], [prefixed(value) for value in values]


def chart(name: str, points: Sequence[Point], width: int) -> Iterator[str]:
    """Draw a bar for each point, with the limit that stopped it there."""
    most = max((point.throughput_bps for point in points), default=0) or 1
    label = max([len(point.value) for point in points] + [len(name)])
    limit = max(len(point.limit) for point in points)
    room = max(10, width - label - limit - 18)
    yield f"{name.rjust(label)} {'throughput'.rjust(12)}  {'limit'.ljust(limit)}"
    for point in points:
        bar = "█" * max(1, round(point.throughput_bps / most * room))
        rate = as_rate(point.throughput_bps).rjust(12)
        yield f"{point.value.rjust(label)} {rate}  {point.limit.ljust(limit)}  {bar}"
