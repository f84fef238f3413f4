"""Scenarios in, a stream of (table, batch) out: what was sent, what was true, what was dropped."""

import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, Unpack

from tcpwhy import _core
from tcpwhy._core import InputError, UsageError
from tcpwhy.analysis import TABLES as ANALYSED
from tcpwhy.analysis import Path as PathLike
from tcpwhy.analysis import Result
from tcpwhy.options import settled, takes_options
from tcpwhy.options.keywords import SimulateOptions

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


@takes_options
def simulate(
    scenario: PathLike,
    *,
    table: str | Iterable[str] = TABLES,
    **options: Unpack[SimulateOptions],
) -> Simulation:
    """Simulate a scenario, packet by packet.

    Args:
        scenario: a TOML file; a fault in it is named with file, line, key and what is allowed.
        table: the tables wanted. truth, events and queues come from the simulator; flows,
            intervals, periods, stalls and segments from the analysis of what passes `tap`.
        **options: as above.

    Raises:
        UsageError: for a scenario that cannot be used, or an option that makes no sense.
        InputError: for a scenario that cannot be read.

    """
    tables = [table] if isinstance(table, str) else list(table)
    known = dict.fromkeys((*TABLES, *ANALYSED))
    for name in tables:
        if name not in known:
            raise UsageError(f"no table {name!r}: there are {', '.join(known)}")
    given = settled("simulate", options)
    wanted = [name for name in tables if name in ANALYSED and name != "counters"]
    if wanted and "tap" not in given:
        message = f"the table {wanted[0]} is of an analysis"
        raise UsageError(f"{message}: choose the tap to analyse with --tap or tap=")
    if "segments" in wanted:
        raise UsageError("segments are of one flow of a capture: write it, then analyze it")
    _check_seed(given.get("seed", 0))
    _check_text(Path(scenario))
    stream = _core.simulate(scenario, tables=wanted, options=given)
    return Simulation(stream, tables)  # type: ignore[arg-type]


def _check_seed(seed: int) -> None:
    if not seed < 2**64:
        raise UsageError(f"the seed must be from 0 to 2^64 - 1, not {seed}")


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


def bundled() -> Path:
    """Give the folder with the scenarios of tcpwhy, which every installation has."""
    packaged = Path(__file__).with_name("scenarios")
    # The sources link it, and not every checkout keeps links.
    return packaged if packaged.is_dir() else Path(__file__).parents[2] / "scenarios"


def find(name: str) -> Path:
    """Find a scenario by its file, or by its name among those of tcpwhy."""
    path = Path(name)
    if path.suffix or path.exists():
        return path
    if (path := bundled() / f"{name}.toml").exists():
        return path
    raise UsageError(f"no scenario {name!r}: `tcpwhy simulate --list` names them, or give a file")


def scenarios(folder: PathLike) -> Iterator[tuple[Path, str]]:
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
