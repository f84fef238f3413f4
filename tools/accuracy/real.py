"""Real captures, with an expert's verdict on each large direction (`real.toml`).

`python -m accuracy.real CAPTURES` prints what tcpwhy says beside what the expert said.
"""

from __future__ import annotations

import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import tcpwhy

LIST = Path(__file__).with_name("real.toml")
NULL = "null"


@dataclass(frozen=True, kw_only=True)
class Direction:
    """One direction of a real connection, and what limits it by an expert's eye."""

    capture: str
    stream: int
    src: str
    accept: tuple[str, ...]
    evidence: str
    sure: bool = True
    twin: str | None = None
    """A capture of the same recording, or of the same program."""
    developed: bool = False
    """Its answer was looked into before a rule was changed."""

    @property
    def judges(self) -> bool:
        """Whether it only judges: nothing may be chosen by it."""
        is_odd = int(self.capture[1:]) % 2 == 1
        return is_odd and self.twin is None and not self.developed


@dataclass(frozen=True)
class Answer:
    """What tcpwhy says of one direction."""

    direction: Direction
    limitation: str | None
    confidence: str | None

    @property
    def is_right(self) -> bool:
        """Whether the expert accepts it."""
        return (self.limitation or NULL) in self.direction.accept


def directions() -> list[Direction]:
    """Read the list."""
    with LIST.open("rb") as file:
        listed = tomllib.load(file)["direction"]
    return [Direction(**{**row, "accept": tuple(row["accept"])}) for row in listed]


def answers(captures: Path) -> list[Answer]:
    """Ask tcpwhy for each direction: the largest flow from that address and port."""
    found, rows = [], {}
    for direction in directions():
        if direction.capture not in rows:
            file = next(captures.glob(f"*/{direction.capture}__*"))
            rows[direction.capture] = tcpwhy.analyze(str(file)).to_arrow("flows").to_pylist()
        host, port = direction.src.rsplit(":", 1)
        mine = [
            row
            for row in rows[direction.capture]
            if (row["src"], row["src_port"]) == (host, int(port))
        ]
        row = max(mine, key=lambda row: row["unique_bytes"])
        found.append(Answer(direction, row["limitation"], row["confidence"]))
    return found


def main() -> None:
    """Print a line for each direction."""
    for answer in answers(Path(sys.argv[1])):
        direction = answer.direction
        right = "right" if answer.is_right else "WRONG" if direction.sure else "argued"
        half = "judges" if direction.judges else "develops"
        said = f"{answer.limitation or NULL} ({answer.confidence})"
        print(f"{right:6} {half:8} {direction.capture} {direction.stream:3} {said:32}", end=" ")
        print("|".join(direction.accept))


if __name__ == "__main__":
    main()
