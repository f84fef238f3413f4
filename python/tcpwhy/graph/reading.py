"""Finds what a graph shows: in a capture, a store, a scenario, or samples of the kernel."""

from collections.abc import Iterator
from contextlib import nullcontext
from os import PathLike
from pathlib import Path

from tcpwhy._core import UsageError
from tcpwhy.analysis import analyze
from tcpwhy.explain.choice import Watch
from tcpwhy.explain.facts import Facts
from tcpwhy.explain.reading import read as read_facts
from tcpwhy.graph.coarse import coarse
from tcpwhy.graph.piped import spooled
from tcpwhy.graph.samples import sampled
from tcpwhy.graph.segments import Sides, columns, stored, wide
from tcpwhy.graph.simulated import simulated
from tcpwhy.graph.trace import Trace, trace
from tcpwhy.graph.windows import READERS, with_cwnd
from tcpwhy.store import Store, explained

Source = str | PathLike[str]


def read(
    source: Source,
    flow: int | str | None,
    *,
    cwnd: Source | None = None,
    tap: str | None = None,
    watch: Watch | None = None,
) -> list[Trace]:
    """Give the directions of a flow that sent anything, the one that sent more bytes first."""
    path = Path(source)
    around = watch or nullcontext
    if tap is not None and path.suffix != ".toml":
        raise UsageError(f"{source}: only a scenario has taps")
    if path.suffix == ".toml":
        with simulated(path, around, tap) as (capture, truth):
            return _of_flow(str(capture), flow, around, truth)
    if path.suffix in READERS:
        return sampled(path, flow)
    if str(source) == "-":
        with spooled() as piped:
            return _of_flow(piped, flow, around, cwnd)
    return _of_flow(str(source), flow, around, cwnd)


def _of_flow(source: str, flow: int | str | None, watch: Watch, cwnd: Source | None) -> list[Trace]:
    is_store = Path(source).is_dir()
    # Intervals as long as those of the overview: the verdict of the flow depends on them.
    facts = read_facts(source, flow, None, watch)
    flow_id = facts.halves[0].flow_id
    if is_store:
        segments, blocks = _of_store(source, flow_id)
    else:
        result = analyze(source, table="segments", flow=flow_id)
        with watch(result):
            rows = (batch for table, batch in result.batches() if table == "segments")
            segments, blocks = columns(rows)
    traces = list(_traces(facts, segments, blocks))
    if not traces:
        raise UsageError(f"{source}: flow {flow_id} carried no data: there is nothing to draw")
    return [with_cwnd(found, cwnd) for found in traces] if cwnd else traces


def _of_store(source: str, flow_id: int) -> tuple[Sides, Sides]:
    store = Store(source)
    with explained(store.path), store.connect() as connection:
        return stored(connection, flow_id)


def _traces(facts: Facts, segments: Sides, blocks: Sides) -> Iterator[Trace]:
    start = min(half.start_ns for half in facts.halves)
    end = max(half.end_ns for half in facts.halves)
    has_segments = any(len(side["ts_ns"]) for side in segments)
    for side in (*segments, *blocks):
        side["t"] = wide(side.pop("ts_ns")) - start
    for half in facts.halves:
        intervals = facts.intervals[half.direction]
        if half.unique_bytes or not any(other.unique_bytes for other in facts.halves):
            if has_segments:
                yield trace(half, intervals, segments, blocks, start, end)
            else:
                yield coarse(half, intervals, start, end)
