"""Which captures are meant: paths, globs, lists of them, and URLs of object stores."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tcpwhy._core import InputError
from tcpwhy.extras import require

MOST_CAPTURES = 10_000_000
"""Captures of one run; a list that is longer is a mistake."""


class Capture(NamedTuple):
    """One capture, and what tells whether it is still the same."""

    name: str
    """Path or URL, as a worker opens it."""
    size_bytes: int
    changed: str
    """Time of its last change, or the checksum that its store keeps."""


def find(names: Iterable[str]) -> list[Capture]:
    """Find captures by path, glob, `@LIST` (a file with one name a line) or URL, each once.

    Raises:
        InputError: where a name fits nothing.

    """
    found: dict[str, Capture] = {}
    for name in names:
        for capture in _named(name):
            found.setdefault(capture.name, capture)
            if len(found) > MOST_CAPTURES:
                raise InputError(f"{name}: more than {MOST_CAPTURES:,} captures in one run")
    return list(found.values())


def _named(name: str) -> Iterator[Capture]:
    if name.startswith("@"):
        yield from _listed(Path(name[1:]))
    elif "://" in name:
        yield from _remote(name)
    else:
        yield from _local(name)


def _listed(path: Path) -> Iterator[Capture]:
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not a list of captures: {error}") from error
    for number, line in enumerate(lines, 1):
        name = line.strip()
        if not name or name.startswith("#"):
            continue
        try:
            yield from _named(name)
        except InputError as error:
            raise InputError(f"{path}, line {number}: {error}") from error


def _local(name: str) -> Iterator[Capture]:
    path = Path(name)
    if path.is_dir():
        raise InputError(f"{name}: a folder; name its captures, such as '{name.rstrip('/')}/*'")
    # A file may have a name that looks like a pattern.
    names = [name] if path.exists() else sorted(glob.glob(name))  # noqa: PTH207
    files = [file for file in map(Path, names) if file.is_file()]
    if not files:
        raise InputError(f"{name}: no such file; check the name")
    for file in files:
        status = file.stat()
        yield Capture(str(file.absolute()), status.st_size, str(status.st_mtime_ns))


def _remote(url: str) -> Iterator[Capture]:
    fsspec = require("fsspec", extra="archive")
    try:
        system, path = fsspec.core.url_to_fs(url)
        found = system.glob(path) if glob.has_magic(path) else [path]
        facts = [system.info(one) for one in found]
    except (OSError, ValueError, ImportError) as error:
        raise InputError(f"{url}: cannot be opened: {error}") from error
    if not facts:
        raise InputError(f"{url}: nothing there fits; check the pattern")
    for fact in facts:
        name = system.unstrip_protocol(fact["name"])
        yield Capture(name, fact.get("size") or 0, _version(fact))


def _version(fact: dict[str, Any]) -> str:
    """Tell one content of an object from another, by whatever its store says."""
    return str(next((fact[key] for key in ("ETag", "etag", "md5", "mtime") if key in fact), ""))


@contextmanager
def local_path(name: str) -> Iterator[str]:
    """Give a file of this machine with the capture in it: a remote one is fetched for as long."""
    if "://" not in name:
        yield name
        return
    import tempfile

    fsspec = require("fsspec", extra="archive")
    with tempfile.TemporaryDirectory(prefix="tcpwhy-") as folder:
        path = Path(folder, name.rsplit("/", 1)[-1] or "capture")
        try:
            system, remote = fsspec.core.url_to_fs(name)
            system.get_file(remote, str(path))
        except (OSError, ValueError, ImportError) as error:
            raise InputError(f"{name}: cannot be fetched: {error}") from error
        yield str(path)
