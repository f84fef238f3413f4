"""Text formats over a socket: `jsonl:tcp://HOST:PORT`, `csv:unix:///run/reader`."""

import re
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from tcpwhy._core import Batch, Rows
from tcpwhy.sinks import Run, Sink
from tcpwhy.sinks._buffered import Buffered, Refusal
from tcpwhy.sinks._chunk import Chunk
from tcpwhy.sinks._socket import Stream
from tcpwhy.sinks._url import Url, url_of
from tcpwhy.store import ulid
from tcpwhy.store.files import copy


class _Lines:
    """Sends lines; whoever reads them says nothing, so those under way when it leaves are lost."""

    def __init__(self, url: Url, select: Callable[[str], str], options: str, head: bytes) -> None:
        import duckdb

        self._stream = Stream(url)
        self._select, self._options, self._head = select, options, head
        self._folder = tempfile.TemporaryDirectory(prefix="tcpwhy-")
        self._connection = duckdb.connect()
        self._run, self._number = ulid(), 0

    def connect(self) -> None:
        """Reach the reader; each connection begins with what tells the columns."""
        self._stream.connect()
        if self._head:
            self._stream.send(self._head)

    def encode(self, table: str, batch: Batch) -> Iterable[Chunk]:
        """Make lines of a batch."""
        self._connection.register("batch", batch)
        part = Path(self._folder.name, "part")
        copy(self._connection, self._select(table), part, self._options)
        self._number += 1
        key = f"{table}-{self._run}-{self._number}"
        return [Chunk(table, (key,), (part.read_bytes(),), len(batch))]

    def held(self, *, final: bool) -> Iterable[Chunk]:
        """Give nothing: all is sent as it comes."""
        return ()

    def send(self, chunk: Chunk) -> Refusal | None:
        """Send the lines."""
        self._stream.send(b"".join(chunk.values))
        return None

    def close(self) -> None:
        """Let go."""
        self._stream.close()
        self._connection.close()
        self._folder.cleanup()


def stream(
    target: str,
    tables: tuple[str, ...],
    run: Run,
    *,
    select: Callable[[str], str],
    options: str,
    head: bytes = b"",
) -> Sink:
    """Open a socket for text in a format of DuckDB; `select` makes its lines of a table."""
    place = re.sub("^[a-z]+:", "", target)
    if place.startswith("unix:"):
        # A path has no host, which URLs of services have.
        place = place.replace("unix:", "unix://localhost", 1).replace("localhost///", "localhost/")
    url = url_of(place, port=0, options=())._replace(text=target.partition("?")[0])
    return Buffered(_Lines(url, select, options, head), url, tables, run)


def is_socket(target: str) -> bool:
    """Say whether a target is a socket and not a file."""
    return re.match("[a-z]+:(tcp|unix):", target) is not None


def header(table: str) -> bytes:
    """Write the names of the columns of a table as a line of CSV."""
    import duckdb

    with duckdb.connect() as connection:
        connection.register("batch", Rows(table, []))
        names = [name for name, *_ in connection.execute("DESCRIBE batch").fetchall()]
    return (",".join(names) + "\n").encode()
