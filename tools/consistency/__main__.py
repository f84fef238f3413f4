"""Holds the rows of captures and random worlds against the rules, and writes the page.

python -m consistency [--quick] [--worlds 400] [--output FILE] [--rows RULE]
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from consistency import page, rows
from consistency.check import check

ROOT = Path(__file__).parents[2]
WORLDS_FROM = 700_000
"""Seeds that neither fitted, nor calibrated, nor judge in the simulator.

Some of these worlds were recorded on the kernel for that.
"""
WORLDS = 400
TENTH = 10


def main() -> int:
    """Gather, check, write; 1 if a row breaks a rule."""
    options = parse()
    found = gather(options)
    connection = found.connect()
    results = check(connection)
    text = page.page(found, results, page.counts(connection))
    print(text)
    output = options.output or (None if options.quick else ROOT / "docs" / "consistency.md")
    if output:
        output.write_text(text, "utf-8")
    if options.rows:
        print(page.rows(connection, options.rows, options.columns))
    return int(any(result.broken for result in results))


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="consistency", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of everything; no page")
    parser.add_argument("--worlds", type=int, default=WORLDS, help="how many random worlds")
    parser.add_argument("--workers", type=int, help="processes; as many as there are cores")
    parser.add_argument("--output", type=Path, help="where the page is written; docs unless quick")
    parser.add_argument("--rows", metavar="RULE", help="print rows that break this rule")
    parser.add_argument("--columns", default="limitation, cause, evidence", help="which columns")
    shared = Path(os.environ.get("TCPWHY_SHARED", ROOT.parent / "shared")) / "captures"
    parser.add_argument("--captures", type=Path, default=shared, help="captures of others")
    return parser.parse_args()


def gather(options: argparse.Namespace) -> rows.Found:
    """Make the rows."""
    start = time.monotonic()
    step = TENTH if options.quick else 1
    paths = [*rows.captures(ROOT / "tests" / "data"), *rows.captures(options.captures)][::step]
    found = rows.of_captures(paths, options.workers)
    seeds = range(WORLDS_FROM, WORLDS_FROM + options.worlds)[::step]
    found.merge(rows.of_worlds(seeds, options.workers))
    seconds = time.monotonic() - start
    print(f"{found.captures} captures, {found.worlds} worlds: {seconds:.0f} s", file=sys.stderr)
    return found


if __name__ == "__main__":
    sys.exit(main())
