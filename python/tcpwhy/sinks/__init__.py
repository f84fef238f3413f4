"""Where batches go. A sink is a module here, found by being here.

A module with `SUFFIXES` is a file format named like the module; one with `SCHEMES` is a service
addressed by URL. Either has a class `Sink(target, tables)` with the two methods below.
"""

import errno
import importlib
import pkgutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import BinaryIO, Protocol
from urllib.parse import urlsplit

from tcpwhy._core import Batch, UsageError


class Sink(Protocol):
    """Takes the batches of a run."""

    tables: tuple[str, ...]
    """The tables that it wants; others are not given to it."""

    def write(self, table: str, batch: Batch) -> None:
        """Take a batch of one of the tables."""

    def close(self) -> None:
        """Finish: nothing is written later. Also called when the run failed or was stopped."""


def formats() -> list[str]:
    """Name the file formats."""
    return [name for name, module in _modules() if hasattr(module, "SUFFIXES")]


def open_sink(target: str, *, format: str | None, tables: Sequence[str] | None) -> Sink:
    """Open the sink of a path, a store or a URL; `-` is standard output.

    A path is a file of the format that its suffix names, or else of `format`; a path without a
    suffix, or an existing directory, is a store. `tables` are those asked for; when none were,
    a store takes all that have rows of every flow, and anything else takes `flows`.
    """
    path = Path(target)
    if "://" in target:
        module = _with(urlsplit(target).scheme, "SCHEMES")
    elif target == "-":
        module = _named(format or "table")
    elif path.is_dir() or target.endswith("/") or not path.suffix:
        module = importlib.import_module("tcpwhy.store")
    elif format and path.suffix not in _by("SUFFIXES"):
        module = _named(format)
    else:
        module = _with(path.suffix, "SUFFIXES")
    default: tuple[str, ...] = getattr(module, "DEFAULT_TABLES", ("flows",))
    chosen = tuple(tables) if tables else default
    sink: Sink = module.Sink(target, chosen)
    return sink


def format_of(suffix: str) -> str:
    """Name the format of files with this suffix."""
    return _with(suffix, "SUFFIXES").__name__.rpartition(".")[2]


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


def _modules() -> list[tuple[str, ModuleType]]:
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return [(name, importlib.import_module(f"{__name__}.{name}")) for name in names]


def _named(format: str) -> ModuleType:
    if format not in formats():
        raise UsageError(f"no format {format!r}: there are {', '.join(formats())}")
    return importlib.import_module(f"{__name__}.{format}")


def _by(kind: str) -> dict[str, ModuleType]:
    """Index the modules by their suffixes or schemes."""
    found: dict[str, ModuleType] = {}
    for _, module in _modules():
        found |= dict.fromkeys(getattr(module, kind, ()), module)
    return found


def _with(key: str, kind: str) -> ModuleType:
    found = _by(kind)
    if key not in found:
        known = f"known are {', '.join(sorted(found))}" if found else "rows go to files and stores"
        what = "URL scheme" if kind == "SCHEMES" else "file suffix"
        raise UsageError(f"no output for the {what} {key!r}: {known}")
    return found[key]
