"""Chunks that wait on disk, in the order in which they came, until they are sent.

    FOLDER/<ulid>/lock                          held by the run that writes there
    FOLDER/<ulid>/<number>-<rows>.chunk         one chunk; it appears whole

A run takes over what others with the same output left, if nobody holds their lock.
"""

import fcntl
import os
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

from tcpwhy.sinks._chunk import Chunk
from tcpwhy.store import ulid


class _File(NamedTuple):
    path: Path
    rows: int
    size: int


class Spill:
    """A bounded queue of chunks on disk."""

    def __init__(self, folder: Path, max_bytes: int) -> None:
        """Take over what is there; nothing is made before there is something to keep."""
        self.folder = folder
        self.bytes = 0
        self.rows = 0
        self.damaged = 0
        """Chunks that could not be read; they are kept, and named `.damaged`."""
        self._max_bytes = max_bytes
        self._own: Path | None = None
        self._locks: list[tuple[Path, BinaryIO]] = []
        self._files: deque[_File] = deque()
        self._number = 0
        # A folder that cannot be looked into is told when it is needed.
        with suppress(OSError):
            for left in sorted(folder.iterdir()):
                self._adopt(left)

    def __len__(self) -> int:
        """Give how many chunks wait."""
        return len(self._files)

    def put(self, chunk: Chunk) -> bool:
        """Write a chunk; say whether there was room. A disk that is full is an OSError."""
        data = chunk.to_bytes()
        if self.bytes + len(data) > self._max_bytes:
            return False
        folder = self._make()
        self._number += 1
        path = folder / f"{self._number:010}-{chunk.rows}.chunk"
        unfinished = path.with_suffix(".tmp")
        try:
            unfinished.write_bytes(data)
            unfinished.replace(path)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(path.parent)) from error
        finally:
            unfinished.unlink(missing_ok=True)
        self._append(_File(path, chunk.rows, len(data)))
        return True

    def first(self) -> Chunk | None:
        """Read the oldest; it stays until it is dropped."""
        while self._files:
            path = self._files[0].path
            try:
                return Chunk.of_bytes(path.read_bytes())
            except FileNotFoundError:
                self._forget()
            except ValueError:
                path.replace(path.with_suffix(".damaged"))
                self.damaged += 1
                self._forget()
        return None

    def drop(self) -> None:
        """Remove the oldest: it is sent."""
        self._files[0].path.unlink(missing_ok=True)
        self._forget()

    def close(self) -> None:
        """Let go; folders with nothing in them go."""
        for folder, lock in self._locks:
            with suppress(OSError):
                if [path.name for path in folder.iterdir()] == ["lock"]:
                    (folder / "lock").unlink()
                    folder.rmdir()
            lock.close()
        self._locks.clear()
        with suppress(OSError):
            self.folder.rmdir()

    def _append(self, file: _File) -> None:
        self._files.append(file)
        self.bytes += file.size
        self.rows += file.rows

    def _forget(self) -> None:
        file = self._files.popleft()
        self.bytes -= file.size
        self.rows -= file.rows

    def _make(self) -> Path:
        if self._own is None:
            own = self.folder / ulid()
            own.mkdir(parents=True, mode=0o700)
            self._lock(own)
            self._own = own
        return self._own

    def _lock(self, folder: Path) -> bool:
        lock = (folder / "lock").open("wb")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            return False
        self._locks.append((folder, lock))
        return True

    def _adopt(self, folder: Path) -> None:
        """Take over the chunks of a run of this user that has ended."""
        if not folder.is_dir() or folder.stat().st_uid != os.getuid() or not self._lock(folder):
            return
        for path in sorted(folder.glob("*.chunk")):
            with suppress(ValueError, FileNotFoundError):
                rows = int(path.stem.partition("-")[2])
                self._append(_File(path, rows, path.stat().st_size))
