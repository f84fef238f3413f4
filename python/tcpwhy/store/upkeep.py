"""Keeping a store in shape while it grows: small parts are joined, old ones go.

A crash between joining parts and removing them would leave rows twice. So what is about to be
removed is noted first, and whoever opens the store next removes it.
"""

import json
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from tcpwhy.store.files import STEADY_GROUP_ROWS, quoted, steady, write_file

SMALL_BYTES = 16 * 10**6
"""A part below this is joined with others; above it, reading is as fast as it gets."""

MANY_PARTS = 32
"""So many small parts of one table and day are joined."""

_NOTE = ".joined-"
_EMPTY_DAY = "date=1970-01-01"


class Upkeep:
    """Joins the parts that one writer wrote, and removes what is too old or too much."""

    def __init__(self, path: Path, *, keep_ns: int | None, keep_bytes: int | None) -> None:
        """Look after the store at `path`; without a bound everything is kept."""
        self.path = path
        self.keep_ns = keep_ns
        self.keep_bytes = keep_bytes
        self.removed_parts = 0
        """Parts that were removed for their age or the size of the store."""
        recover(path)

    def join(self, written: Iterable[Path]) -> None:
        """Join small parts of the same table and day among those `written`."""
        by_folder: dict[Path, list[Path]] = {}
        for part in written:
            if 0 < size_bytes(part) < SMALL_BYTES:
                by_folder.setdefault(part.parent, []).append(part)
        for folder, parts in by_folder.items():
            if len(parts) >= MANY_PARTS:
                self._join(folder, sorted(parts))

    def remove(self) -> None:
        """Remove whole parts: those of days past keeping, then the oldest until the rest fits."""
        if self.keep_ns is None and self.keep_bytes is None:
            return
        parts = sorted(_parts(self.path), key=lambda part: (part.parent.name, part.name))
        if self.keep_ns is not None:
            oldest = time.strftime("date=%Y-%m-%d", time.gmtime(time.time() - self.keep_ns / 1e9))
            for part in [part for part in parts if part.parent.name < oldest]:
                self._drop(part)
            parts = [part for part in parts if part.parent.name >= oldest]
        if self.keep_bytes is not None:
            sizes = [size_bytes(part) for part in parts]
            excess = sum(sizes) - self.keep_bytes
            for part, size in zip(parts, sizes, strict=True):
                if excess <= 0:
                    break
                self._drop(part)
                excess -= size

    def _join(self, folder: Path, parts: list[Path]) -> None:
        """Write the parts as one under the name of the last, which it replaces.

        Row group by row group, so that a join needs as much memory for large parts as for small.
        """
        *others, last = parts
        rows = f"FROM read_parquet([{', '.join(quoted(str(part)) for part in parts)}],"
        rows += " hive_partitioning = false, union_by_name = true)"
        joined = folder / f".{last.name}.joined"
        import duckdb

        # A database of its own: what DuckDB remembers of the files it read goes with it.
        with steady(duckdb.connect()) as connection:
            write_file(connection, rows, joined, group_rows=STEADY_GROUP_ROWS)
        note = folder / f"{_NOTE}{last.stem}.json"
        unfinished = note.with_suffix(".tmp")
        names = [part.name for part in others]
        unfinished.write_text(json.dumps({"joined": joined.name, "into": last.name, "of": names}))
        unfinished.replace(note)
        _finish(note)

    def _drop(self, part: Path) -> None:
        part.unlink(missing_ok=True)
        self.removed_parts += 1


def size_bytes(part: Path) -> int:
    """Give the bytes of a part; none of one that another writer removed."""
    try:
        return part.stat().st_size
    except FileNotFoundError:
        return 0


def recover(path: Path) -> None:
    """Finish what a crash interrupted."""
    for note in path.glob(f"*/*/{_NOTE}*.json"):
        _finish(note)
    for leftover in path.glob("*/*/.part-*"):
        with suppress(FileNotFoundError):
            if time.time() - leftover.stat().st_mtime > 3600:
                leftover.unlink()


def _finish(note: Path) -> None:
    """Do what a note says; any part of it may have been done, or be done by another writer."""
    with suppress(FileNotFoundError):
        plan = json.loads(note.read_text(encoding="utf-8"))
        with suppress(FileNotFoundError):
            # A reader sees a row twice rather than not at all, for the time of these calls.
            (note.parent / plan["joined"]).replace(note.parent / plan["into"])
        for name in plan["of"]:
            (note.parent / name).unlink(missing_ok=True)
        note.unlink()


def _parts(path: Path) -> Iterator[Path]:
    """Give every part with rows; the empty ones that tell readers the columns stay."""
    for part in path.glob("*/date=*/part-*.parquet"):
        if part.parent.name != _EMPTY_DAY:
            yield part
