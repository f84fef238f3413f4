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
    # About a million rows a group: large enough to compress well, small enough to skip.
    "parquet": "FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 1048576",
}
"""Formats, each with what DuckDB's COPY has to be told."""


def write_file(
    connection: "duckdb.DuckDBPyConnection", rows: str, path: Path, *, format: str = "parquet"
) -> None:
    """Write the rows of a query, all or nothing."""
    unfinished = path.with_name(f".{path.name}.tmp")
    try:
        copy(connection, rows, unfinished, COPY_OPTIONS[format])
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def copy(connection: "duckdb.DuckDBPyConnection", rows: str, path: Path, options: str) -> None:
    """Run DuckDB's COPY; what goes wrong with the file is an OSError, as elsewhere."""
    import duckdb

    try:
        connection.execute(f"COPY ({rows}) TO {quoted(str(path))} ({options})")
    except duckdb.IOException as error:
        number = re.search(r"errno\W+(\d+)", str(error))
        code = int(number[1]) if number else errno.EIO
        raise OSError(code, os.strerror(code), str(path)) from error


def quoted(text: str) -> str:
    """Write a text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"
