"""Random worlds: what the analysis says of each interval at each tap, beside what is true.

A world is a scenario that a seed gives. What is true comes from the record of the run alone: see
docs/worlds.md.
"""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcpwhy import _core
from tcpwhy._core import UsageError
from tcpwhy.extras import require

if TYPE_CHECKING:
    import pyarrow as pa

VERSION = _core.world_version()
"""The number of the generator: seeds of another one are other worlds."""
SEED_MAX = 2**64 - 1


def scenario(seed: int) -> str:
    """Give the world of a seed as the text of a scenario file."""
    if not 0 <= seed <= SEED_MAX:
        raise UsageError(f"the seed of a world must be from 0 to 2^64 - 1, not {seed}")
    return _core.world_scenario(seed)


def write(seed: int, path: Path) -> Path:
    """Write the world of a seed into a scenario file."""
    text = scenario(seed)
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from error
    return path


def name(seed: int) -> str:
    """Give the name of the scenario of a seed."""
    return f"world-{seed}"


def judged(seed: int, *, taps: Sequence[str] | None = None) -> "pa.Table":
    """Run a world; give its intervals beside the truth, and beside the rows of their flows.

    Args:
        seed: which world.
        taps: the taps wanted, all unless given: sender, middle, receiver, flawed.

    Returns:
        One row for each interval of each direction at each tap: `world` and `tap`, the columns of
        `intervals`, those of the truth, and the columns of `flows` with `flow_` before their name.

    """
    return judged_scenario(name(seed), scenario(seed), taps=taps, world=seed)


def judged_scenario(
    file: str, text: str, *, taps: Sequence[str] | None = None, world: int | None = None
) -> "pa.Table":
    """Do the same for any scenario, whose text this is; errors call it `file`."""
    pa = require("pyarrow", extra="arrow")
    rows = [
        _beside(tap, found, world)
        for tap, found in tables(file, text, taps=taps).items()
        if "intervals" in found
    ]
    return pa.concat_tables(rows, promote_options="default") if rows else pa.table({})


def tables(
    file: str, text: str, *, taps: Sequence[str] | None = None
) -> dict[str, dict[str, "pa.Table"]]:
    """Run a scenario; give its tables by tap: flows, intervals, and the answers beside these."""
    pa = require("pyarrow", extra="arrow")
    found: dict[str, dict[str, list[Any]]] = {}
    for tap, table, batch in _core.judge(file, text, taps=None if taps is None else list(taps)):
        found.setdefault(tap, {}).setdefault(table, []).append(pa.record_batch(batch))
    return {
        tap: {table: pa.Table.from_batches(rows) for table, rows in mine.items()}
        for tap, mine in found.items()
    }


def judged_all(
    seeds: Iterable[int], *, taps: Sequence[str] | None = None, workers: int | None = 2
) -> Iterator["pa.Table"]:
    """Run many worlds on several processes; their tables come in the order of the seeds."""
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from pool.map(partial(judged, taps=taps), seeds, chunksize=8)


def _beside(tap: str, tables: dict[str, "pa.Table"], world: int | None) -> "pa.Table":
    import pyarrow as pa

    rows = tables["intervals"]
    # The flows are few: a row number for each interval is quicker than a join of wide tables.
    flows = tables["flows"]
    keys = zip(flows["flow_id"].to_pylist(), flows["direction"].to_pylist(), strict=True)
    at = {key: number for number, key in enumerate(keys)}
    mine = zip(rows["flow_id"].to_pylist(), rows["direction"].to_pylist(), strict=True)
    flows = flows.take(pa.array([at.get(key) for key in mine], pa.int64()))
    columns = {
        "world": pa.array([world] * len(rows), pa.uint64()),
        "tap": pa.array([tap] * len(rows), pa.string()),
    }
    columns |= {name: rows[name] for name in rows.column_names}
    columns |= {name: tables["answers"][name] for name in tables["answers"].column_names}
    columns |= {f"flow_{name}": flows[name] for name in flows.column_names if name != "flow_id"}
    return pa.table(columns)
