"""Text formats that DuckDB writes: each batch goes out at once, so that a pipe sees it."""

from contextlib import ExitStack
from pathlib import Path

from tcpwhy._core import Batch, Rows
from tcpwhy.files import copy
from tcpwhy.sinks import output


class TextSink:
    """Writes batches through DuckDB's COPY, which is several times faster than Python's csv."""

    def __init__(self, target: str, tables: tuple[str, ...]) -> None:
        """Open the target; tables are those that `write` will be given."""
        import tempfile

        import duckdb

        self.tables = tables
        self._open = ExitStack()
        self._file = self._open.enter_context(output(target))
        folder = self._open.enter_context(tempfile.TemporaryDirectory(prefix="tcpwhy-"))
        self._part = Path(folder, "part")
        self._connection = self._open.enter_context(duckdb.connect())

    def copy(self, batch: Batch | Rows, *, select: str, options: str) -> None:
        """Append the selection from `batch` in DuckDB's format."""
        self._connection.register("batch", batch)
        # A file in between: COPY to a path truncates it, and Python may own the stream.
        copy(self._connection, select, self._part, options)
        self._file.write(self._part.read_bytes())
        self._file.flush()

    def close(self) -> None:
        """Close the target."""
        self._open.close()
