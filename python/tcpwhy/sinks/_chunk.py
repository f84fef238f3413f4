"""What is sent at once: rows of one table, encoded, each with a key that stays the same."""

import json
import zlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tcpwhy._core import Batch
from tcpwhy.store import ulid

ROWS = 1000
"""Rows of a chunk at most: what is sent again when an answer was lost."""

BYTES = 2**22
"""Bytes of a chunk, where it has more than one value."""

KEYS = {
    "flows": ("flow_id", "direction", "start_ns"),
    "intervals": ("flow_id", "direction", "period_kind", "start_ns"),
    "periods": ("flow_id", "direction", "kind", "start_ns"),
    "stalls": ("flow_id", "direction", "rank"),
    "segments": ("flow_id", "direction", "frame"),
}
"""Columns that tell a row of a table from all others, of whatever run."""

_MAGIC = b"tcpwhy chunk 1\n"


class Chunk(NamedTuple):
    """Values of one table; a value is a row, unless its service puts several into one."""

    table: str
    keys: tuple[str, ...]
    values: tuple[bytes, ...]
    rows: int

    @property
    def size(self) -> int:
        """Give the bytes that it takes, about."""
        return sum(map(len, self.values)) + 100 * len(self.keys)

    def to_bytes(self) -> bytes:
        """Write it so that damage is noticed."""
        head = {"table": self.table, "rows": self.rows, "keys": self.keys}
        head |= {"sizes": [len(value) for value in self.values]}
        body = json.dumps(head).encode() + b"\n" + b"".join(self.values)
        return _MAGIC + zlib.crc32(body).to_bytes(4, "big") + body

    @classmethod
    def of_bytes(cls, data: bytes) -> "Chunk":
        """Read one; a ValueError says that it is damaged."""
        start = len(_MAGIC) + 4
        body = data[start:]
        if (
            data[: len(_MAGIC)] != _MAGIC
            or zlib.crc32(body).to_bytes(4, "big") != data[start - 4 : start]
        ):
            raise ValueError("a damaged chunk")
        end = body.index(b"\n")
        head = json.loads(body[:end])
        values, at = [], end + 1
        for size in head["sizes"]:
            values.append(body[at : at + size])
            at += size
        return cls(head["table"], tuple(head["keys"]), tuple(values), head["rows"])


def chunks(table: str, rows: Iterable[tuple[str, bytes]]) -> Iterator[Chunk]:
    """Cut rows into chunks."""
    keys: list[str] = []
    values: list[bytes] = []
    size = 0
    for key, value in rows:
        if keys and (len(keys) >= ROWS or size + len(value) > BYTES):
            yield Chunk(table, tuple(keys), tuple(values), len(keys))
            keys, values, size = [], [], 0
        keys.append(key)
        values.append(value)
        size += len(value)
    if keys:
        yield Chunk(table, tuple(keys), tuple(values), len(keys))


class Encoder:
    """Makes JSON of rows, in DuckDB: several times faster than Python is."""

    def __init__(self) -> None:
        """Open a database in memory."""
        import duckdb

        self._connection = duckdb.connect()
        self._connection.execute("SET threads = 1")
        self._run = ulid()
        self._rows_before = 0

    def rows(self, table: str, batch: Batch, document: str = "") -> list[tuple[str, bytes]]:
        """Give the key and the JSON of every row; `document` is an expression in SQL.

        A `flow_id` is a text: 64 bits do not survive in every reader of JSON.
        """
        self._connection.register("batch", batch)
        columns = [name for name, *_ in self._connection.execute("DESCRIBE batch").fetchall()]
        rows = "FROM batch"
        if not document and "flow_id" in columns:
            rows = "FROM (SELECT * REPLACE (flow_id::VARCHAR AS flow_id) FROM batch) AS batch"
        shown = f"{document or 'to_json(batch)'}::VARCHAR"
        found = self._connection.execute(f"SELECT {self._key(table)}, {shown} {rows}").fetchall()
        self._rows_before += len(found)
        return [(key, text.encode()) for key, text in found]

    def keys(self, table: str, batch: Batch) -> list[str]:
        """Give the keys of the rows."""
        self._connection.register("batch", batch)
        found = self._connection.execute(f"SELECT {self._key(table)} FROM batch").fetchall()
        self._rows_before += len(found)
        return [key for (key,) in found]

    def close(self) -> None:
        """Close the database."""
        self._connection.close()

    def _key(self, table: str) -> str:
        """Write the key in SQL: of what a row is about, or else of the run and its place there."""
        if columns := KEYS.get(table):
            return f"concat_ws('-', '{table}', {', '.join(columns)})"
        if table == "counters":
            return f"concat_ws('-', 'counters', '{self._run}', name)"
        return f"'{table}-{self._run}-' || (row_number() OVER () + {self._rows_before})"
