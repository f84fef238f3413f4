"""One Parquet file, zstd-compressed; it appears when it is complete.

A Parquet file has its index at its end, and none can be read without it. So rows wait for the end:
a bounded number in memory; more of them, and all those of a run without an end, in a store beside
the file, `NAME.<ulid>.parts`, which is there when the run is killed. The end makes the file of it.
"""

import glob
import shutil
import tempfile
from collections import deque
from pathlib import Path

from tcpwhy import store
from tcpwhy._core import Batch, Rows
from tcpwhy.files import GROUP_ROWS, STEADY_GROUP_ROWS, quoted, steady, write_file
from tcpwhy.sinks import check_folder, only_table, output

SUFFIXES = (".parquet",)

ROWS_HELD = 2**17
"""Rows that wait in memory: of most captures all, some 150 MB."""

_PARTS = ".parts"


class Sink:
    """Writes one table as Parquet."""

    def __init__(self, target: str, tables: tuple[str, ...]) -> None:
        """Prepare; exactly one table fits."""
        only_table(tables, "parquet")
        check_folder(target)
        self.tables = tables
        self.rows_held = 0
        """Rows that wait in memory here."""
        self._target = target
        self._held: deque[Batch] = deque()
        self._parts: store.Sink | None = None

    @property
    def parts(self) -> Path | None:
        """Where rows wait that are not in memory; nowhere yet."""
        return self._parts.path if self._parts else None

    @property
    def waiting(self) -> int:
        """Rows that are lost once the file is closed."""
        return self._parts.waiting if self._parts else 0

    def write(self, table: str, batch: Batch) -> None:
        """Take the rows."""
        if self.rows_held >= ROWS_HELD:
            if self._parts is None:
                self.keep_up()
            self.flush()
        if self._parts:
            self._parts.write(table, batch)
        else:
            self._held.append(batch)
        self.rows_held += len(batch)

    def keep_up(self) -> None:
        """Prepare for a long run: its rows go to disk as often as those of a store."""
        self._parts = self._store()
        self._parts.keep_up()

    def flush(self) -> None:
        """Write what waits, if rows wait on disk at all."""
        if self._parts:
            self._move()
            self._parts.flush()
            self.rows_held = 0

    def close(self) -> None:
        """Write the file; where that fails, the rows that are on disk stay there."""
        if self._parts is None:
            return self._finish()
        try:
            self._move()
            self._parts.close()
            self._finish()
        except BrokenPipeError:
            shutil.rmtree(self._parts.path)
            raise
        except OSError as error:
            what = f"{error.strerror or error}; its rows are in {self._parts.path}"
            raise OSError(error.errno, what, self._target) from error
        shutil.rmtree(self._parts.path)
        return None

    def _store(self) -> store.Sink:
        """Make the store of a run; another run with the same target has one of its own."""
        base = Path(tempfile.gettempdir(), "tcpwhy") if self._target == "-" else self._target
        return store.Sink(f"{base}.{store.ulid()}{_PARTS}", self.tables)

    def _move(self) -> None:
        """Move what came before there was a store to it; what it refuses stays."""
        while self._held and self._parts:
            self._parts.write(self.tables[0], self._held[0])
            self._held.popleft()

    def _finish(self) -> None:
        """Make one file of all rows, in row groups that are written as they fill."""
        import duckdb

        table = self.tables[0]
        with duckdb.connect() as connection, tempfile.TemporaryDirectory(prefix="tcpwhy-") as temp:
            path = Path(temp, "rows.parquet") if self._target == "-" else Path(self._target)
            if self._parts:
                files = sorted(map(str, (self._parts.path / table).glob("*/*.parquet")))
                listed = ", ".join(map(quoted, files))
                rows = f"FROM read_parquet([{listed}], hive_partitioning = false)"
                write_file(steady(connection), rows, path, group_rows=STEADY_GROUP_ROWS)
            else:
                connection.register("batch", Rows(table, []))
                connection.execute("CREATE TABLE staged AS FROM batch")
                while self._held:
                    connection.register("batch", self._held.popleft())
                    connection.execute("INSERT INTO staged FROM batch")
                write_file(connection, "FROM staged", path, group_rows=GROUP_ROWS)
            if self._target == "-":
                with output("-") as out, path.open("rb") as file:
                    shutil.copyfileobj(file, out)


def left_over(target: str) -> list[str]:
    """Name the stores of runs with this target that were killed, or still go on."""
    path = Path(target)
    return sorted(str(found) for found in path.parent.glob(f"{glob.escape(path.name)}.*{_PARTS}"))
