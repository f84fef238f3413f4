"""What the analysis says of each interval of a recording, beside what is true."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence, Set
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet

import tcpwhy
from accuracy import wild
from kernel_worlds import plain
from kernel_worlds.clocks import Clock, read
from kernel_worlds.frames import Key, passed
from kernel_worlds.path import Paths, routes
from tcpwhy import _core, worlds
from tcpwhy.lab import scenario
from tcpwhy.lab.scenario import Flow, Scenario

PAGE = Path(__file__).parents[2] / "docs/worlds.md"
BEGIN, END = "<!-- kernel_worlds -->", "<!-- end -->"
EVERY: Set[str] = frozenset()
SIDES = ("forward", "backward")


def of_world(folder: Path, seed: int) -> Iterator[dict[str, Any]]:
    """Give the rows of the recording of a world."""
    world = scenario.load(folder / f"world-{seed}.toml")
    taps = {tap.get("host", "middle") for tap in world.raw["taps"]}
    for row in judged(world, folder / f"{seed}", taps):
        yield {"world": seed, **row}


def judged(world: Scenario, run: Path, taps: Set[str] = EVERY) -> Iterator[dict[str, Any]]:
    """Give the intervals of a recording at these captures, or all, each with what is true of it.

    The run must have been sampled each few milliseconds (`tcpwhy.lab.run.run(sample_s=…)`).
    """
    paths = Paths(run, routes(world))
    clocks = {
        (number, side): Clock(samples, flow.tcp[end], flow.workload, end)
        for (number, side), samples in read(run)
        for flow, end in [(world.flows[number], SIDES.index(side))]
    }
    halves = dict(_halves(world))
    hosts = {host for flow in world.flows for host in flow.hosts}
    arrived = {host: passed(run / f"{host}.pcap") for host in hosts}
    for path in sorted(run.glob("*.pcap")):
        if taps and path.stem not in taps:
            continue
        for row in tcpwhy.analyze(path, table=["intervals"]).to_polars("intervals").to_dicts():
            key = (row["src"], row["src_port"], row["dst"], row["dst_port"])
            if key not in halves:
                continue
            flow, side = halves[key]
            receiver = arrived[flow.hosts[1 - side]].get(key, ([], []))
            clock = clocks[flow.number, SIDES[side]]
            tap = {flow.hosts[side]: "sender", flow.hosts[1 - side]: "receiver"}
            row |= _truth(row, 2 * flow.number + side, paths, clock, receiver)
            yield {"tap": tap.get(path.stem, "middle"), "capture": path.stem, **row}


def _halves(world: Scenario) -> Iterator[tuple[Key, tuple[Flow, int]]]:
    """Give the directions of all flows, by their addresses."""
    for flow in world.flows:
        ends = [
            (world.hosts[host], port) for host, port in zip(flow.hosts, flow.ports, strict=True)
        ]
        for side in (0, 1):
            yield (*ends[side], *ends[1 - side]), (flow, side)


def _truth(
    row: dict[str, Any],
    half: int,
    paths: Paths,
    clock: Clock,
    receiver: tuple[list[int], list[int]],
) -> dict[str, Any]:
    start_ns, end_ns = row["start_ns"], row["end_ns"]
    if end_ns <= start_ns:
        return {"true_limitations": None, "untellable": "shorter than half a second"}
    held = clock.between(start_ns, end_ns)
    times, totals = receiver
    first, last = (bisect_left(times, at) for at in (start_ns, end_ns))
    own_bytes = totals[last] - totals[first] if times else 0
    losses, before = paths.events(half, start_ns, end_ns)
    servers = paths.servers(half, start_ns, end_ns, own_bytes)
    back = paths.servers(half ^ 1, start_ns, end_ns, 0)
    limitation, cause, right, why = _core.answer(
        length_s=(end_ns - start_ns) / 1e9,
        time_s=held.time_s,
        srtt_s=held.srtt_s,
        inflation=held.inflation,
        servers=servers,
        returning_busy=max((busy for busy, _ in back), default=0.0),
        losses=losses,
        before=before,
    )
    busy, others = max(servers, default=(None, None))
    return {
        "true_limitation": limitation,
        "true_cause": cause,
        "true_limitations": " ".join(right) or None,
        "untellable": why,
        "link_busy": busy,
        "link_others": others,
        "true_time": str({name: round(seconds, 2) for name, seconds in held.time_s.items()}),
        "true_losses": str(losses),
    }


def seeds(folder: Path, span: range | None) -> list[int]:
    """Give the seeds whose recordings count."""
    found = sorted(int(path.name) for path in folder.iterdir() if path.name.isdigit())
    return [
        seed
        for seed in found
        if (span is None or seed in span) and (folder / f"{seed}.json").exists()
    ]


def purpose(seed: int) -> str:
    """Tell what the recording of a seed is for: `fit`, `calibrate`, or half of them `judge`.

    Plain cases only judge.
    """
    if seed % 2 == 0 or plain.is_plain(seed):
        return "judge"
    return "calibrate" if seed % 8 == 7 else "fit"


def report(folder: Path, span: range | None) -> str:
    """Give the tables of the page, in Markdown, of the recordings that served nothing else."""
    chosen = [seed for seed in seeds(folder, span) if purpose(seed) == "judge"]
    of_worlds = [seed for seed in chosen if not plain.is_plain(seed)]
    of_plain = [seed for seed in chosen if plain.is_plain(seed)]
    parts = [*_of_worlds(folder, of_worlds), *_of_plain(folder, of_plain)]
    return "\n\n".join(parts) or "Nothing is recorded there."


def _told(folder: Path, chosen: Sequence[int]) -> list[wild.Told]:
    return [row for seed in chosen for row in wild.told(of_world(folder, seed))]


def _of_worlds(folder: Path, chosen: Sequence[int]) -> Iterator[str]:
    rows = _told(folder, chosen)
    if not rows:
        return
    same = [row for seed in chosen for row in wild.told(in_the_simulator(folder, seed))]
    high = [row for row in same if row.confidence == "high"]
    here, sure = map(wild.right, (same, high))
    yield (
        f"{len(rows):,} intervals of {len(chosen)} worlds. The simulator runs the same worlds\n"
        f"with the same replacements: of its {len(same):,} intervals {here:.1%} are\n"
        f"right, and {sure:.1%} of those with high confidence. On the kernel the expected\n"
        f"calibration error is {wild.calibration_error(rows):.1%}."
    )
    yield wild.by(rows, "truth", lambda row: row.allowed[0])
    yield wild.by(rows, "tap", lambda row: row.tap)
    yield wild.by(rows, "confidence", lambda row: row.confidence or "none")


def _of_plain(folder: Path, chosen: Sequence[int]) -> Iterator[str]:
    rows = _told(folder, chosen)
    if not rows:
        return
    yield f"{len(rows):,} intervals of {len(chosen)} plain cases, one limit each."
    yield wild.by(rows, "truth", lambda row: row.allowed[0])
    yield wild.by(rows, "confidence", lambda row: row.confidence or "none")


def in_the_simulator(folder: Path, seed: int) -> list[dict[str, Any]]:
    """Give the rows of the world that was recorded, as its file is, in the simulator."""
    text = (folder / f"world-{seed}.toml").read_text("utf-8")
    table = worlds.judged_scenario(worlds.name(seed), text, world=seed)
    return table.select(wild.COLUMNS).to_pylist() if len(table) else []


def page(folder: Path) -> None:
    """Write the tables into the page."""
    text = PAGE.read_text("utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    PAGE.write_text(f"{before}{BEGIN}\n\n{report(folder, None)}\n\n{END}{after}", "utf-8")


def write(folder: Path, output: Path) -> None:
    """Write all intervals as Parquet."""
    rows = [row for seed in seeds(folder, None) for row in of_world(folder, seed)]
    parquet.write_table(pa.Table.from_pylist(rows), output)
