"""Runs everything and writes the page.

python -m accuracy [--quick] [--draw 11] [--output FILE] [--wrong wrong.jsonl]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TypeVar

from accuracy import elsewhere, labelled, page, policing, remedies, scenario, simulated, wild
from accuracy.judged import Judged

T = TypeVar("T")
ROOT = Path(__file__).parents[2]
VARIANTS = 6
"""Held-out variants of each scenario."""
DRAW = 11
"""The draw of the page. Those before it took part when thresholds were chosen."""
TENTH = 10


def main() -> None:
    """Measure, print, write."""
    options = parse()
    found = measure(options)
    text = page.page(found)
    print(text)
    output = options.output or (None if options.quick else ROOT / "docs" / "accuracy.md")
    if output:
        output.write_text(text, "utf-8")
    if options.wrong:
        write_wrong(found, options.wrong)


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="accuracy", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of everything")
    parser.add_argument("--draw", type=int, default=DRAW, help="which held-out variants are drawn")
    parser.add_argument("--workers", type=int, help="processes; as many as there are cores")
    parser.add_argument("--output", type=Path, help="where the page is written; docs unless quick")
    parser.add_argument("--wrong", type=Path, help="where all wrong answers are written, as JSON")
    shared = Path(os.environ.get("TCPWHY_SHARED", ROOT.parent / "shared")) / "captures"
    parser.add_argument("--captures", type=Path, default=shared, help="captures of others")
    return parser.parse_args()


def measure(options: argparse.Namespace) -> page.Findings:
    """Run what the options ask for."""
    cases = scenario.read_all(ROOT / "scenarios")
    labelled_cases = [case for case in cases if case.expects]
    variants = [
        variant
        for case in labelled_cases
        for variant in scenario.held_out(case, options.draw, VARIANTS)
    ]
    pairs = list(remedies.pairs(cases))
    if options.quick:
        cases, pairs = cases[::TENTH], pairs[::TENTH]
        variants = variants[:: TENTH * VARIANTS + 1]
    found = page.Findings(
        progress("scenarios", simulated.run_all(cases, options.workers)),
        progress("held-out scenarios", simulated.run_all(variants, options.workers)),
        progress("pairs", remedies.run_all(pairs, options.workers)),
        how=(
            f"This page is of {len(cases)} scenarios, {len(variants)} held-out variants "
            f"(draw {options.draw}) and {len(pairs)} pairs."
        ),
    )
    seeds = range(wild.JUDGED_FROM, wild.JUDGED_FROM + wild.WORLDS)
    seeds = seeds[:: TENTH if options.quick else 1]
    found.worlds = progress("worlds", wild.run_all(seeds, options.workers))
    seeds = elsewhere.SEEDS[:: TENTH if options.quick else 1]
    found.places = progress("places", elsewhere.run_all(seeds, options.workers))
    seeds = elsewhere.TURNED[:: TENTH if options.quick else 1]
    found.turned = progress("turned worlds", elsewhere.run_turned(seeds, options.workers))
    if (options.captures / "manifest.csv").exists():
        captures = policing.captures(options.captures)[:: TENTH if options.quick else 1]
        found.policing = progress("policing", policing.run_all(captures, options.workers))
        found.labelled = progress("labelled", labelled.run_all(options.captures))
    else:
        found.skipped.append("captures of others, which are not on this machine (TCPWHY_SHARED)")
    return found


def progress(words: str, results: Iterable[T]) -> list[T]:
    """Collect results and say on standard error how long it took."""
    start = time.monotonic()
    found = list(results)
    print(f"{words}: {len(found)} in {time.monotonic() - start:.0f} s", file=sys.stderr)
    return found


def write_wrong(found: page.Findings, path: Path) -> None:
    """Write every wrong answer with what held the sender back and the evidence given.

    Not of the report half of the policing study: thresholds are not to be chosen by it.
    """
    groups: list[Sequence[Judged]] = [
        outcome.intervals for outcome in (*found.scenarios, *found.held_out)
    ]
    groups += [
        [row for row in rows if row.group == "development"]
        for outcome in found.policing
        for rows in outcome.rows.values()
    ]
    with path.open("w") as file:
        for row in (row for rows in groups for row in rows if not row.is_right):
            file.write(json.dumps(asdict(row)) + "\n")


if __name__ == "__main__":
    main()
