"""Comma-separated values (RFC 4180) with a header; NULL is empty, an empty text is quoted."""

from tcpwhy._core import Batch, Rows
from tcpwhy.sinks import only_table
from tcpwhy.sinks._text import TextSink

SUFFIXES = (".csv",)


class Sink(TextSink):
    """Writes one table as CSV."""

    def __init__(self, target: str, tables: tuple[str, ...]) -> None:
        """Open the target; exactly one table fits."""
        table = only_table(tables, "csv")
        super().__init__(target, tables)
        # The header goes out even when no row ever comes.
        self.copy(Rows(table, []), select="FROM batch", options="FORMAT csv, HEADER true")

    def write(self, table: str, batch: Batch) -> None:
        """Append the rows."""
        self.copy(batch, select="FROM batch", options="FORMAT csv, HEADER false")
