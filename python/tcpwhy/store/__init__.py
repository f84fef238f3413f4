"""A store: Parquet files in folders, readable while they are written, also by other programs.

    STORE/tcpwhy.json                       what wrote it, and the version of this layout
    STORE/<table>/date=YYYY-MM-DD/part-<ulid>.parquet    rows by the UTC date of their time

A part appears whole, by a rename, and is only ever replaced whole; an empty part comes first, so
that no reader finds a table without a file. A flow is in a store once: analysing its packets again
replaces its rows.
"""

import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcpwhy import _core
from tcpwhy._core import InputError, Rows, UsageError
from tcpwhy.store.files import quoted

if TYPE_CHECKING:
    import duckdb

FORMAT = 1
"""Version of the layout. A newer one is refused; columns may be added within a version."""

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

    def connect(self, **settings: str | int) -> "duckdb.DuckDBPyConnection":
        """Open an in-memory database with the views; it can read the store and nothing else.

        `settings` are DuckDB's, such as memory_limit; nobody changes them later.
        """
        connection = _empty()
        for name, value in settings.items():
            connection.execute(f"SET {name} = {quoted(str(value))}")
        connection.execute("SET parquet_metadata_cache = true")
        for name, columns in _core.schemas():
            times = _times({column for column, *_ in columns})
            if not self._has(name):
                continue
            files = quoted(str(self.path / name / "*" / "*.parquet"))
            # The empty table brings the columns that an older store lacks, as NULL.
            connection.execute(
                f"ALTER TABLE {name} RENAME TO no_{name};"
                f"CREATE VIEW {name} AS SELECT *{times} FROM (FROM read_parquet({files},"
                f" hive_partitioning = true, union_by_name = true)"
                f" UNION ALL BY NAME FROM no_{name})"
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


_TIMES = {"start_ns": "start_time", "end_ns": "end_time", "ts_ns": "time"}
"""Columns of time in ns, and the timestamps (UTC) that the views of a store have beside them."""


def _times(columns: set[str]) -> str:
    """Write the timestamps in SQL."""
    known = ((ns, name) for ns, name in _TIMES.items() if ns in columns)
    return "".join(f", make_timestamp_ns({ns}) AS {name}" for ns, name in known)


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


def ulid() -> str:
    """Make a name that is unique and sorts by time (ULID: 48 bits of ms, 80 random bits)."""
    number = (time.time_ns() // 10**6) << 80 | int.from_bytes(os.urandom(10))
    alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
    return "".join(alphabet[number >> shift & 31] for shift in range(125, -1, -5))


def make_store(path: Path) -> None:
    """Make the folder of a store, or insist that it is one that this version can write."""
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
