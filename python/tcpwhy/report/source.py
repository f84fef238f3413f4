"""What a report is about: the rows of a capture, or those of a store."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tcpwhy._core import InputError
from tcpwhy.analysis import analyze
from tcpwhy.explain.choice import Watch
from tcpwhy.store import Store, explained
from tcpwhy.store.files import streamed

if TYPE_CHECKING:
    import duckdb

TABLES = ("flows", "intervals", "periods", "stalls")


class Source(NamedTuple):
    """Rows that a report can ask for."""

    name: str
    """A path, or - for standard input."""
    is_store: bool
    connection: "duckdb.DuckDBPyConnection"
    """Has the tables, or views of them."""
    damage: list[InputError]
    """What was wrong with a capture; the rows are those found before."""


@contextmanager
def open_source(path: str, *, watch: Watch = nullcontext) -> Iterator[Source]:
    """Analyse a capture, or open a store.

    Raises:
        InputError: for what cannot be read at all.

    """
    if path != "-" and Path(path).is_dir():
        store = Store(path)
        with explained(store.path), store.connect() as connection:
            yield Source(path, True, connection, [])
        return
    result = analyze(path, table=TABLES)
    with warnings.catch_warnings(action="ignore"), watch(result):
        connection = result.to_duckdb()
    with connection:
        yield Source(path, False, connection, result.damage)


@contextmanager
def subset(source: Source, flows: Sequence[int]) -> Iterator["duckdb.DuckDBPyConnection"]:
    """Copy the rows of some flows: each question to a large store opens all of its parts."""
    import duckdb

    ids = ", ".join(map(str, flows)) or "NULL"
    with duckdb.connect() as connection:
        for table in TABLES:
            rows = source.connection.sql(f"FROM {table} WHERE flow_id IN ({ids})")
            connection.register("chosen", streamed(rows))
            connection.execute(f"CREATE TABLE {table} AS FROM chosen")
            connection.unregister("chosen")
        yield connection
