"""Files of rows, written by DuckDB; each appears under its name when it is complete."""

import errno
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

COPY_OPTIONS = {
    "csv": "FORMAT csv, HEADER true",
    "jsonl": "FORMAT json",
    "parquet": "FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1, ROW_GROUP_SIZE {group_rows}",
}
"""Formats, each with what DuckDB's COPY has to be told."""

GROUP_ROWS = 2**20
"""Rows of a group of a Parquet file: large enough to compress well, small enough to skip."""

STEADY_GROUP_ROWS = 2**14
"""The same in a long run: a group is in memory while it is written, a row of flows as some 3 kB."""


def steady(
    connection: "duckdb.DuckDBPyConnection", *, threads: int = 1
) -> "duckdb.DuckDBPyConnection":
    """Prepare a connection for a process that runs for weeks beside a capture.

    One thread, so that one row group at a time is in memory and the workers keep their cores.
    DuckDB's allocator keeps what it freed until it is asked for memory again: 800 MB for minutes
    after a join. Here a thread of its own gives it back.
    """
    connection.execute(f"SET threads = {threads}; SET allocator_background_threads = true")
    return connection


def write_file(
    connection: "duckdb.DuckDBPyConnection",
    rows: str,
    path: Path,
    *,
    format: str = "parquet",
    group_rows: int = GROUP_ROWS,
) -> None:
    """Write the rows of a query, all or nothing."""
    unfinished = path.with_name(f".{path.name}.tmp")
    try:
        copy(connection, rows, unfinished, COPY_OPTIONS[format].format(group_rows=group_rows))
        unfinished.replace(path)
    except OSError as error:
        # Nobody knows the file by the name that it has until it is complete.
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        unfinished.unlink(missing_ok=True)


def copy(connection: "duckdb.DuckDBPyConnection", rows: str, path: Path, options: str) -> None:
    """Run DuckDB's COPY; what goes wrong with the file is an OSError, as elsewhere."""
    import duckdb

    try:
        connection.execute(f"COPY ({rows}) TO {quoted(str(path))} ({options})")
    except duckdb.IOException as error:
        code = _number(str(error))
        raise OSError(code, os.strerror(code), str(path)) from error


def _number(message: str) -> int:
    """Find the system's number of an error in what DuckDB says about it."""
    if number := re.search(r"errno\W+(\d+)", message):
        return int(number[1])
    texts = {os.strerror(code): code for code in errno.errorcode}
    return next((code for text, code in texts.items() if text in message), errno.EIO)


def quoted(text: str) -> str:
    """Write a text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def streamed(answer: "duckdb.DuckDBPyRelation") -> object:
    """Give an answer to register with another connection, which may read it once.

    DuckDB refuses relations of other connections. An object with the interface of Arrow would be
    asked three times for one reading, and each time is the whole question again.
    """
    return answer.__arrow_c_stream__()


def write_answer(answer: "duckdb.DuckDBPyRelation", path: Path, *, format: str) -> None:
    """Write a question's answer through another connection: that of a store must not write."""
    import duckdb

    with duckdb.connect() as connection:
        connection.register("answer", streamed(answer))
        write_file(connection, "FROM answer", path, format=format)
