"""Runs random worlds and writes what the analysis says beside what is true, as Parquet.

python tools/worlds.py --seeds 0-3000 --output FOLDER [--tap all] [--workers 2] [--report]

One file for each hundred seeds; a file that is there is not made again, so a run that was stopped
goes on where it was. --report prints how often today's verdict is right, by what is true.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as parquet

from tcpwhy import worlds

TAPS = ("sender", "middle", "receiver", "flawed")
PER_FILE = 100


def main() -> None:
    """Run what is missing, and report."""
    options = parse()
    first, last = options.seeds
    options.output.mkdir(parents=True, exist_ok=True)
    taps = None if options.tap == "all" else [options.tap]
    files = []
    for begin, end in pieces(first, last):
        path = options.output / f"worlds-v{worlds.VERSION}-{options.tap}-{begin}-{end}.parquet"
        files.append(path)
        if not path.exists():
            make(path, range(begin, end), taps, options.workers)
    if options.report:
        print(report(files))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=Raw)
    parser.add_argument("--seeds", type=span, required=True, help="FIRST-LAST, the last excluded")
    parser.add_argument("--output", type=Path, required=True, help="folder for the files")
    parser.add_argument("--tap", choices=["all", *TAPS], default="all")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--report", action="store_true", help="print the table of accuracy")
    return parser.parse_args()


class Raw(argparse.RawDescriptionHelpFormatter):
    """Keeps the lines of the description."""


def span(text: str) -> tuple[int, int]:
    first, _, last = text.partition("-")
    if not (first.isdecimal() and last.isdecimal() and int(first) < int(last)):
        raise argparse.ArgumentTypeError(f"{text!r}: expected FIRST-LAST, such as 0-3000")
    return int(first), int(last)


def pieces(first: int, last: int) -> Iterator[tuple[int, int]]:
    """Cut the seeds at multiples of a hundred, so that spans of seeds share files."""
    while first < last:
        end = min(last, first - first % PER_FILE + PER_FILE)
        yield first, end
        first = end


def make(path: Path, seeds: range, taps: list[str] | None, workers: int) -> None:
    begin = time.monotonic()
    tables = [table for table in worlds.judged_all(seeds, taps=taps, workers=workers) if len(table)]
    table = pa.concat_tables(tables, promote_options="default")
    # Whole or not at all: a file that is there is a file that is finished.
    part = path.with_suffix(".part")
    parquet.write_table(table, part, compression="zstd")
    part.rename(path)
    seconds = time.monotonic() - begin
    print(f"{path.name}: {len(table)} intervals in {seconds:.1f} s", file=sys.stderr)


def report(files: list[Path]) -> str:
    """Say how often the verdict is right, by what is true and by tap."""
    connection = duckdb.connect()
    connection.read_parquet([str(path) for path in files], union_by_name=True).create_view("rows")
    connection.execute(
        """CREATE VIEW told AS SELECT *, coalesce(
            list_contains(string_split(true_limitations, ' '), limitation), false) AS is_right
        FROM rows WHERE true_limitation IS NOT NULL"""
    )
    lines = [f"{'truth':22}{'intervals':>10}{'right':>8}   most frequent wrong answer"]
    query = """WITH wrong AS (
            SELECT true_limitation, limitation, count(*) AS n FROM told WHERE NOT is_right
            GROUP BY ALL)
        SELECT true_limitation, count(*), avg(is_right::INT),
            (SELECT arg_max(coalesce(limitation, 'NULL'), n) FROM wrong
             WHERE wrong.true_limitation = told.true_limitation)
        FROM told GROUP BY ALL ORDER BY 2 DESC"""
    for truth, count, right, wrong in connection.execute(query).fetchall():
        lines.append(f"{truth:22}{count:10}{right:8.1%}   {wrong or ''}")
    total = "SELECT count(*), avg(is_right::INT) FROM told"
    count, right = connection.execute(total).fetchall()[0]
    lines += [f"{'all':22}{count:10}{right:8.1%}", ""]
    for heading, column in (("tap", "tap"), ("confidence", "confidence")):
        lines.append(f"{heading:22}{'intervals':>10}{'right':>8}")
        query = f"SELECT {column}, count(*), avg(is_right::INT) FROM told GROUP BY ALL ORDER BY 2"
        for word, count, right in connection.execute(query).fetchall():
            lines.append(f"{word or 'NULL':22}{count:10}{right:8.1%}")
        lines.append("")
    lines.append(f"{'left out':44}{'intervals':>10}")
    query = "SELECT untellable, count(*) FROM rows WHERE untellable IS NOT NULL GROUP BY 1"
    for why, count in connection.execute(f"{query} ORDER BY 2 DESC").fetchall():
        lines.append(f"{why:44}{count:10}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
