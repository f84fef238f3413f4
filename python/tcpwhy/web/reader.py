"""Questions to a store from many requests at once, each bounded in time and in rows."""

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tcpwhy._core import TcpwhyError, UsageError
from tcpwhy.store import Store, explained

if TYPE_CHECKING:
    import duckdb

TIME_LIMIT_S = 10.0
"""A question of a page that takes longer is ended."""

AT_ONCE = 2
"""Questions that are worked on at the same time; others wait for their turn."""

MEMORY = "256MB"
"""What DuckDB may hold; a question that needs more is refused, nothing is put on disk."""


PAUSE_S = 0.01
"""Between two tries to end what is being asked."""

ENDING = "the dashboard is ending"


class BusyError(TcpwhyError):
    """Too many questions wait."""


class TooLongError(TcpwhyError):
    """A question was ended at its limit of time."""


class ClosedError(TcpwhyError):
    """The reader was closed, and with it what was being asked."""


class Part(NamedTuple):
    """A file of a table; it is only ever replaced whole."""

    path: str
    size_bytes: int
    mtime_ns: int


class Answer(NamedTuple):
    """Rows of a question."""

    names: list[str]
    types: list[str]
    rows: list[tuple[Any, ...]]
    is_cut: bool
    """Whether there are more than were wanted."""


def answered(relation: "duckdb.DuckDBPyRelation", most: int) -> Answer:
    """Fetch the first rows of a relation."""
    # One more tells whether there are more.
    rows = relation.limit(most + 1).fetchall()
    types = [str(kind) for kind in relation.types]
    return Answer(relation.columns, types, rows[:most], len(rows) > most)


class Reader:
    """Asks a store; one for all requests."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._turns = threading.BoundedSemaphore(AT_ONCE)
        self._tables: frozenset[str] = frozenset()
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._asking: set[duckdb.DuckDBPyConnection] = set()
        self._closed = threading.Event()

    def ask(
        self,
        query: str,
        parameters: Mapping[str, object] | None = None,
        *,
        limit_s: float = TIME_LIMIT_S,
    ) -> list[dict[str, Any]]:
        """Give the rows of a question of ours as dictionaries."""
        with self.cursor(limit_s) as cursor:
            found = cursor.execute(query, parameters or {})
            names = [column[0] for column in found.description or ()]
            return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    def free(self, query: str, *, most: int, limit_s: float = TIME_LIMIT_S) -> Answer:
        """Answer a question of somebody else: one SELECT, up to a number of rows."""
        with self.selected(query, limit_s=limit_s) as relation:
            return answered(relation, most)

    @contextmanager
    def selected(
        self, query: str, *, limit_s: float = TIME_LIMIT_S
    ) -> Iterator["duckdb.DuckDBPyRelation"]:
        """Give the answer to one SELECT of somebody else, as a relation."""
        import duckdb

        with self.cursor(limit_s) as cursor:
            statements = duckdb.extract_statements(query)
            if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
                raise UsageError("a question is one SELECT statement: a store is only read here")
            yield cursor.sql(statements[0].query)

    @contextmanager
    def cursor(self, limit_s: float = TIME_LIMIT_S) -> Iterator["duckdb.DuckDBPyConnection"]:
        """Wait for a turn, then ask within a limit of time.

        Raises:
            BusyError: when no turn came in time.
            ClosedError: when the reader is closed, before or meanwhile.
            TooLongError: when the limit was reached.
            UsageError: for a question that makes no sense.

        """
        import duckdb

        if not self._turns.acquire(timeout=limit_s):
            raise BusyError("too many questions at once: ask again")
        over = threading.Event()
        try:
            cursor = self._open()

            def end() -> None:
                over.set()
                cursor.interrupt()

            timer = threading.Timer(limit_s, end)
            timer.daemon = True
            try:
                timer.start()
                with explained(self.path):
                    yield cursor
            except (duckdb.Error, TcpwhyError, RuntimeError) as error:
                if self._closed.is_set():
                    raise ClosedError(ENDING) from error
                if over.is_set():
                    message = f"ended after {limit_s:g} s: ask for less, or for a shorter time"
                    raise TooLongError(message) from error
                if "Out of Memory" in str(error):
                    message = f"needs more than the {MEMORY} that a question may take: ask for less"
                    more = "or without the dashboard, by tcpwhy query"
                    raise UsageError(f"{message}, {more}") from error
                raise
            finally:
                timer.cancel()
                with self._lock:
                    self._asking.discard(cursor)
                cursor.close()
        finally:
            self._turns.release()

    def _open(self) -> "duckdb.DuckDBPyConnection":
        """Give a cursor; connect at first, and again when the store has a table more."""
        tables = frozenset(path.name for path in self.path.iterdir() if path.is_dir())
        with self._lock:
            if self._closed.is_set():
                raise ClosedError(ENDING)
            if self._connection is None or tables != self._tables:
                self._connection = Store(self.path).connect(
                    memory_limit=MEMORY, threads=AT_ONCE, temp_directory=""
                )
                self._tables = tables
            # Two threads must not ask one connection at once, not even for a cursor.
            cursor = self._connection.cursor()
            self._asking.add(cursor)
            return cursor

    def close(self) -> None:
        """End what is being asked, and answer no more; return when the last question has ended.

        A thread that is inside DuckDB when Python ends would end the process by SIGABRT.
        """
        self._closed.set()
        while self._interrupt():
            time.sleep(PAUSE_S)

    def _interrupt(self) -> bool:
        """End what is being asked; say whether there was anything.

        DuckDB forgets an interruption that comes before a question has begun.
        """
        with self._lock:
            for cursor in self._asking:
                cursor.interrupt()
            return bool(self._asking)

    def parts(self, table: str) -> list[Part]:
        """List the files of a table; one that goes meanwhile is left out."""
        found = []
        for path in sorted((self.path / table).glob("*/*.parquet")):
            try:
                status = path.stat()
            except FileNotFoundError:
                continue
            found.append(Part(str(path), status.st_size, status.st_mtime_ns))
        return found

    def version(self, tables: Sequence[str] = ("flows", "intervals")) -> int:
        """Give a number that changes with the files."""
        return hash(tuple(part for table in tables for part in self.parts(table))) & 0xFFFFFFFF
