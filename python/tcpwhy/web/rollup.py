"""Sums of the intervals by minute and limitation, part by part: a part never changes.

So a page over months reads some thousand sums instead of all rows, and of a store that grows only
the new parts are read.
"""

import threading
from collections.abc import Sequence
from typing import Any

import duckdb

from tcpwhy.store.files import quoted, streamed
from tcpwhy.web.reader import Part, Reader

STEP_NS = 60 * 10**9
"""Width of a bin that is summed up."""

PARTS_AT_ONCE = 8
"""Parts that are summed up before pages may ask in between."""

READ_LIMIT_S = 120.0
"""For so many parts; a page does not wait for it."""


class Rollup:
    """The sums, in memory; `refresh` brings them up to date."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._sums = duckdb.connect()
        self._sums.execute("SET threads = 1")
        self._sums.execute(
            "CREATE TABLE sums (part VARCHAR, at_ns BIGINT, limitation VARCHAR,"
            " cause VARCHAR, intervals BIGINT, time_ns BIGINT, size_bytes BIGINT,"
            " first_ns BIGINT, last_ns BIGINT)"
        )
        self._known: dict[str, Part] = {}
        self._wanted: int | None = None
        self._lock = threading.Lock()

    @property
    def done(self) -> float:
        """Give the share of the parts that are summed up."""
        if self._wanted is None:
            return 0.0
        return min(1.0, len(self._known) / self._wanted) if self._wanted else 1.0

    def refresh(self) -> bool:
        """Sum up new parts and forget those that are gone; say whether anything changed.

        Only one thread at a time does it; others find it being done.
        """
        if not self._lock.acquire(blocking=False):
            return False
        try:
            return self._refresh()
        finally:
            self._lock.release()

    def _refresh(self) -> bool:
        now = {part.path: part for part in self._reader.parts("intervals")}
        self._wanted = len(now)
        gone = [path for path, part in self._known.items() if now.get(path) != part]
        new = [part for path, part in now.items() if self._known.get(path) != part]
        groups = [new[at : at + PARTS_AT_ONCE] for at in range(0, len(new), PARTS_AT_ONCE)]
        # Parts that were joined go in the same moment in which what they were joined to comes.
        for number, group in enumerate(groups or [[]] if gone else groups):
            self._replace(gone if number == 0 else [], group)
        return bool(gone or new)

    def _replace(self, gone: Sequence[str], group: Sequence[Part]) -> None:
        cursor = self._sums.cursor()
        try:
            cursor.begin()
            cursor.executemany("DELETE FROM sums WHERE part = ?", [[path] for path in gone or [""]])
            if group:
                with self._reader.cursor(READ_LIMIT_S) as source:
                    cursor.register("new", streamed(source.sql(_sums_of(group))))
                    cursor.execute("INSERT INTO sums FROM new")
            cursor.commit()
        finally:
            cursor.close()
        for path in gone:
            self._known.pop(path, None)
        self._known |= {part.path: part for part in group}

    def ask(self, query: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Give the rows of a question to the table `sums`."""
        cursor = self._sums.cursor()
        try:
            return cursor.execute(query, list(parameters)).fetchall()
        finally:
            cursor.close()

    def span_ns(self) -> tuple[int, int] | None:
        """Give the times of the first and of the last packet of all intervals."""
        first, last = self.ask("SELECT min(first_ns), max(last_ns) FROM sums")[0]
        return None if first is None else (first, last)


def _sums_of(parts: Sequence[Part]) -> str:
    files = ", ".join(quoted(part.path) for part in parts)
    # The empty table brings the columns that an older part lacks, as NULL.
    return f"""SELECT filename, start_ns // {STEP_NS} * {STEP_NS} AS at_ns,
            limitation, cause, count(*), sum(end_ns - start_ns)::BIGINT, sum(unique_bytes)::BIGINT,
            min(start_ns), max(end_ns)
        FROM (FROM read_parquet([{files}], filename = true, union_by_name = true,
            hive_partitioning = false) UNION ALL BY NAME FROM no_intervals)
        WHERE data_packets > 0 OR limitation IS NOT NULL GROUP BY ALL"""
