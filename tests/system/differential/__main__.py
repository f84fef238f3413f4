"""Prints the differences of captures: `cd tests; python -m differential [--write] [CAPTURE…]`.

`--write` puts their counts into differences.toml.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from . import captures, table
from .compare import compare


def main() -> int:
    names = [word for word in sys.argv[1:] if word != "--write"]
    files = [Path(name) for name in names] or [*captures.own(), *captures.real()]
    found: dict[str, Counter[str]] = {}
    total: Counter[str] = Counter()
    unexplained = facts = 0
    for path in files:
        result = compare(path)
        found[captures.label(path)] = result.counts()
        total += result.counts()
        facts += result.compared
        unexplained += len(result.unexplained())
        print(f"{captures.label(path)}: {result.halves} halves, {result.compared} facts, ", end="")
        print(", ".join(f"{name} {count}" for name, count in sorted(result.counts().items())))
        for item in result.unexplained():
            print(f"    {item}")
    print(f"\n{facts} facts in {len(files)} captures; differences by class:")
    for name, count in total.most_common():
        print(f"  {count:5} {name}")
    print(f"  {unexplained:5} unexplained")
    if "--write" in sys.argv:
        table.write(table.read(), found)
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
