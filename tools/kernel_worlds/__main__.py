"""Records random worlds on the kernel's TCP and judges the analysis by them.

    python -m kernel_worlds record FOLDER FIRST-LAST [WORKERS]   needs root
    python -m kernel_worlds report FOLDER [FIRST-LAST]           a table of what is right
    python -m kernel_worlds page FOLDER                          the same into docs/worlds.md
    python -m kernel_worlds rows FOLDER OUTPUT.parquet           all intervals beside the truth

A world that the emulator could not carry in time, or that the kernel cannot run, is counted with
its reason. FIRST-LAST are seeds, the last excluded. What was recorded is not recorded again.
Seeds from 900000 on are of plain cases: one limit each.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

from kernel_worlds import judged, record

NUMBERS = re.compile(r"\d[\d.]*")


def main() -> None:
    """Do what is asked."""
    match sys.argv[1:]:
        case ["one", seed, folder]:
            record.one(int(seed), Path(folder))
        case ["record", folder, span, *workers]:
            seeds = _span(span)
            failed = list(record.record_all(seeds, Path(folder), int(*workers) if workers else 3))
            print(f"{len(seeds) - len(failed)} of {len(seeds)} worlds count")
            for why, count in Counter(_kind(why) for _, why in failed).most_common():
                print(f"  {count:5,}  {why}")
        case ["report", folder, *span]:
            print(judged.report(Path(folder), _span(*span) if span else None))
        case ["page", folder]:
            judged.page(Path(folder))
        case ["rows", folder, output]:
            judged.write(Path(folder), Path(output))
        case _:
            sys.exit(__doc__)


def _kind(why: str) -> str:
    """Give a reason without the numbers that differ from world to world."""
    return NUMBERS.sub("N", why.split("is for the simulator: ")[-1])


def _span(words: str) -> range:
    first, last = words.split("-")
    return range(int(first), int(last))


if __name__ == "__main__":
    main()
