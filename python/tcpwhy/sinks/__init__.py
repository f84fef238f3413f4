"""Where batches go. A sink is a module here, found by being here.

A module says in `OPENS` which suffixes, URL schemes and default tables are its own, and what makes
a `Sink` of a target. The store and the view on the terminal are sinks like all others.
"""

import errno
import importlib
import pkgutil
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, Protocol

from tcpwhy._core import Batch, UsageError

if TYPE_CHECKING:
    from tcpwhy.analysis import Standing
    from tcpwhy.terminal.overview import Choice


def _say_nothing(message: str) -> None:
    """Tell nobody."""


class Run(NamedTuple):
    """What a sink is told of the run that opens it."""

    live: bool = False
    """A run without an end: rows are written every few seconds, and nothing waits for a sink."""
    keep_ns: int | None = None
    """Remove rows of days before that, where the sink can (`Capabilities.retention`)."""
    keep_bytes: int | None = None
    """Remove the oldest rows beyond this size, likewise."""
    say: Callable[[str], None] = _say_nothing
    """Takes messages for whoever started the run."""
    standing: "Callable[[], Standing] | None" = None
    """Gives what the run counts while it lasts, if it can say so."""
    choice: "Choice | None" = None
    """What the overview shows."""


BATCH = Run()
"""A run over captures, which ends."""


class Capabilities(NamedTuple):
    """What a sink can do."""

    tables: tuple[str, ...]
    """The tables that it wants; others are not given to it."""
    retention: bool = False
    """Whether it removes old rows on its own: `Run.keep_ns`, `Run.keep_bytes`."""


class Sink(Protocol):
    """Takes the batches of a run. A failure is an OSError; `RowsLostError` says how many."""

    @property
    def capabilities(self) -> Capabilities:
        """What this sink can do; the same as long as it is open."""

    def write(self, table: str, batch: Batch) -> None:
        """Take a batch of one of the tables, all of it or nothing."""

    def flush(self) -> None:
        """Write what waits, as far as the format allows. Live runs ask every few seconds."""

    def close(self) -> None:
        """Finish: nothing is written later. Also called when the run failed or was stopped."""


class RowsLostError(OSError):
    """Something failed, and rows that were taken before are lost with it."""

    def __init__(self, error: OSError, rows: int) -> None:
        """Say the same as `error`, and how many rows are lost."""
        super().__init__(error.errno, error.strerror or str(error), error.filename)
        self.rows = rows


class Opens(NamedTuple):
    """What a module of this package opens."""

    make: Callable[[str, tuple[str, ...], Run], Sink]
    """Opens a target for these tables; `Run` says what for."""
    suffixes: tuple[str, ...] = ()
    """Suffixes of files. A module with some is a format, named like the module."""
    schemes: tuple[str, ...] = ()
    """Schemes of URLs, such as `kafka` of `kafka://HOST/TOPIC`."""
    tables: tuple[str, ...] = ("flows",)
    """The tables that it takes when none are chosen."""


def formats() -> list[str]:
    """Name the file formats."""
    return [name for name, opens in _modules().items() if opens.suffixes]


def schemes() -> list[str]:
    """Name the URL schemes."""
    return sorted(scheme for opens in _modules().values() for scheme in opens.schemes)


def open_sink(
    target: str, *, format: str | None, tables: Sequence[str] | None, run: Run = BATCH
) -> Sink:
    """Open the sink of a path, a store or a URL; `-` is standard output.

    A path is a file of the format that its suffix names, or else of `format`; a path without a
    suffix, or an existing directory, is a store. `tables` are those asked for; when none were,
    a store takes all that have rows of every flow, and anything else takes `flows`.
    """
    path = Path(target)
    if opens := _by_scheme(target):
        pass
    elif target == "-":
        opens = _named(format or "table")
    elif path.is_dir() or target.endswith("/") or not path.suffix:
        opens = _modules()["store"]
    elif format and path.suffix not in _by_suffix():
        opens = _named(format)
    else:
        opens = _modules()[format_of(path.suffix)]
    chosen = tuple(tables) if tables else opens.tables
    return opens.make(target, chosen, run)


def tables_of(sinks: Iterable[Sink]) -> list[str]:
    """Name the tables that any of the sinks wants."""
    return list(dict.fromkeys(table for sink in sinks for table in sink.capabilities.tables))


def pour(batches: Iterable[tuple[str, Batch]], sinks: Sequence[Sink]) -> set[str]:
    """Give every sink the batches that it wants; name the tables that had rows.

    A sink that fails gets no more, and costs the others nothing: its error is raised at the end, or
    once no sink is left.
    """
    found = set()
    failed: dict[int, OSError] = {}
    for table, batch in batches:
        found.add(table)
        for at, sink in enumerate(sinks):
            if at in failed or table not in sink.capabilities.tables:
                continue
            try:
                sink.write(table, batch)
            except OSError as error:
                failed[at] = error
        if failed and len(failed) == len(sinks):
            break
    if failed:
        raise next(iter(failed.values()))
    return found


def format_of(suffix: str) -> str:
    """Name the format of files with this suffix."""
    found = _by_suffix()
    if suffix not in found:
        known = ", ".join(sorted(found))
        raise UsageError(f"no output for the file suffix {suffix!r}: known are {known}")
    return found[suffix]


@contextmanager
def output(target: str) -> Iterator[BinaryIO]:
    """Open a file for writing, or standard output for `-`."""
    check_folder(target)
    with named(target):
        if target == "-":
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        else:
            with Path(target).open("wb") as file:
                yield file


@contextmanager
def named(target: str) -> Iterator[None]:
    """Have an error of the system name what was written to; that of a write does not."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = "standard output" if target == "-" else target
        raise


def check_folder(target: str) -> None:
    """Insist on a folder for a file: the system does not say which of the two is missing."""
    folder = Path(target).parent
    if target != "-" and not folder.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder", str(folder))


def only_table(tables: Sequence[str], format: str) -> str:
    """Insist on a single table, for formats whose files hold one."""
    if len(tables) != 1:
        message = f"a {format} file holds one table, not {', '.join(tables)}"
        raise UsageError(f"{message}: choose one, or write a store (a path without a suffix)")
    return tables[0]


def _modules() -> dict[str, Opens]:
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    public = [name for name in names if not name.startswith("_")]
    return {name: importlib.import_module(f"{__name__}.{name}").OPENS for name in public}


def _named(format: str) -> Opens:
    if format not in formats():
        raise UsageError(f"no format {format!r}: there are {', '.join(formats())}")
    return _modules()[format]


def _by_suffix() -> dict[str, str]:
    modules = _modules().items()
    return {suffix: name for name, opens in modules for suffix in opens.suffixes}


def _by_scheme(target: str) -> Opens | None:
    """Find what opens a URL; `None` for a path, which may have a colon too."""
    if not (match := re.match(r"([a-z][a-z0-9+.-]*):(//)?", target)):
        return None
    for opens in _modules().values():
        if match[1] in opens.schemes:
            return opens
    if match[2]:
        known = ", ".join(schemes())
        raise UsageError(f"no output for the URL scheme {match[1]!r}: known are {known}")
    return None
