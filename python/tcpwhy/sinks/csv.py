"""Comma-separated values (RFC 4180) with a header; NULL is empty, an empty text is quoted.

FILE.csv, csv:FILE
csv:tcp://HOST:PORT, csv:unix:///PATH         to whoever listens there
"""

from tcpwhy._core import Batch, Rows
from tcpwhy.sinks import Opens, Run, Sink, only_table
from tcpwhy.sinks._stream import header, is_socket, stream
from tcpwhy.sinks._text import TextSink

_LINES = "FORMAT csv, HEADER false"


class File(TextSink):
    """Writes one table as CSV."""

    def __init__(self, target: str, tables: tuple[str, ...], run: Run) -> None:
        """Open the target; exactly one table fits."""
        table = only_table(tables, "csv")
        super().__init__(target, tables, run)
        # The header goes out even when no row ever comes.
        self.copy(Rows(table, []), select="FROM batch", options="FORMAT csv, HEADER true")

    def write(self, table: str, batch: Batch) -> None:
        """Append the rows."""
        self.copy(batch, select="FROM batch", options=_LINES)


def make(target: str, tables: tuple[str, ...], run: Run) -> Sink:
    """Open a file or a socket."""
    if not is_socket(target):
        return File(target.removeprefix("csv:"), tables, run)
    head = header(only_table(tables, "csv"))
    return stream(target, tables, run, select=lambda _: "FROM batch", options=_LINES, head=head)


OPENS = Opens(make, suffixes=(".csv",), schemes=("csv",))
