"""Files of rows, written by DuckDB; each appears under its name when it is complete."""

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
    """Write the rows of a query."""
    unfinished = path.with_name(f".{path.name}.tmp")
    try:
        connection.execute(f"COPY ({rows}) TO {quoted(str(unfinished))} ({COPY_OPTIONS[format]})")
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def quoted(text: str) -> str:
    """Write a text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"
