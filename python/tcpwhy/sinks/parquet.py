"""One Parquet file, zstd-compressed; it appears when it is complete. `parquet:` is of many.

A Parquet file has its index at its end, and none can be read without it. The rows of a capture are
written to it as they come. Those of a run without an end wait in a store beside the file,
`NAME.<ulid>.parts`, which is there when the run is killed; the end makes the file of it.
"""

import glob
import shutil
import tempfile
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from tcpwhy._core import Batch, Parquet, Rows
from tcpwhy.sinks import (
    BATCH,
    Capabilities,
    Opens,
    RowsLostError,
    Run,
    check_folder,
    only_table,
    output,
    store,
)
from tcpwhy.sinks import Sink as AnySink
from tcpwhy.sinks._buffered import Buffered
from tcpwhy.sinks._objects import Objects
from tcpwhy.sinks._url import url_of
from tcpwhy.store import ulid
from tcpwhy.store.files import GROUP_ROWS, STEADY_GROUP_ROWS, quoted, steady, write_file

if TYPE_CHECKING:
    import duckdb

ROWS_HELD = 2**15
"""Rows of others that wait in memory."""

_PARTS = ".parts"


class Sink:
    """Writes one table as Parquet."""

    def __init__(self, target: str, tables: tuple[str, ...], run: Run = BATCH) -> None:
        """Prepare; exactly one table fits."""
        self._table = only_table(tables, "parquet")
        check_folder(target)
        self.capabilities = Capabilities(tables)
        self.rows_held = 0
        """Rows that wait in memory here."""
        self._target = target
        self._held: deque[Batch] = deque()
        self._parts: store.Sink | None = None
        self._writing: _Writing | None = None
        if run.live:
            for folder in left_over(target):
                run.say(f"{target}: another run has rows in {folder}: it was killed or goes on")
            self._keep_up()
            run.say(f"{target}: is made at the end, of the rows that wait in {self.parts}")

    @property
    def parts(self) -> Path | None:
        """Where rows wait that are not in memory; nowhere yet."""
        return self._parts.path if self._parts else None

    def write(self, table: str, batch: Batch) -> None:
        """Take the rows."""
        if self._parts:
            if self.rows_held >= ROWS_HELD:
                self.flush()
            self._parts.write(table, batch)
            self.rows_held += len(batch)
            return
        if self._writing or (isinstance(batch, Batch) and not self._held):
            self._writing = self._writing or _Writing(self._table, self._target)
            self._writing.put(batch)
            return
        # Rows of others, such as pyarrow's.
        self._held.append(batch)
        self.rows_held += len(batch)
        if self.rows_held >= ROWS_HELD:
            self._keep_up()
            self.flush()

    def flush(self) -> None:
        """Write what waits, if rows wait on disk at all."""
        if self._parts:
            self._move()
            self._parts.flush()
            self.rows_held = 0

    def close(self) -> None:
        """Write the file; where that fails, the rows that are on disk stay there."""
        if not self._held and not self._parts:
            # Without rows it is a file of columns.
            return (self._writing or _Writing(self._table, self._target)).end()
        if self._parts is None:
            return self._finish()
        lost = 0
        try:
            self._move()
            try:
                self._parts.close()
            except RowsLostError as error:
                lost = error.rows
                raise
            self._finish()
        except BrokenPipeError:
            shutil.rmtree(self._parts.path)
            raise
        except OSError as error:
            what = f"{error.strerror or error}; its rows are in {self._parts.path}"
            named = OSError(error.errno, what, self._target)
            # A store that could not be closed says what is lost; the rest of it is there.
            raise RowsLostError(named, lost) from error
        shutil.rmtree(self._parts.path)
        return None

    def _keep_up(self) -> None:
        """Have rows go to disk as often as those of a store."""
        self._parts = self._store()

    def _store(self) -> store.Sink:
        """Make the store of a run; another run with the same target has one of its own."""
        base = Path(tempfile.gettempdir(), "tcpwhy") if self._target == "-" else self._target
        return store.Sink(f"{base}.{ulid()}{_PARTS}", self.capabilities.tables, Run(live=True))

    def _move(self) -> None:
        """Move what came before there was a store to it; what it refuses stays."""
        while self._held and self._parts:
            self._parts.write(self._table, self._held[0])
            self._held.popleft()

    def _finish(self) -> None:
        """Make one file of all rows, in row groups that are written as they fill."""
        import duckdb

        table = self._table
        with duckdb.connect() as connection, tempfile.TemporaryDirectory(prefix="tcpwhy-") as temp:
            path = Path(temp, "rows.parquet") if self._target == "-" else Path(self._target)
            if self._parts:
                files = sorted(map(str, (self._parts.path / table).glob("*/*.parquet")))
                listed = ", ".join(map(quoted, files))
                rows = f"FROM read_parquet([{listed}], hive_partitioning = false)"
                write_file(steady(connection), rows, path, group_rows=STEADY_GROUP_ROWS)
            else:
                rows = _registered(connection, table, list(self._held))
                write_file(connection, rows, path, group_rows=GROUP_ROWS)
                self._held.clear()
            if self._target == "-":
                to_stdout(path)


def _registered(
    connection: "duckdb.DuckDBPyConnection", table: str, batches: Sequence[Batch]
) -> str:
    """Make batches known to DuckDB."""
    connection.register("none", Rows(table, []))
    connection.execute("CREATE TABLE staged AS FROM none")
    for batch in batches:
        connection.register("batch", batch)
        connection.execute("INSERT INTO staged FROM batch")
    return "FROM staged"


def to_stdout(path: Path) -> None:
    """Copy a file that is complete to standard output."""
    with output("-") as out, path.open("rb") as file:
        shutil.copyfileobj(file, out)


class _Writing:
    """A file that is written while its rows come, under another name until it is complete."""

    def __init__(self, table: str, target: str) -> None:
        self._rows = Parquet(table)
        self._folder = tempfile.TemporaryDirectory(prefix="tcpwhy-") if target == "-" else None
        self._path = Path(self._folder.name, "rows.parquet") if self._folder else Path(target)
        self._unfinished = self._path.with_name(f".{self._path.name}.tmp")
        self._file: BinaryIO | None = None
        self._failed: OSError | None = None

    def put(self, batch: Batch) -> None:
        """Add rows, in this thread, which has nothing to do but wait for more."""
        self._add(self._rows.put(batch))

    def end(self) -> None:
        """Finish the file."""
        self._add(self._rows.end(), last=True)
        if self._folder:
            to_stdout(self._path)
            self._folder.cleanup()

    def _add(self, part: bytes, *, last: bool = False) -> None:
        if self._failed:
            # It went wrong before, and no byte can follow.
            raise self._failed
        try:
            self._file = self._file or self._unfinished.open("wb")
            self._file.write(part)
            if last:
                self._file.close()
                self._unfinished.replace(self._path)
        except OSError as error:
            # Nobody knows the file by the name that it has until it is complete.
            self._failed = OSError(error.errno, error.strerror, str(self._path))
            with suppress(OSError):
                if self._file:
                    self._file.close()
            with suppress(OSError):
                self._unfinished.unlink()
            raise self._failed from error


def left_over(target: str) -> list[str]:
    """Name the stores of runs with this target that were killed, or still go on."""
    path = Path(target)
    return sorted(str(found) for found in path.parent.glob(f"{glob.escape(path.name)}.*{_PARTS}"))


def make(target: str, tables: tuple[str, ...], run: Run) -> AnySink:
    """Open a file, or a place for many parts: `parquet:FOLDER`, `parquet:s3://BUCKET/PREFIX`."""
    if not target.startswith("parquet:"):
        return Sink(target, tables, run)
    place, _, options = target.removeprefix("parquet:").partition("?")
    url = url_of(f"parquet://localhost/{place}?{options}", port=0, options=())
    return Buffered(Objects(place, tables, run), url._replace(text=f"parquet:{place}"), tables, run)


OPENS = Opens(make, suffixes=(".parquet",), schemes=("parquet",), tables=("flows",))
