"""Fits the evidence model and writes it into core: `make fit`.

python -m fit [--worlds 57600 …] [--first 170000 …] [--candidates 0] [--recordings FOLDER]
    [--onto FILE] [--drop 0] [--grow 400] [--cache FOLDER] [--output FILE]
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from accuracy import policing, wild
from fit import choose, forest, gather, mending, varying, weights
from fit.calibration import Calibration, are_right, calibrate, expected_error
from fit.forest import Forest, Tree
from fit.gather import ROOT, Rows
from kernel_worlds import judged
from tcpwhy import worlds

WEIGHTS = ROOT / "crates/core/src/diagnosis/model/weights.bin"


def main() -> None:
    """Gather, fit, calibrate, write."""
    options = parse()
    outputs = len(gather.CLASSES) + len(wild.KINDS)
    onto: list[str] = []
    before: list[Tree] = []
    if options.onto:
        onto, before = weights.read(options.onto, outputs, gather.items())
        if options.drop >= len(before):
            raise SystemExit(f"fit: --drop {options.drop} leaves none of {len(before)} trees")
    fitted = sources(options, before)
    rows = gather.together(list(fitted.values()))
    rows = gather.those(rows, rows.main >= 0)
    right, main = varying.outputs(rows)
    mend = partial(mending.mended, values=rows.values, right=right, main=main, weight=again(fitted))
    if options.drop:
        kept = mending.without_least(before, some(rows.values), options.drop)
        before = mend(kept, earlier=len(kept)).trees()
    trees = before
    if options.grow:
        rounds = options.grow
        trees = forest.fit(
            rows.values, right, main, rows.weight, options.workers, before, rounds
        ).trees()
    stages = mending.STAGES if options.grow else mending.ANEW
    model = mend(trees, earlier=len(before), stages=stages)
    held = gather.together(list(held_out(options).values()))
    calibration = calibrate(held, model.logits(held.values), held.weight)
    said = head(options, fitted, stages, calibration)
    said[-2:-2] = [named(line, len(before)) for line in onto if "worlds: " in line]
    weights.write(options.output, said, model, calibration)
    report(model, calibration, held)
    varying.report(model, held)


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="fit", description=__doc__)
    parser.add_argument(
        "--worlds", type=int, nargs="+", default=[57600], help="worlds that are fitted, by range"
    )
    parser.add_argument(
        "--first", type=int, nargs="+", default=[170000], help="seed of the first of each range"
    )
    parser.add_argument(
        "--candidates",
        type=int,
        default=0,
        help="worlds of which those are fitted besides that teach most, by the trees of --onto",
    )
    parser.add_argument("--turned", type=int, default=7200, help="turned worlds that are fitted")
    parser.add_argument(
        "--ns3", type=int, default=4800, help="worlds drawn for ns-3 that are fitted"
    )
    parser.add_argument("--held", type=int, default=3600, help="worlds that calibrate")
    parser.add_argument("--variants", type=int, default=6, help="variants of each scenario")
    parser.add_argument("--cache", type=Path, default=ROOT / "target" / "fit")
    parser.add_argument("--output", type=Path, default=WEIGHTS)
    parser.add_argument("--workers", type=int, default=2, help="processes")
    shared = Path(os.environ.get("TCPWHY_SHARED", ROOT.parent / "shared")) / "captures"
    parser.add_argument("--captures", type=Path, default=shared, help="captures of others")
    parser.add_argument("--recordings", type=Path, help="of kernel_worlds")
    parser.add_argument("--onto", type=Path, help="weights onto whose trees a few more grow")
    parser.add_argument(
        "--drop", type=int, default=0, help="trees of --onto that go first: those that say least"
    )
    parser.add_argument(
        "--grow",
        type=int,
        help=f"trees that grow: {forest.ROUNDS} unless given, or {forest.ROUNDS_ONTO} onto others;"
        " onto others 0 as well, so that these are mended alone",
    )
    options = parser.parse_args()
    if options.grow is None:
        options.grow = forest.ROUNDS_ONTO if options.onto else forest.ROUNDS
    if options.grow < (0 if options.onto else 1):
        parser.error("--grow is a count of trees, 1 or more; 0 goes with --onto FILE")
    if options.drop < 0:
        parser.error("--drop is a count of trees, 0 or more")
    if options.drop and not options.onto:
        parser.error("--drop goes with --onto FILE: it leaves out some of its trees")
    if options.candidates and not options.onto:
        parser.error("--candidates goes with --onto FILE: worlds are chosen by what its trees say")
    return options


def some(values: np.ndarray) -> np.ndarray:
    """Give as many rows, by chance, as show what a tree says."""
    if len(values) <= SHOW:
        return values
    return values[np.random.default_rng(3).choice(len(values), SHOW, replace=False)]


def sources(options: argparse.Namespace, before: list[Tree]) -> dict[str, Rows]:
    """Give the rows of each source that is fitted, weighted."""
    ask = partial(gather.gather, cache=options.cache, workers=options.workers)
    variants = gather.variants(gather.DRAW_FIT, options.variants)
    of_worlds = [
        ask("worlds at a tap", part, gather.of_world_at_one_tap) for part in seeds(options)
    ]
    found = {
        "worlds": gather.thinned(gather.together(of_worlds), OF_WORLD),
        "variants": ask("variants", variants, gather.of_variant),
    }
    if options.candidates:
        first = gather.thinned(of_worlds[0], OF_WORLD)
        chooser = choose.Chooser.learn(first, before, options.workers)
        found["chosen worlds"] = chosen(options, chooser)
    plain = sum(float(found[name].weight.sum()) for name in found if name.endswith("worlds"))
    for kind, part in others(options).items():
        one = partial(gather.of_other_at_one_tap, kind)
        rows = gather.thinned(ask(f"{kind} worlds", part, one), OF_WORLD)
        share = BESIDE[kind] * plain / float(rows.weight.sum())
        found[f"{kind} worlds"] = weighted(rows, share)
    if (options.captures / "manifest.csv").exists():
        files = policing.captures(options.captures)
        files = [file for file in files if file.part == "development"]
        found["policing"] = ask("policing", files, gather.of_policing)
        real = partial(gather.of_real, options.captures)
        found["real"] = ask("real", gather.real_halves(judges=False), real)
    if options.recordings:
        found["recordings"] = recordings(options, "recordings", "fit")
    is_world = {name: name.endswith("worlds") for name in found}
    more = sum(float(found[name].weight.sum()) for name in found if is_world[name]) / WEIGHT_AT
    return {
        name: rows if is_world[name] else weighted(rows, WEIGHT[name] * more)
        for name, rows in found.items()
    }


def chosen(options: argparse.Namespace, chooser: choose.Chooser) -> Rows:
    """Give the rows of the worlds that teach most, weighted for those that were not taken."""
    parts: list[Rows] = []
    weight: dict[str, float] = {}
    for part in parts_of(range(CANDIDATES_FROM, CANDIDATES_FROM + options.candidates)):
        taken = dict(chooser.weights(part))
        weight |= {f"world {seed}": share for seed, share in taken.items()}
        one = gather.of_world_at_one_tap
        parts.append(gather.gather("chosen worlds", taken, one, options.cache, options.workers))
    rows = gather.thinned(gather.together(parts), OF_WORLD)
    groups, world = np.unique(rows.group, return_inverse=True)
    share = np.array([weight[group] for group in groups], np.float32)
    return replace(rows, weight=rows.weight * share[world])


def parts_of(seeds: range) -> list[range]:
    """Cut candidates into parts, so that a run that was stopped goes on where it was."""
    return [seeds[at : at + PART] for at in range(0, len(seeds), PART)]


def seeds(options: argparse.Namespace) -> list[range]:
    """Give the seeds of the worlds that are fitted."""
    ranges = zip(options.first, options.worlds, strict=True)
    return [range(first, first + count) for first, count in ranges]


def others(options: argparse.Namespace) -> dict[str, range]:
    """Give the seeds of other generators that are fitted."""
    counts = {"turned": options.turned, "ns3": options.ns3}
    found = {kind: range(OTHERS_FROM[kind], OTHERS_FROM[kind] + counts[kind]) for kind in counts}
    return {kind: part for kind, part in found.items() if part}


def recordings(options: argparse.Namespace, name: str, purpose: str) -> Rows:
    """Give the rows of those recordings that serve a purpose."""
    seeds = judged.seeds(options.recordings, None)
    return gather.gather(
        name,
        [seed for seed in seeds if judged.purpose(seed) == purpose],
        partial(gather.of_recording, options.recordings),
        options.cache,
        options.workers,
    )


def held_out(options: argparse.Namespace) -> dict[str, Rows]:
    """Give the rows that calibrate: none of them was fitted."""
    ask = partial(gather.gather, cache=options.cache, workers=options.workers)
    seeds = range(CALIBRATE_FROM, CALIBRATE_FROM + options.held)
    variants = gather.variants(gather.DRAW_CALIBRATE, 1)
    found = {
        "worlds": ask("held worlds", seeds, gather.of_world),
        "variants": ask("held variants", variants, gather.of_variant),
    }
    for kind, part in OTHERS_HELD.items():
        one = partial(gather.of_other, kind)
        found[f"{kind} worlds"] = ask(f"held {kind} worlds", part, one)
    if options.recordings:
        found["recordings"] = recordings(options, "held recordings", "calibrate")
    return {name: weighted(rows, HELD_WEIGHT[name]) for name, rows in found.items()}


def weighted(rows: Rows, weight: float) -> Rows:
    """Weigh rows against those of other sources."""
    return replace(rows, weight=rows.weight * weight)


def again(fitted: dict[str, Rows]) -> np.ndarray:
    """Give the weights of all rows with a truth for the second time that they are looked at."""
    parts = [
        rows.weight[rows.main >= 0] * WEIGHT_AGAIN.get(name, 1.0) for name, rows in fitted.items()
    ]
    return np.concatenate(parts)


def head(
    options: argparse.Namespace,
    fitted: dict[str, Rows],
    stages: Sequence[mending.Stage],
    found: Calibration,
) -> list[str]:
    """Say where the numbers come from."""
    counts = ", ".join(f"{int((rows.main >= 0).sum())} of {name}" for name, rows in fitted.items())
    names = gather.items()
    parts = ", ".join(f"{part[0]} to {part[-1]}" for part in seeds(options))
    chosen_of = ""
    if options.candidates:
        chosen_of = f"; chosen of {options.candidates} from {CANDIDATES_FROM}"
    besides, held = spans(others(options)), spans(OTHERS_HELD)
    return [
        "tcpwhy evidence model 6, made by make fit",
        f"worlds: generator {worlds.VERSION}, seeds {parts}{chosen_of}",
        f"others: {besides}",
        f"variants: draw {gather.DRAW_FIT}, {options.variants} of each scenario",
        f"intervals: {counts}",
        f"mended: {sum(stage.passes for stage in stages)} times",
        f"calibrated: seeds {CALIBRATE_FROM} to {CALIBRATE_FROM + options.held - 1}, {held}, "
        f"variants of draw {gather.DRAW_CALIBRATE}; high from {found.alone.cuts[1]:.3f}, "
        f"of a whole from {found.whole.cuts[1]:.3f}",
        "outputs: " + " ".join([*gather.CLASSES, *wild.KINDS]),
        "items: " + " ".join(names[: len(names) // 2]),
    ]


def spans(of_generators: dict[str, range]) -> str:
    """Name the seeds of generators."""
    return ", ".join(f"{kind} {part[0]} to {part[-1]}" for kind, part in of_generators.items())


def named(line: str, trees: int) -> str:
    """Say of how many trees an earlier head is that names these worlds; some of its lines do."""
    _, onto, rest = line.rpartition("onto ")
    return onto + rest if onto else f"onto {trees} trees: {line}"


def report(model: Forest, calibration: Calibration, rows: Rows) -> None:
    """Print how the model does on what calibrated it."""
    chances, probability, high = calibration.judged(rows, model.logits(rows.values))
    right = are_right(rows, chances)
    is_world = np.char.startswith(rows.group, "world ")
    is_recording = np.char.startswith(rows.group, "recording ")
    others = {kind: np.char.startswith(rows.group, f"{kind} ") for kind in OTHERS_HELD}
    is_variant = ~np.any([is_world, is_recording, *others.values()], axis=0)
    parts = {"worlds": is_world, "recordings": is_recording, **others, "variants": is_variant}
    for name, part in parts.items():
        mine = (rows.main >= 0) & part
        if not mine.any():
            continue
        print(
            f"{name}: {right[mine].mean():.1%} of {mine.sum()}, high {high[mine].mean():.1%} "
            f"right {right[mine & high].mean():.1%}, "
            f"ECE {expected_error(probability[mine], right[mine]):.3f}"
        )
    print(
        f"stay {calibration.stay_a_second}, trust {calibration.trust}, "
        f"cuts {calibration.alone.cuts} alone, {calibration.revised.cuts} by those around"
    )


WEIGHT = {"variants": 4.0, "policing": 4.0, "real": 10.0, "recordings": 16.0}
# The worlds are many enough to be learned by heart; the leaves should not forget a kernel for it.
WEIGHT_AGAIN = {"recordings": 1.2}
WEIGHT_AT = 713_000
"""Of so many intervals of worlds; of more the other sources weigh more, too."""
# Recordings weigh about as much as worlds: what a confidence means on a kernel counts.
HELD_WEIGHT = {
    "worlds": 1.0,
    "turned worlds": 0.5,
    "ns3 worlds": 0.5,
    "variants": 0.02,
    "recordings": 5.0,
}
CALIBRATE_FROM = 100_000
CANDIDATES_FROM = 10_000_000
BESIDE = {"turned": 0.3, "ns3": 0.15}
"""What the worlds of other generators weigh together, beside the plain ones."""
OTHERS_FROM = {"turned": 40_000_000, "ns3": 20_000}
OTHERS_HELD = {"turned": range(41_000_000, 41_001_200), "ns3": range(10_000, 10_800)}
PART = 96_000
SHOW = 100_000
OF_WORLD = 12
"""Intervals of a world that are fitted: those of one have much in common."""

if __name__ == "__main__":
    main()
