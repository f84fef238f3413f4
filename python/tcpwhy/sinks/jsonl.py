"""One JSON object per line; NULL is null, 64-bit integers keep all their digits.

FILE.jsonl, jsonl:FILE
jsonl:tcp://HOST:PORT, jsonl:unix:///PATH     to whoever listens there
"""

from tcpwhy._core import Batch
from tcpwhy.sinks import Opens, Run, Sink
from tcpwhy.sinks._stream import is_socket, stream
from tcpwhy.sinks._text import TextSink

_LINES = "FORMAT json"


class File(TextSink):
    """Writes tables as JSON lines; with several tables each line names its own."""

    def write(self, table: str, batch: Batch) -> None:
        """Append the rows."""
        self.copy(batch, select=_select(table, self.capabilities.tables), options=_LINES)


def make(target: str, tables: tuple[str, ...], run: Run) -> Sink:
    """Open a file or a socket."""
    if not is_socket(target):
        return File(target.removeprefix("jsonl:"), tables, run)
    return stream(target, tables, run, select=lambda name: _select(name, tables), options=_LINES)


def _select(table: str, tables: tuple[str, ...]) -> str:
    name = f"'{table}' AS \"table\", " if len(tables) > 1 else ""
    return f"SELECT {name}* FROM batch"


OPENS = Opens(make, suffixes=(".jsonl", ".ndjson", ".json"), schemes=("jsonl",))
