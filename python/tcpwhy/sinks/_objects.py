"""Parquet parts in a folder or an object store, which appear whole.

parquet:FOLDER, parquet:s3://BUCKET/PREFIX      FOLDER/<table>/date=YYYY-MM-DD/part-<ulid>.parquet
"""

import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from tcpwhy._core import Batch, Rows, UsageError
from tcpwhy.extras import require
from tcpwhy.sinks import Run
from tcpwhy.sinks._buffered import Refusal, UnavailableError
from tcpwhy.sinks._chunk import Chunk
from tcpwhy.store import ulid
from tcpwhy.store.files import GROUP_ROWS, STEADY_GROUP_ROWS, quoted, steady, write_file

ROWS_PER_PART = 2**16
"""Rows of a part at most: of flows some 10 MB."""

PART_S = 60.0
"""So long a live run waits for more rows of a part."""

_TIMES = ("end_ns", "ts_ns", "at_ns")


class Objects:
    """Writes parts to one place; the name of a part stays the same when it is sent again."""

    def __init__(self, place: str, tables: tuple[str, ...], run: Run) -> None:
        """Find what kind of store a place is in."""
        import duckdb

        fsspec = require("fsspec", extra="archive")
        self._place = place
        try:
            self._files, self._root = fsspec.core.url_to_fs(place)
        except (ValueError, ImportError) as error:
            raise UsageError(f"parquet:{place}: {error}") from error
        self._is_local = "file" in _protocols(self._files)
        self._connection = duckdb.connect()
        self._group_rows = GROUP_ROWS
        if run.live:
            steady(self._connection)
            self._group_rows = STEADY_GROUP_ROWS
        self._folder = tempfile.TemporaryDirectory(prefix="tcpwhy-")
        self._staged = dict.fromkeys(tables, 0)
        for table in tables:
            self._connection.register("batch", Rows(table, []))
            self._connection.execute(f"CREATE TABLE {table} AS FROM batch")
        self._since_s = time.monotonic()

    def connect(self) -> None:
        """Ask for the folder: whoever may not is told at once."""
        try:
            self._files.makedirs(self._root, exist_ok=True)
        except Exception as error:
            raise _explained(error, f"parquet:{self._place}") from error

    def encode(self, table: str, batch: Batch) -> Iterable[Chunk]:
        """Keep the rows until there are enough for a part."""
        self._connection.register("batch", batch)
        self._connection.execute(f"INSERT INTO {table} FROM batch")
        self._staged[table] += len(batch)
        return self._parts(table) if self._staged[table] >= ROWS_PER_PART else ()

    def held(self, *, final: bool) -> Iterator[Chunk]:
        """Make parts of what waits, at the end or once it has waited for long."""
        if not final and time.monotonic() - self._since_s < PART_S:
            return
        self._since_s = time.monotonic()
        for table, rows in self._staged.items():
            if rows:
                yield from self._parts(table)

    def send(self, chunk: Chunk) -> Refusal | None:
        """Write the parts."""
        for name, value in zip(chunk.keys, chunk.values, strict=True):
            path = PurePosixPath(self._root, name)
            try:
                self._files.makedirs(str(path.parent), exist_ok=True)
                if self._is_local:
                    unfinished = str(path.with_name(f".{path.name}.tmp"))
                    self._files.pipe_file(unfinished, value)
                    self._files.mv(unfinished, str(path))
                else:
                    self._files.pipe_file(str(path), value)
            except Exception as error:
                raise _explained(error, str(path)) from error
        return None

    def close(self) -> None:
        """Let go."""
        self._connection.close()
        self._folder.cleanup()

    def _parts(self, table: str) -> Iterator[Chunk]:
        names = [name for name, *_ in self._connection.execute(f"DESCRIBE {table}").fetchall()]
        column = next((name for name in _TIMES if name in names), None)
        day = f"(DATE '1970-01-01' + ({column} // {24 * 3600 * 10**9})::INTEGER)"
        day = day if column else "current_date"
        dates = f"SELECT DISTINCT {day}::VARCHAR FROM {table} ORDER BY 1"
        part = Path(self._folder.name, "part.parquet")
        for (date,) in self._connection.execute(dates).fetchall():
            rows = f"FROM {table} WHERE {day} = DATE {quoted(date)}"
            [(count,)] = self._connection.execute(f"SELECT count(*) {rows}").fetchall()
            write_file(self._connection, rows, part, group_rows=self._group_rows)
            name = f"{table}/date={date}/part-{ulid()}.parquet"
            yield Chunk(table, (name,), (part.read_bytes(),), count)
        self._connection.execute(f"CREATE OR REPLACE TABLE {table} AS FROM {table} LIMIT 0")
        self._staged[table] = 0


def _protocols(files: Any) -> tuple[str, ...]:
    found = files.protocol
    return (found,) if isinstance(found, str) else tuple(found)


def _explained(error: Exception, path: str) -> Exception:
    """Turn what a kind of store raises into what the buffer knows: try again, or give up."""
    if isinstance(error, PermissionError):
        return OSError(error.errno, "permission denied", path)
    return UnavailableError(f"{path}: {error}".partition("\n")[0])
