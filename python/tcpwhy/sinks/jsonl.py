"""One JSON object per line; NULL is null, a flow_id is a text.

FILE.jsonl, jsonl:FILE
jsonl:tcp://HOST:PORT, jsonl:unix:///PATH     to whoever listens there
"""

from tcpwhy import _core
from tcpwhy._core import Batch
from tcpwhy.sinks import Opens, Run, Sink
from tcpwhy.sinks._stream import is_socket, stream
from tcpwhy.sinks._text import TextSink

LINES = "FORMAT json"
"""How DuckDB writes them."""


class File(TextSink):
    """Writes tables as JSON lines; with several tables each line names its own."""

    def write(self, table: str, batch: Batch) -> None:
        """Append the rows."""
        self.copy(batch, select=select(table, self.capabilities.tables), options=LINES)


def make(target: str, tables: tuple[str, ...], run: Run) -> Sink:
    """Open a file or a socket."""
    if not is_socket(target):
        return File(target.removeprefix("jsonl:"), tables, run)
    return stream(target, tables, run, select=lambda name: select(name, tables), options=LINES)


def select(table: str, tables: tuple[str, ...]) -> str:
    """Write the question for the values of a line."""
    name = f"'{table}' AS \"table\", " if len(tables) > 1 else ""
    columns = {column for column, *_ in dict(_core.schemas())[table]}
    # 64 bits do not survive in every reader of JSON.
    text = " REPLACE (flow_id::VARCHAR AS flow_id)" if "flow_id" in columns else ""
    return f"SELECT {name}*{text} FROM batch"


OPENS = Opens(make, suffixes=(".jsonl", ".ndjson"), schemes=("jsonl",))
