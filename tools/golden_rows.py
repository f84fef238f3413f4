#!/usr/bin/env python3
"""Keeps every row that a build gives over many captures, and compares two such sets.

    tools/golden_rows.py keep FILE [CAPTURE…] [--workers 1] [--program PATH]
    tools/golden_rows.py compare BEFORE AFTER

A capture's rows are kept in the order of their text: neither the number of workers nor the order
in which flows end matters. Without captures those of the tests are read, and what lies in
`../shared/captures`. `compare` counts the rows and columns that differ, shows the first few, and
fails if there are any.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = ROOT / "target" / "release" / "examples" / "throughput"
FOLDERS = (ROOT / "tests" / "data", ROOT.parent / "shared" / "captures")
# What names a row: two rows with the same values here are the same row, before and after.
NAMES = ("flow_id", "direction", "start_ns", "frame", "name")
SHOWN = 20


def captures() -> list[Path]:
    """Every file of the usual folders, damaged ones included."""
    files = (path for folder in FOLDERS for path in sorted(folder.rglob("*")))
    return [path for path in files if path.is_file() and path.suffix not in (".md", ".csv")]


def keep(options: argparse.Namespace) -> None:
    """Writes the rows of all captures, each capture's in the order of their text."""
    given = options.captures or captures()
    command = [str(options.program), "rows", str(options.workers), *map(str, given)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    with options.file.open("w") as out:
        for head, rows in sections(said.splitlines()):
            print(head, *sorted(rows), sep="\n", file=out)


def sections(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """The lines of each capture, with the line that names it."""
    head, rows = "", list[str]()
    for line in lines:
        if line.startswith("== "):
            if head:
                yield head, rows
            head, rows = line, []
        else:
            rows.append(line)
    if head:
        yield head, rows


def compare(before: Path, after: Path) -> int:
    """Counts what differs, and shows the first of it."""
    columns, shown, differing = Counter[str](), 0, 0
    old, new = (dict(sections(path.read_text().splitlines())) for path in (before, after))
    for head in sorted(old.keys() | new.keys()):
        mine, theirs = Counter(old.get(head, [])), Counter(new.get(head, []))
        gone, come = sorted((mine - theirs).elements()), sorted((theirs - mine).elements())
        differing += max(len(gone), len(come))
        for table, changes in changed(gone, come):
            columns.update(f"{table} {change.partition(':')[0]}" for change in changes)
            if shown < SHOWN:
                print(head, table, *changes, sep="\n    ")
                shown += 1
    for column, count in columns.most_common():
        print(f"{count:8} {column}")
    rows = sum(map(len, new.values()))
    print(f"{differing} of {rows} rows differ in {len(new)} captures")
    return int(differing > 0)


def changed(gone: list[str], come: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Pairs rows by their names; what has no partner is gone or new as a whole."""
    partners = {name(row): row for row in come}
    for row in gone:
        table, cells = parse(row)
        other = partners.pop(name(row), None)
        if other is None:
            yield table, [f"gone: {row}"]
            continue
        now = parse(other)[1]
        keys = [key for key in cells | now if cells.get(key) != now.get(key)]
        yield table, [f"{key}: {cells.get(key)} -> {now.get(key)}" for key in keys]
    for row in partners.values():
        yield row.partition("\t")[0], [f"new: {row}"]


def parse(row: str) -> tuple[str, dict[str, str]]:
    """A row's table, and its cells by column."""
    table, *cells = row.split("\t")
    return table, dict(cell.partition("=")[::2] for cell in cells)


def name(row: str) -> tuple[str, ...]:
    """What tells a row from the others."""
    table, cells = parse(row)
    return (table, *(cells.get(key, "") for key in NAMES))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    keeping = verbs.add_parser("keep", help="write the rows of a build")
    keeping.add_argument("file", type=Path)
    keeping.add_argument("captures", type=Path, nargs="*")
    keeping.add_argument("--workers", type=int, default=1)
    keeping.add_argument("--program", type=Path, default=PROGRAM)
    comparing = verbs.add_parser("compare", help="say what differs")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    options = parser.parse_args()
    if options.verb == "compare":
        return compare(options.before, options.after)
    keep(options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
