"""One Parquet file, zstd-compressed; it appears when it is complete."""

import errno
from pathlib import Path

from tcpwhy._core import Batch, Rows
from tcpwhy.files import write_file
from tcpwhy.sinks import only_table, output

SUFFIXES = (".parquet",)


class Sink:
    """Writes one table as Parquet."""

    def __init__(self, target: str, tables: tuple[str, ...]) -> None:
        """Prepare; exactly one table fits."""
        import duckdb

        table = only_table(tables, "parquet")
        folder = Path(target).parent
        if target != "-" and not folder.is_dir():
            raise FileNotFoundError(errno.ENOENT, "no such folder", str(folder))
        self.tables = tables
        self._target = target
        self._connection = duckdb.connect()
        self._connection.register("batch", Rows(table, []))
        self._connection.execute("CREATE TABLE staged AS FROM batch")

    def write(self, table: str, batch: Batch) -> None:
        """Stage the rows."""
        self._connection.register("batch", batch)
        self._connection.execute("INSERT INTO staged FROM batch")

    def close(self) -> None:
        """Write the file."""
        import shutil
        import tempfile

        with self._connection, tempfile.TemporaryDirectory(prefix="tcpwhy-") as folder:
            path = Path(folder, "rows.parquet") if self._target == "-" else Path(self._target)
            write_file(self._connection, "FROM staged", path)
            if self._target == "-":
                with output("-") as out, path.open("rb") as file:
                    shutil.copyfileobj(file, out)
