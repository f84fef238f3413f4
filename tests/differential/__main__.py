"""Prints the differences of captures: `python -m differential [--write] [CAPTURE…]` in tests/."""

from __future__ import annotations

import sys
from pathlib import Path

from . import captures
from .compare import compare


def main() -> None:
    files = [Path(name) for name in sys.argv[1:]] or [*captures.own(), *captures.real()]
    for path in files:
        result = compare(path)
        print(f"{path.name}: {result.halves} halves, {result.compared} facts,"
              f" {dict(result.counts())}")
        for item in result.unexplained():
            print(f"    {item}")


if __name__ == "__main__":
    main()
