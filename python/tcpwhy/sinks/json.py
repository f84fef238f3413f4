"""One JSON array of objects, complete when the run ends; NULL is null, a flow_id is a text."""

from tcpwhy._core import Batch
from tcpwhy.sinks import Opens, Run, named
from tcpwhy.sinks._text import TextSink, append
from tcpwhy.sinks.jsonl import LINES, select
from tcpwhy.store.files import copy


class File(TextSink):
    """Writes tables as an array; with several tables each object names its own."""

    def __init__(self, target: str, tables: tuple[str, ...], run: Run) -> None:
        """Open the target."""
        super().__init__(target, tables, run)
        self._between = b"[\n"

    def write(self, table: str, batch: Batch) -> None:
        """Append the rows."""
        self._connection.register("batch", batch)
        copy(self._connection, select(table, self.capabilities.tables), self._part, LINES)
        lines = self._part.read_bytes().splitlines()
        if lines:
            with named(self._target):
                append(self._file, self._between + b",\n".join(lines))
            self._between = b",\n"

    def close(self) -> None:
        """End the array, and close the target."""
        with self._open, named(self._target):
            append(self._file, b"\n]\n" if self._between == b",\n" else b"[]\n")


OPENS = Opens(File, suffixes=(".json",))
