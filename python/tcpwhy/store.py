"""A store: Parquet files in folders, readable while they are written, also by other programs.

    STORE/tcpwhy.json                       what wrote it, and the version of this layout
    STORE/<table>/date=YYYY-MM-DD/part-<ulid>.parquet    rows by the UTC date of their time

A part appears whole, by a rename, and is only ever replaced whole; an empty part comes first, so
that no reader finds a table without a file. A flow is in a store once: analysing its packets again
replaces its rows.
"""

import errno
import json
import os
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcpwhy import _core
from tcpwhy._core import Batch, InputError, Rows, UsageError
from tcpwhy.files import GROUP_ROWS, STEADY_GROUP_ROWS, quoted, steady, write_file
from tcpwhy.upkeep import SMALL_BYTES, Upkeep, size_bytes

if TYPE_CHECKING:
    import duckdb

FORMAT = 1
"""Version of the layout. A newer one is refused; columns may be added within a version."""

DEFAULT_TABLES = ("flows", "intervals", "periods")

ROWS_PER_PART = 2**19
"""Rows of a table held back before a part is written: some 250 MB, twice that while they grow."""

_SEED = "part-" + "0" * 26
_TIME_COLUMN = {"flows": "start_ns", "intervals": "start_ns", "periods": "start_ns"}
_TIME_COLUMN |= {"segments": "ts_ns"}
_WHOLE = {"truth", "events", "queues"}
"""Tables of one simulation: another one replaces them."""
_META = "tcpwhy.json"


class Store:
    """Reads a store with SQL: a view for each table, and the stored questions."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        try:
            if not self.path.exists():
                raise InputError(f"{path}: no such folder; check the name")
            if not (self.path / _META).is_file():
                raise InputError(
                    f"{path}: not a store: make one with tcpwhy analyze … --output STORE/"
                )
            _check_format(self.path)
        except PermissionError as error:
            raise InputError(f"{error.filename}: permission denied; make it readable") from error

    def connect(self) -> "duckdb.DuckDBPyConnection":
        """Open an in-memory database with the views; it can read the store and nothing else."""
        connection = _empty()
        connection.execute("SET parquet_metadata_cache = true")
        for name, _ in _core.schemas():
            if not self._has(name):
                continue
            files = quoted(str(self.path / name / "*" / "*.parquet"))
            # The empty table brings the columns that an older store lacks, as NULL.
            connection.execute(
                f"ALTER TABLE {name} RENAME TO no_{name};"
                f"CREATE VIEW {name} AS FROM read_parquet({files}, hive_partitioning = true,"
                f" union_by_name = true) UNION ALL BY NAME FROM no_{name}"
            )
        connection.execute(f"SET allowed_directories = [{quoted(str(self.path.absolute()))}]")
        connection.execute("SET enable_external_access = false; SET lock_configuration = true")
        return connection

    def _has(self, table: str) -> bool:
        """Say whether there is a file of a table: a store that is older than it has none."""
        folder = self.path / table
        try:
            dates = [date for date in folder.iterdir() if date.is_dir()]
            return any(part.suffix == ".parquet" for date in dates for part in date.iterdir())
        except FileNotFoundError:
            return False
        except PermissionError as error:
            raise InputError(f"{error.filename}: permission denied; make it readable") from error

    def query(self, question: str) -> "duckdb.DuckDBPyRelation":
        """Ask a stored question or a table by name, or a question of one's own in SQL.

        The answer is computed when it is fetched; `explained` makes errors of that readable.
        """
        import duckdb

        if re.fullmatch(r"\w+", question):
            known = [*questions(), *(name for name, _ in _core.schemas())]
            if question not in known:
                raise UsageError(f"no question {question!r}: there are {', '.join(known)}")
            question = f"FROM {question}"
        with explained(self.path):
            statements = duckdb.extract_statements(question)
            if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
                raise UsageError("a query is one SELECT statement: a store is only read here")
            return self.connect().sql(question)


def questions() -> dict[str, str]:
    """Name the stored questions, each with what it answers."""
    with _empty() as connection:
        views = "SELECT view_name, comment FROM duckdb_views() WHERE comment IS NOT NULL"
        return dict(connection.execute(f"{views} ORDER BY view_name").fetchall())


def _empty() -> "duckdb.DuckDBPyConnection":
    """Open a database with all tables, without rows, and the stored questions about them."""
    import duckdb

    connection = duckdb.connect()
    for name, _ in _core.schemas():
        connection.register("empty", Rows(name, []))
        connection.execute(f"CREATE TABLE {name} AS FROM empty")
    connection.unregister("empty")
    # Here a view costs nothing; over the files of a large store each would open them all.
    connection.execute(Path(__file__).with_name("views.sql").read_text("utf-8"))
    return connection


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn what DuckDB says about a store or a question into an error of one line."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        message = str(error).partition("\n")[0]
        if isinstance(error, duckdb.IOException) or str(path) in message:
            message = re.sub(r"^[A-Z][\w ]* Error: ", "", message)
            if "No such file" in message:
                message += "; it was joined with others or removed meanwhile: ask again"
            elif "Parquet" in message:
                message += "; put the file back, or remove it and its rows"
            raise InputError(f"{path}: {message}") from error
        raise UsageError(message) from error


class Sink:
    """Writes the tables of a run into a store, which it makes where there is none."""

    def __init__(self, target: str, tables: Sequence[str]) -> None:
        """Open the store; its parts appear while the run goes on and at its end."""
        import duckdb

        self.tables = tuple(dict.fromkeys((*tables, "counters")))
        self.path = Path(target.removesuffix("/"))
        self._connection = duckdb.connect()
        self._staged = dict.fromkeys(self.tables, 0)
        self._earlier: dict[str, list[str]] = {}
        self._upkeep: Upkeep | None = None
        self._group_rows = GROUP_ROWS
        self._written: list[Path] = []
        self.waiting = 0
        """Rows that are lost once the store is closed."""
        _make(self.path)
        for name, _ in _core.schemas():
            self._connection.register("batch", Rows(name, []))
            self._connection.execute(f"CREATE TABLE {name} AS FROM batch")
            self._earlier[name] = [str(part) for part in (self.path / name).glob("*/*.parquet")]
            folder = self.path / name / "date=1970-01-01"
            folder.mkdir(parents=True, exist_ok=True)
            if not os.access(folder.parent, os.W_OK | os.X_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder.parent))
            if not (folder / f"{_SEED}.parquet").exists():
                write_file(self._connection, f"FROM {name}", folder / f"{_SEED}.parquet")

    @property
    def removed_parts(self) -> int:
        """Give how many parts went for their age, or the size of the store."""
        return self._upkeep.removed_parts if self._upkeep else 0

    def write(self, table: str, batch: Batch) -> None:
        """Take a batch; a part is written when enough rows wait, or else the batch is refused."""
        if self._staged[table] >= ROWS_PER_PART:
            self._flush(table)
        self._connection.register("batch", batch)
        self._connection.execute(f"INSERT INTO {table} FROM batch")
        self._staged[table] += len(batch)

    def keep_up(self, *, keep_ns: int | None = None, keep_bytes: int | None = None) -> None:
        """Prepare for a long run: join small parts, and keep no more than is said.

        Its flows are new, so that no part of an earlier run is looked through for them.
        """
        steady(self._connection)
        self._group_rows = STEADY_GROUP_ROWS
        self._upkeep = Upkeep(self.path, keep_ns=keep_ns, keep_bytes=keep_bytes)
        self._earlier = {name: [] for name in self._earlier}

    def flush(self) -> None:
        """Write everything that waits."""
        for table, rows in self._staged.items():
            if rows:
                self._flush(table)
        if self._upkeep:
            self._upkeep.join(self._written)
            self._upkeep.remove()
            small = (part for part in self._written if 0 < size_bytes(part) < SMALL_BYTES)
            self._written = list(small)

    def close(self) -> None:
        """Write the rest; what cannot be written is counted in `waiting`."""
        with self._connection:
            try:
                self.flush()
            finally:
                counts = (f"SELECT count(*) AS rows FROM {table}" for table in self._staged)
                total = f"SELECT sum(rows)::BIGINT FROM ({' UNION ALL '.join(counts)})"
                self.waiting = self._connection.execute(total).fetchall()[0][0]

    def _flush(self, table: str) -> None:
        if table in _TIME_COLUMN:
            self._supersede(table)
        for date, where in self._dates(table):
            if table in _WHOLE:
                for part in self._earlier[table]:
                    Path(part).unlink(missing_ok=True)
            # Whoever removes a store while it is written gets a new one.
            _make(self.path)
            folder = self.path / table / f"date={date}"
            folder.mkdir(parents=True, exist_ok=True)
            order = " ORDER BY flow_id" if table in _TIME_COLUMN else ""
            rows = f"FROM {table} WHERE {where}{order}"
            target = folder / f"part-{ulid()}.parquet"
            write_file(self._connection, rows, target, group_rows=self._group_rows)
            # Date by date, so that a full disk leaves what is not written yet, and only that.
            self._connection.execute(f"DELETE FROM {table} WHERE {where}")
            if self._upkeep:
                self._written.append(target)
        # A table whose rows were deleted still holds their memory; a new one does not.
        self._connection.execute(f"CREATE OR REPLACE TABLE {table} AS FROM {table} LIMIT 0")
        self._staged[table] = 0

    def _supersede(self, table: str) -> None:
        """Take the flows that wait out of the parts of earlier runs."""
        earlier = [part for part in self._earlier[table] if Path(part).exists()]
        if not earlier:
            return
        with explained(self.path):
            self._take_out(table, earlier)

    def _take_out(self, table: str, earlier: Sequence[str]) -> None:
        parts = f"read_parquet([{', '.join(map(quoted, earlier))}], filename = true)"
        again = f"SELECT DISTINCT filename FROM {parts} SEMI JOIN {table} USING (flow_id)"
        for (part,) in self._connection.execute(again).fetchall():
            kept = f"FROM read_parquet({quoted(part)}, hive_partitioning = false)"
            rows = f"{kept} ANTI JOIN {table} USING (flow_id) ORDER BY flow_id"
            write_file(self._connection, rows, Path(part))

    def _dates(self, table: str) -> list[tuple[str, str]]:
        """Give the dates of the rows that wait, each with the condition that selects its rows."""
        column = _TIME_COLUMN.get(table)
        if column is None:
            return [(datetime.now(UTC).date().isoformat(), "true")]
        day = f"(DATE '1970-01-01' + ({column} // {24 * 3600 * 10**9})::INTEGER)"
        dates = self._connection.execute(f"SELECT DISTINCT {day}::VARCHAR FROM {table}").fetchall()
        return [(date, f"{day} = DATE {quoted(date)}") for (date,) in dates]


def ulid() -> str:
    """Make a name that is unique and sorts by time (ULID: 48 bits of ms, 80 random bits)."""
    number = (time.time_ns() // 10**6) << 80 | int.from_bytes(os.urandom(10))
    alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
    return "".join(alphabet[number >> shift & 31] for shift in range(125, -1, -5))


def _make(path: Path) -> None:
    if path.exists() and not path.is_dir():
        raise UsageError(
            f"{path}: a store is a folder, and this is a file: choose another name, or one with a"
            f" suffix, such as {path}.jsonl"
        )
    path.mkdir(parents=True, exist_ok=True)
    if (path / _META).is_file():
        _check_format(path)
        return
    # One that was being made when its writer was killed has no more than an unfinished head.
    others = [entry for entry in path.iterdir() if not entry.name.startswith(f".{_META}.")]
    if others and not (path / _META).is_file():
        raise UsageError(f"{path}: not a store, and not empty: choose another folder")
    meta: dict[str, Any] = {"format": FORMAT, "made_by": f"tcpwhy {_core.__version__}"}
    unfinished = path / f".{_META}.{ulid()}"
    try:
        unfinished.write_text(json.dumps(meta) + "\n", encoding="utf-8")
        unfinished.replace(path / _META)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        unfinished.unlink(missing_ok=True)


def _check_format(path: Path) -> None:
    try:
        version = int(json.loads((path / _META).read_text("utf-8"))["format"])
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path / _META}: damaged: where the parts beside it are of this version of tcpwhy,"
            f' {{"format": {FORMAT}}} in it makes them readable again'
        ) from error
    if version > FORMAT:
        message = f"{path}: a store of format {version}, and tcpwhy {_core.__version__} knows up to"
        message += f" {FORMAT}: upgrade (pip install -U tcpwhy), or use another store"
        raise InputError(message)
