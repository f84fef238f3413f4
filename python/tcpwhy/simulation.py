"""Scenarios in, a stream of (table, batch) out: what was sent, what was true, what was dropped."""

import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tcpwhy import _core
from tcpwhy._core import InputError, UsageError
from tcpwhy.analysis import TABLES as ANALYSED
from tcpwhy.analysis import Path as PathLike
from tcpwhy.analysis import Result
from tcpwhy.units import Duration, nanoseconds

TABLES = tuple(dict(_core.tables_by_maker())["simulate"])
"""The tables that every simulation has."""


class Simulated(NamedTuple):
    """How far a simulation is."""

    now_ns: int
    duration_ns: int


class Simulation(Result):
    """A simulation under way: iterated over once, or collected and converted."""

    _stream: _core.Simulation  # type: ignore[assignment]

    def progress(self) -> Simulated:  # type: ignore[override]
        """Say how far the simulation is; from any thread."""
        return Simulated(*self._stream.progress())

    def _has_read_nothing(self) -> bool:
        return False

    @property
    def captures(self) -> dict[str, Path]:
        """The captures that it writes, by tap; complete once the rows are read."""
        return {tap: Path(path) for tap, path in self._stream.captures()}


def simulate(
    scenario: PathLike,
    *,
    table: str | Iterable[str] = TABLES,
    tap: str | None = None,
    captures: PathLike | None = None,
    payload: bool = False,
    seed: int | None = None,
    duration: Duration | None = None,
    sample: Duration | None = None,
) -> Simulation:
    """Simulate a scenario, packet by packet.

    Args:
        scenario: a TOML file; a fault in it is named with file, line, key and what is allowed.
        table: the tables wanted. truth, events and queues come from the simulator; flows,
            intervals, periods and segments from the analysis of what passes `tap`.
        tap: the tap of the scenario whose packets go straight into the analysis.
        captures: a folder for pcap files, one for each tap, named SCENARIO.TAP.pcap.
        payload: keep the payload (zeros) in captures, not only headers.
        seed: another seed than the scenario's.
        duration: another duration than the scenario's.
        sample: the longest span of a row of the truth, and how often queues are looked at;
            100 ms unless given.

    Raises:
        UsageError: for a scenario that cannot be used, or an option that makes no sense.
        InputError: for a scenario that cannot be read.

    """
    tables = [table] if isinstance(table, str) else list(table)
    known = dict.fromkeys((*TABLES, *ANALYSED))
    for name in tables:
        if name not in known:
            raise UsageError(f"no table {name!r}: there are {', '.join(known)}")
    wanted = [name for name in tables if name in ANALYSED and name != "counters"]
    if wanted and tap is None:
        message = f"the table {wanted[0]} is of an analysis"
        raise UsageError(f"{message}: choose the tap to analyse with --tap or tap=")
    if "segments" in wanted:
        raise UsageError("segments are of one flow of a capture: write it, then analyze it")
    if seed is not None and not 0 <= seed < 2**64:
        raise UsageError(f"the seed must be from 0 to 2^64 - 1, not {seed}")
    _check_text(Path(scenario))
    stream = _core.simulate(
        scenario,
        seed=seed,
        duration_ns=None if duration is None else nanoseconds(duration),
        captures=captures,
        payload=payload,
        sample_ns=None if sample is None else nanoseconds(sample),
        tap=tap,
        tables=wanted,
    )
    return Simulation(stream, tables)  # type: ignore[arg-type]


def _check_text(scenario: Path) -> None:
    """Refuse what cannot be a scenario, in the words of scenarios."""
    if scenario.is_dir():
        raise InputError(f"{scenario}: is a directory; name the scenarios in it")
    try:
        scenario.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{scenario}: not text; a scenario is a TOML file") from error
    except OSError:
        return


def scenarios(folder: PathLike = "scenarios") -> Iterator[tuple[Path, str]]:
    """Find the scenarios of a folder, each with its title."""
    if not Path(folder).is_dir():
        raise UsageError(f"{folder}: no such folder; check the name")
    paths = sorted(Path(folder).glob("*.toml"))
    if not paths:
        raise UsageError(f"no scenario in {folder}: it has no file *.toml")
    for path in paths:
        try:
            title = tomllib.loads(path.read_text("utf-8")).get("title")
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            title = f"not TOML: {error}"
        yield path, str(title or "")
