"""One JSON object per line; NULL is null, 64-bit integers keep all their digits."""

from tcpwhy._core import Batch
from tcpwhy.sinks._text import TextSink

SUFFIXES = (".jsonl", ".ndjson", ".json")


class Sink(TextSink):
    """Writes tables as JSON lines; with several tables each line names its own."""

    def write(self, table: str, batch: Batch) -> None:
        """Append the rows."""
        name = f"'{table}' AS \"table\", " if len(self.tables) > 1 else ""
        self.copy(batch, select=f"SELECT {name}* FROM batch", options="FORMAT json")
