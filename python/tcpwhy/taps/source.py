"""What is known of a capture point: a capture, rows of an earlier analysis, or rows from Kafka."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from tcpwhy import _core
from tcpwhy._core import InputError, Rows, UsageError
from tcpwhy.analysis import analyze
from tcpwhy.store import explained
from tcpwhy.store.files import quoted
from tcpwhy.taps.topics import topics

DATABASES = (".duckdb", ".db")
"""Suffixes of files of DuckDB, with tables named as ours."""

TABLES = ("flows", "segments")
"""What is read of a point."""


class Point(Protocol):
    """A capture point."""

    name: str
    """As it was given."""
    is_capture: bool
    """Whether it has packets, which can be judged anew."""

    def flows(self) -> list[dict[str, Any]]:
        """Give the rows of the flows, one for each half."""

    def segments(self, flow_id: int) -> Any:
        """Give the segments of a connection, as Arrow; `None` without any."""


def point(name: str) -> Point:
    """Open a point.

    Args:
        name: a capture, a store, a folder or a file of Parquet, a file of DuckDB, or the URL that
            rows were sent to: `kafka://BROKER[:9092][/NAME]`.

    Raises:
        InputError: where nothing is there, or no flows.
        UsageError: for a URL that makes no sense.

    """
    if urlsplit(name).scheme == "kafka":
        return _Rows(name, lambda: topics(name, TABLES))
    path = Path(name)
    if path.suffix in DATABASES or path.suffix == ".parquet" or path.is_dir():
        if not path.exists():
            raise InputError(f"{name}: no such file; check the name")
        return _Rows(name, lambda: _files(path))
    return _Capture(name)


class _Capture:
    """Packets, which are analysed when something is asked."""

    is_capture = True

    def __init__(self, name: str) -> None:
        self.name = name

    def flows(self) -> list[dict[str, Any]]:
        """Analyse it."""
        found = analyze(self.name, table="flows").to_arrow("flows")
        return list(found.to_pylist())

    def segments(self, flow_id: int) -> Any:
        """Analyse it again, for one connection."""
        return analyze(self.name, table="segments", flow=flow_id).to_arrow("segments")


class _Rows:
    """Rows, in tables of a database in memory or views of files."""

    is_capture = False

    def __init__(self, name: str, fill: Callable[[], Any]) -> None:
        self.name = name
        with explained(Path(name)):
            self._connection = fill()
        self._flows: list[dict[str, Any]] | None = None

    def flows(self) -> list[dict[str, Any]]:
        """Read them, once."""
        if self._flows is None:
            with explained(Path(self.name)):
                self._flows = self._connection.sql("FROM flows").arrow().read_all().to_pylist()
            if not self._flows:
                raise InputError(f"{self.name}: no rows of flows")
        return self._flows

    def segments(self, flow_id: int) -> Any:
        """Read those that were kept."""
        with explained(Path(self.name)):
            query = f"FROM segments WHERE flow_id = {flow_id} ORDER BY ts_ns"
            found = self._connection.sql(query).arrow().read_all()
        return found if found.num_rows else None


def _files(path: Path) -> Any:
    """Open files of rows; a table that is not there is empty, as is a column that is not there."""
    import duckdb

    connection = duckdb.connect()
    if path.suffix in DATABASES:
        connection.execute(f"ATTACH {quoted(str(path))} AS given (READ_ONLY)")
    for table in TABLES:
        connection.register("empty", Rows(table, []))
        connection.execute(f"CREATE TABLE no_{table} AS FROM empty")
        if (rows := _table(connection, path, table)) is None:
            connection.execute(f"CREATE VIEW {table} AS FROM no_{table}")
            continue
        columns = dict(_core.schemas())[table]
        names = ", ".join(column for column, *_ in columns)
        connection.execute(
            f"CREATE VIEW {table} AS SELECT {names} FROM"
            f" (FROM {rows} UNION ALL BY NAME FROM no_{table})"
        )
    return connection


def _table(connection: Any, path: Path, table: str) -> str | None:
    """Write where a table's rows are, in SQL; `None` where it has none."""
    if path.suffix in DATABASES:
        query = "SELECT count(*) FROM duckdb_tables() WHERE database_name = 'given'"
        known = connection.execute(f"{query} AND table_name = '{table}'").fetchall()[0][0]
        if not known and table == "flows":
            raise UsageError(f"{path}: no table flows in it")
        return f"given.{table}" if known else None
    if path.is_file():
        return f"read_parquet({quoted(str(path))})" if table == "flows" else None
    folder = path / table
    if not any(folder.rglob("*.parquet")):
        if table == "flows":
            raise InputError(f"{path}: no Parquet files in {table}/: neither a store nor its copy")
        return None
    files = quoted(str(folder / "**" / "*.parquet"))
    return f"read_parquet({files}, union_by_name = true, hive_partitioning = false)"
