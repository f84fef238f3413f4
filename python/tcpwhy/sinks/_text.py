"""Text formats that DuckDB writes: each batch goes out at once, so that a pipe sees it."""

import os
import stat
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

from tcpwhy._core import Batch, Rows
from tcpwhy.sinks import Capabilities, Run, named, output
from tcpwhy.store.files import copy


def append(file: BinaryIO, data: bytes) -> None:
    """Write all of it or, into a file, nothing: lines stay whole on a disk that fills up.

    It goes past Python's buffer, which would keep what was refused and write it later.
    """
    file.flush()
    number = file.fileno()
    status = os.fstat(number)
    left = memoryview(data)
    try:
        while left:
            left = left[os.write(number, left) :]
    except OSError:
        if stat.S_ISREG(status.st_mode):
            os.ftruncate(number, status.st_size)
            os.lseek(number, 0, os.SEEK_END)
        raise


class TextSink:
    """Writes batches through DuckDB's COPY, which is several times faster than Python's csv."""

    def __init__(self, target: str, tables: tuple[str, ...], run: Run) -> None:
        """Open the target; tables are those that `write` will be given."""
        import tempfile

        import duckdb

        self.capabilities = Capabilities(tables)
        self._target = target
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
        with named(self._target):
            append(self._file, self._part.read_bytes())

    def flush(self) -> None:
        """Do nothing: every batch is written when it comes."""

    def close(self) -> None:
        """Close the target."""
        self._open.close()
