"""Transfers of a study, kept in a file as they are made, so that a long run can be gone on with."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tcpwhy._core import InputError


@dataclass(frozen=True)
class Point:
    """One transfer."""

    place: str
    controller: str
    loss: float
    repeat: int
    throughput_bps: float


class Journal:
    """Transfers by setting; with a path, those of earlier runs too, one line of JSON for each.

    Only transfers of the same length and seed count: others stay in the file, unused.
    """

    def __init__(self, path: Path | None, *, seconds: float, seed: int) -> None:
        self._path = path
        self._setting = {"seconds": seconds, "seed": seed}
        self._points: dict[tuple[str, str, float, int], Point] = {}
        if path is not None and path.exists():
            for point in self._read(path):
                self._points[_key(point)] = point

    def lacks(self, place: str, loss: float, controllers: Iterable[str], repeats: int) -> list[str]:
        """Name the controllers of which a repeat is missing."""
        return [
            name
            for name in controllers
            if any((place, name, loss, repeat) not in self._points for repeat in range(repeats))
        ]

    def add(self, points: Sequence[Point]) -> None:
        """Note transfers, in the file at once."""
        self._points |= {_key(point): point for point in points}
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(self._setting | asdict(one)) + "\n" for one in points)

    def points(
        self, place: str, loss: float, controllers: Iterable[str], repeats: int
    ) -> list[Point]:
        """Give the transfers of a place and a loss."""
        keys = ((place, name, loss, repeat) for name in controllers for repeat in range(repeats))
        return [self._points[key] for key in keys]

    def _read(self, path: Path) -> Iterable[Point]:
        lines = path.read_text(encoding="utf-8").split("\n")
        # A run that was killed while it wrote leaves a line without an end: made again.
        for number, line in enumerate(lines[:-1], 1):
            try:
                found = json.loads(line)
                setting = {name: found.pop(name) for name in self._setting}
                point = Point(**found)
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                text = f"{path}, line {number}: no transfer of this study; give another file"
                raise InputError(text) from error
            if setting == self._setting:
                yield point
        if lines[-1]:
            path.write_text("".join(f"{line}\n" for line in lines[:-1]), encoding="utf-8")


def _key(point: Point) -> tuple[str, str, float, int]:
    return (point.place, point.controller, point.loss, point.repeat)
