"""Gathers what the items of evidence say of intervals whose truth is known, as numpy arrays.

Each source is cut by what it is for: fitting, calibration, judging. No draw serves two of them.
"""

from __future__ import annotations

import functools
import hashlib
import random
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, fields, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import tcpwhy
from accuracy import policing, real, scenario, simulated, truth, turned
from accuracy.scenario import Case
from kernel_worlds import judged
from ns3_worlds import draw, ours
from tcpwhy import _core, vocabulary, worlds

ROOT = Path(__file__).parents[2]
CLASSES = [each.word for each in vocabulary.limitations() if each.word != "mixed"]
"""The answers of the model, in the order of the core."""
KEYS = ("flow_id", "direction", "start_ns", "end_ns")


@dataclass
class Rows:
    """Intervals in the order of time, those of a direction at a tap one after the other."""

    values: np.ndarray
    """Items by row; NaN where there is none."""
    right: np.ndarray
    """Whether each class is right, by row."""
    main: np.ndarray
    """The number of the main answer; -1 where nobody can tell."""
    series: np.ndarray
    """The direction at a tap that a row belongs to: equal numbers lie together."""
    seconds: np.ndarray
    """Length of the interval."""
    group: np.ndarray
    """Where the row comes from: a world's seed, a variant, a capture."""
    tap: np.ndarray
    told: np.ndarray
    """The limitation that the rows said when they were gathered."""
    weight: np.ndarray


def items() -> list[str]:
    """The columns of the table of observations: items, then the same before."""
    return [name for name in _core.observations() if name not in KEYS]


def gather(
    name: str,
    cases: Iterable[Any],
    one: Callable[[Any], list[dict[str, Any]]],
    cache: Path,
    workers: int = 2,
) -> Rows:
    """Ask `one` for the rows of each case, on several processes; kept in files of `cache`.

    Each file has some cases: a run that was stopped goes on where it was.
    """
    cases = list(cases)
    cache.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    paths = []
    for first in range(0, len(cases), PER_FILE):
        some = cases[first : first + PER_FILE]
        paths.append(cache / f"{name}-{key(some)}.npz")
        if not paths[-1].exists():
            with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
                parts = [part for found in pool.map(one, some, chunksize=4) for part in found]
            part_path = paths[-1].with_suffix(".part.npz")
            np.savez(part_path, allow_pickle=False, **joined(parts))
            part_path.rename(paths[-1])
    seconds = time.monotonic() - begin
    print(f"{name}: {len(cases)} cases in {seconds:.0f} s", file=sys.stderr)
    return together([loaded(path) for path in paths])


def loaded(path: Path) -> Rows:
    """Read the rows of a file."""
    with np.load(path, allow_pickle=False) as kept:
        return Rows(**{field.name: kept[field.name] for field in fields(Rows)})


def together(parts: list[Rows]) -> Rows:
    """Put rows behind each other."""
    first, moved = 0, []
    for each in parts:
        moved.append(replace(each, series=each.series + first))
        first += int(each.series.max()) + 1
    names = [field.name for field in fields(Rows)]
    return Rows(*(np.concatenate([getattr(each, name) for each in moved]) for name in names))


def those(rows: Rows, which: np.ndarray) -> Rows:
    """Keep some rows, by their numbers or by whether each is kept."""
    return Rows(*(getattr(rows, field.name)[which] for field in fields(Rows)))


def thinned(rows: Rows, most: int) -> Rows:
    """Keep some rows of each group, drawn by chance: those of one world have much in common.

    What is kept weighs for what is left out, up to `HEAVIEST` rows each.
    """
    known = np.flatnonzero(rows.main >= 0)
    order = np.random.default_rng(1).permutation(known)
    _, group = np.unique(rows.group[order], return_inverse=True)
    by_group = np.argsort(group, kind="stable")
    counts = np.bincount(group)
    rank = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    kept = by_group[rank < most]
    share = np.clip(counts[group[kept]] / most, 1, HEAVIEST)
    at = order[kept]
    keep = np.argsort(at)
    chosen = those(rows, at[keep])
    return replace(chosen, weight=(chosen.weight * share[keep]).astype(np.float32))


def key(cases: list[Any]) -> str:
    """Name what is gathered: other cases, items, generators or truths are another file."""
    said = f"{items()}{worlds.VERSION}{cases}{_core.world_version()}{truth_digest()}"
    return hashlib.sha256(said.encode()).hexdigest()[:12]


@functools.cache
def truth_digest() -> str:
    """Name the code that says what is right."""
    files = sorted(path for pattern in TRUTH for path in ROOT.glob(pattern))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def joined(parts: list[dict[str, Any]]) -> dict[str, np.ndarray]:
    """Put the rows of all cases behind each other, with their series counted through."""
    columns: dict[str, list[np.ndarray]] = {}
    first = 0
    for part in parts:
        part["series"] = part["series"] + first
        first = int(part["series"].max()) + 1
        for name, column in part.items():
            columns.setdefault(name, []).append(column)
    return {name: np.concatenate(found) for name, found in columns.items()}


def part(
    rows: pa.Table,
    seen: pa.Table,
    right: list[list[str] | None],
    group: str,
    tap: str,
    weight: float = 1.0,
) -> dict[str, Any]:
    """Make the arrays of one capture: `right` lists the words that are right for each row."""
    flags = np.zeros((len(rows), len(CLASSES)), np.bool_)
    main = np.full(len(rows), -1, np.int8)
    for number, words in enumerate(right):
        classes = [CLASSES.index(word) for word in words or () if word in CLASSES]
        flags[number, classes] = True
        if classes:
            main[number] = classes[0]
    halves = list(zip(rows["flow_id"].to_pylist(), rows["direction"].to_pylist(), strict=True))
    numbers = {half: number for number, half in enumerate(dict.fromkeys(halves))}
    series = np.array([numbers[half] for half in halves], np.int64)
    start, end = rows["start_ns"].to_numpy(), rows["end_ns"].to_numpy()
    order = np.lexsort((start, series))
    names = items()
    columns = [seen[name].to_numpy(zero_copy_only=False) for name in names]
    endless = [name for name, column in zip(names, columns, strict=True) if np.isinf(column).any()]
    if endless:
        raise ValueError(f"{group} at {tap}: infinite items: {', '.join(endless)}")
    told = [word or "" for word in rows["limitation"].to_pylist()]
    return {
        "values": np.column_stack(columns).astype(np.float32)[order],
        "right": flags[order],
        "main": main[order],
        "series": series[order],
        "seconds": ((end - start) / 1e9).astype(np.float32)[order],
        "group": np.full(len(rows), group, "U48"),
        "tap": np.full(len(rows), tap, "U12"),
        "told": np.array(told, "U24")[order],
        "weight": np.full(len(rows), weight, np.float32),
    }


def of_world(seed: int) -> list[dict[str, Any]]:
    """Give the rows of a world at all its taps."""
    return of_text(worlds.name(seed), worlds.scenario(seed), f"world {seed}")


def of_world_at_one_tap(seed: int) -> list[dict[str, Any]]:
    """Give the rows of a world at one of its taps, by chance.

    What the others see has much in common with it: another world teaches more in the same time.
    """
    text = worlds.scenario(seed)
    return of_text(worlds.name(seed), text, f"world {seed}", [one_tap(seed, text)])


def of_other(kind: str, seed: int) -> list[dict[str, Any]]:
    """Give the rows of a world of another generator at all its taps."""
    return of_text(f"{kind}-{seed}", OTHERS[kind](seed), f"{kind} {seed}")


def of_other_at_one_tap(kind: str, seed: int) -> list[dict[str, Any]]:
    """Give the rows of a world of another generator at one of its taps, by chance."""
    text = OTHERS[kind](seed)
    return of_text(f"{kind}-{seed}", text, f"{kind} {seed}", [one_tap(seed, text)])


def drawn_for_ns3(seed: int) -> str:
    """Give the text of a world that was drawn for ns-3, which the simulator here runs."""
    return ours.scenario(draw.world(seed))


def one_tap(seed: int, text: str) -> str:
    """Choose a tap of a scenario."""
    taps: list[str] = [tap["name"] for tap in tomllib.loads(text)["taps"]]
    return random.Random(seed).choice(taps)


def of_text(
    file: str, text: str, group: str, taps: list[str] | None = None
) -> list[dict[str, Any]]:
    """Give the rows of a scenario, at some of its taps, with the simulator's own answers."""
    found: dict[str, dict[str, list[Any]]] = {}
    for tap, table, batch in _core.judge(file, text, taps=taps, observations=True):
        found.setdefault(tap, {}).setdefault(table, []).append(pa.record_batch(batch))
    parts = []
    for tap, tables in found.items():
        if "intervals" not in tables:
            continue
        whole = {name: pa.Table.from_batches(rows) for name, rows in tables.items()}
        answers = whole["answers"]["true_limitations"].to_pylist()
        right = [words.split() if words else None for words in answers]
        parts.append(part(whole["intervals"], whole["observations"], right, group, tap))
    return parts


def of_variant(case: Case) -> list[dict[str, Any]]:
    """Give the rows of a variant of a scenario, with what the scenario says of them."""
    parts = []
    with tempfile.TemporaryDirectory() as folder:
        run = tcpwhy.simulate(case.write(Path(folder)), captures=folder)
        tables = {name: run.to_arrow(name).to_pylist() for name in run.tables}
        known = truth.Truth(case, tables)
        held = [
            expect
            for expect in case.expects
            if truth.doubt(known, expect) is None or case.group == "scenarios"
        ]
        for tap, path in run.captures.items():
            rows, seen, _ = analysed(path)
            if not len(rows):
                continue
            right = [of_expects(known, row, held) for row in rows.to_pylist()]
            if any(right):
                parts.append(part(rows, seen, right, f"{case.name} {case.variant}"[:48], tap))
    return parts


def of_expects(known: truth.Truth, row: dict[str, Any], held: list[Any]) -> list[str] | None:
    """Say what is right for an interval by the spans of its scenario."""
    start, end = row["start_ns"] - simulated.EPOCH_NS, row["end_ns"] - simulated.EPOCH_NS
    half = simulated.half_of(known, row)
    if half is None or not row["data_packets"] or end - start < simulated.SHORTEST_S * 1e9:
        return None
    for expect in held:
        first, last = expect.get("from_s", 0) * 1e9, expect.get("to_s", float("inf")) * 1e9
        if truth.half_of(expect) == half and start >= first - 1e3 and end <= last + 1e3:
            return [word.split("/")[0] for word in truth.allowed(expect)]
    return None


def of_policing(capture: policing.Capture) -> list[dict[str, Any]]:
    """Give the rows of a capture of the policing study."""
    rows, seen, flows = analysed(capture.path)
    right: list[list[str] | None] = [None] * len(rows)
    listed = rows.to_pylist()
    for flow in flows.to_pylist():
        if not policing._is_judged(capture, flow):
            continue
        chunks = policing._chunks(capture, flow)
        for number, row in enumerate(listed):
            if policing._half(row) == policing._half(flow) and policing._is_long(row):
                said = policing.expectation(capture.family, chunks, row["start_ns"], row["end_ns"])
                right[number] = said and [word.split("/")[0] for word in said[1]]
    if not any(right):
        return []
    return [part(rows, seen, right, f"b{capture.number}", "capture")]


def of_real(captures: Path, directions: tuple[real.Direction, ...]) -> list[dict[str, Any]]:
    """Give the rows of a real capture: the verdict on a direction is that on its intervals."""
    file = next(captures.glob(f"*/{directions[0].capture}__*"))
    rows, seen, flows = analysed(file)
    right: list[list[str] | None] = [None] * len(rows)
    listed = rows.to_pylist()
    for direction in directions:
        host, port = direction.src.rsplit(":", 1)
        mine = [
            flow
            for flow in flows.to_pylist()
            if (flow["src"], flow["src_port"]) == (host, int(port))
        ]
        flow = max(mine, key=lambda flow: flow["unique_bytes"])
        for number, row in enumerate(listed):
            if policing._half(row) == policing._half(flow) and policing._is_long(row):
                right[number] = list(direction.accept)
    if not any(right):
        return []
    return [part(rows, seen, right, directions[0].capture, "capture")]


def of_recording(folder: Path, seed: int) -> list[dict[str, Any]]:
    """Give the rows of the recording of a world on the kernel's TCP, at all its captures."""
    right: dict[str, dict[tuple[Any, ...], list[str]]] = {}
    taps: dict[str, str] = {}
    for row in judged.of_world(folder, seed):
        taps[row["capture"]] = row["tap"]
        words = (row["true_limitations"] or "").split()
        right.setdefault(row["capture"], {})[tuple(row[name] for name in KEYS)] = words
    parts = []
    for capture, answers in right.items():
        rows, seen, _ = analysed(folder / f"{seed}" / f"{capture}.pcap")
        keys = zip(*(rows[name].to_pylist() for name in KEYS), strict=True)
        parts.append(
            part(rows, seen, [answers.get(key) for key in keys], f"recording {seed}", taps[capture])
        )
    return parts


def analysed(path: Path) -> tuple[pa.Table, pa.Table, pa.Table]:
    """Analyse a capture: intervals, the items of evidence row by row, flows."""
    names = ("intervals", "observations", "flows")
    result = tcpwhy.analyze(path, table=names, workers=1)
    rows, seen, flows = (
        pa.Table.from_batches([pa.record_batch(batch) for batch in result.batches_of(name)])
        if result.batches_of(name)
        else pa.table({})
        for name in names
    )
    return rows, seen, flows


def variants(draw: int, each: int) -> list[Case]:
    """Give variants of all labelled scenarios of a draw."""
    cases = scenario.read_all(ROOT / "scenarios")
    return [
        variant for case in cases if case.expects for variant in scenario.held_out(case, draw, each)
    ]


def real_halves(judges: bool) -> list[tuple[real.Direction, ...]]:
    """Give the directions of the real captures of one half, by capture."""
    by_capture: dict[str, list[real.Direction]] = {}
    for direction in real.directions():
        if direction.judges == judges and direction.sure:
            by_capture.setdefault(direction.capture, []).append(direction)
    return [tuple(found) for found in by_capture.values()]


OTHERS: dict[str, Callable[[int], str]] = {"turned": turned.scenario, "ns3": drawn_for_ns3}
"""Other generators whose worlds are fitted, by the first word of their groups."""
TRUTH = ("crates/sim/src/truth/*.rs", "tools/kernel_worlds/judged.py", "tools/accuracy/*.toml")
DRAW_FIT = 101
"""The draw of variants that is fitted; that of the page only judges."""
DRAW_CALIBRATE = 102
"""The draw that calibrates."""
PER_FILE = 2400
"""Cases of a file: each asks for processes anew, which load their modules first."""
HEAVIEST = 4.0
"""So many rows a kept one stands for at most: no world may outweigh all others."""
