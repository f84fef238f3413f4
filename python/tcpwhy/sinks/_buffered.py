"""A service that may be away: rows wait in memory, then on disk, and are sent until they are taken.

Whoever writes never waits for the service in a live run. Memory and disk are bounded; beyond, rows
are lost and counted. A chunk is sent again when its answer was lost, so a row may arrive twice:
always with the same key.
"""

import errno
import hashlib
import random
import re
import threading
import time
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, Protocol

from tcpwhy._core import Batch
from tcpwhy.sinks import Capabilities, RowsLostError, Run
from tcpwhy.sinks._chunk import BYTES, ROWS, Chunk
from tcpwhy.sinks._spill import Spill
from tcpwhy.sinks._url import Url, state_folder

MEMORY_BYTES = 32 * 2**20
SPILL_BYTES = 2**30

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 10.0
"""Pauses before another attempt: each twice the one before, less up to a third by chance."""

GRACE_S, SLOW_GRACE_S = 5.0, 30.0
"""How long the end of a run waits for a service that takes nothing: when it is away, or slow."""

PATIENCE_S = 60.0
"""How long a run over captures does, with memory and disk full."""


class UnavailableError(OSError):
    """The service cannot be reached, or cannot take anything now: worth another attempt."""

    def __init__(self, what: str) -> None:
        """Say what happened."""
        super().__init__(errno.EHOSTUNREACH, what)


class Refusal(NamedTuple):
    """Rows that a service will never take."""

    rows: int
    reason: str


class Service(Protocol):
    """What is at the other end. `encode` and `held` run in the thread of whoever writes."""

    def connect(self) -> None:
        """Reach it, and prepare it for rows; again after it was away."""

    def encode(self, table: str, batch: Batch) -> Iterable[Chunk]:
        """Make chunks of rows."""

    def held(self, *, final: bool) -> Iterable[Chunk]:
        """Give what `encode` held back to make larger chunks; at the end all of it."""

    def send(self, chunk: Chunk) -> Refusal | None:
        """Send a chunk; an UnavailableError has all of it sent again."""

    def close(self) -> None:
        """Let go."""


class Buffered:
    """A sink of a service."""

    def __init__(self, service: Service, url: Url, tables: tuple[str, ...], run: Run) -> None:
        """Reach the service. A live run starts without it, another one ends here."""
        self.capabilities = Capabilities(tables)
        self.name = url.text
        self.rows_sent = self.rows_refused = self.retries = 0
        self._service, self._run = service, run
        self._memory: deque[Chunk] = deque()
        self._memory_bytes = 0
        self._max_memory = url.size("memory", MEMORY_BYTES)
        self._spill = Spill(_folder(url), url.size("spill_size", SPILL_BYTES))
        self._changed = threading.Condition()
        self._trouble: str | None = None
        self._refusal = ""
        self._closing = self._given_up = False
        self._progress_s = time.monotonic()
        self._connected = self._connect_first()
        if self._spill.rows:
            self._run.say(f"{self.name}: sends {self._spill.rows:,} rows of an earlier run first")
        self._thread = threading.Thread(target=self._work, name=f"send {url.host}", daemon=True)
        self._thread.start()

    def write(self, table: str, batch: Batch) -> None:
        """Take a batch: encoded, it waits for the service in memory or on disk."""
        self.put(self._service.encode(table, batch))

    def put(self, chunks: Iterable[Chunk]) -> None:
        """Keep chunks in memory, or once that is full on disk; in that order they are sent."""
        lost, reason = 0, OSError(errno.ENOBUFS, "")
        for chunk in chunks:
            try:
                if not self._keep(chunk):
                    what = (
                        f"{self._trouble or 'too slow'}; memory and {self._spill.folder} are full"
                    )
                    raise OSError(errno.ENOBUFS, what, self.name)
            except OSError as error:
                lost, reason = lost + chunk.rows, error
        if lost:
            raise RowsLostError(reason, lost)

    def flush(self) -> None:
        """Give what has waited long enough for more of its kind to the thread that sends."""
        self.put(self._service.held(final=False))

    def close(self) -> None:
        """Send what waits; what is not taken is left on disk for the next run."""
        try:
            self.put(self._service.held(final=True))
        finally:
            with self._changed:
                self._closing = True
                self._progress_s = time.monotonic()
                self._changed.notify_all()
                while self._has_more() and self._is_hopeful(
                    GRACE_S if self._trouble else SLOW_GRACE_S
                ):
                    self._changed.wait(0.1)
                self._given_up = True
                self._changed.notify_all()
            # In steps, so that whoever watches this thread sees that it is not stuck.
            while self._thread.is_alive():
                self._thread.join(0.1)
            lost = self._leave()
            self._service.close()
        self._account(lost)

    def _connect_first(self) -> bool:
        try:
            self._service.connect()
        except UnavailableError as error:
            if not self._run.live:
                self._spill.close()
                raise OSError(
                    error.errno, f"{error.strerror}; nothing is sent", self.name
                ) from error
            self._complain(error)
            return False
        return True

    def _keep(self, chunk: Chunk) -> bool:
        with self._changed:
            while not self._fits(chunk):
                if self._run.live or not self._is_hopeful(PATIENCE_S):
                    return False
                self._changed.wait(1)
            self._changed.notify_all()
        return True

    def _fits(self, chunk: Chunk) -> bool:
        if self._memory_bytes + chunk.size <= self._max_memory and not len(self._spill):
            self._memory.append(chunk)
            self._memory_bytes += chunk.size
            return True
        try:
            return self._spill.put(chunk)
        except OSError:
            # A full disk is as good as a bound; whoever has time waits for room in memory.
            if self._run.live or not self._is_hopeful(PATIENCE_S):
                raise
            if self._memory_bytes + chunk.size > self._max_memory:
                return False
            self._memory.append(chunk)
            self._memory_bytes += chunk.size
            return True

    def _is_hopeful(self, patience_s: float) -> bool:
        return time.monotonic() - self._progress_s < patience_s

    def _has_more(self) -> bool:
        return bool(self._memory or len(self._spill))

    def _work(self) -> None:
        pause_s = FIRST_PAUSE_S
        while True:
            with self._changed:
                while not self._has_more() and not self._given_up:
                    self._changed.wait()
                if self._given_up:
                    return
            try:
                if not self._connected:
                    self._service.connect()
                    self._connected = True
                self._send_first()
                pause_s = FIRST_PAUSE_S
            except Exception as error:
                self._complain(error)
                self._connected = False
                self.retries += 1
                with self._changed:
                    if not self._given_up:
                        self._changed.wait_for(
                            lambda: self._given_up, pause_s * random.uniform(0.67, 1)
                        )
                pause_s = min(2 * pause_s, 1.0 if self._closing else LONGEST_PAUSE_S)

    def _send_first(self) -> None:
        """Send what came first; it waits where it is until it is taken."""
        with self._changed:
            taken = self._merged()
            chunk = taken[0] if len(taken) == 1 else _merge(taken) if taken else self._spill.first()
        if chunk is None:
            return
        refused = self._service.send(chunk)
        with self._changed:
            if taken:
                for _ in taken:
                    self._memory_bytes -= self._memory.popleft().size
            else:
                self._spill.drop()
            self._progress_s = time.monotonic()
            self._changed.notify_all()
        self._note(chunk, refused)

    def _merged(self) -> list[Chunk]:
        """Give the first chunks in memory that fit into one."""
        found: list[Chunk] = []
        rows = size = 0
        for chunk in self._memory:
            rows, size = rows + chunk.rows, size + chunk.size
            if found and (chunk.table != found[0].table or rows > ROWS or size > BYTES):
                break
            found.append(chunk)
        return found

    def _note(self, chunk: Chunk, refused: Refusal | None) -> None:
        """Count what was sent, and say when that works again, or when rows were refused."""
        rows, reason = refused or Refusal(0, "")
        self.rows_refused += rows
        self.rows_sent += chunk.rows - rows
        if rows and not self._refusal:
            self._refusal = reason
            self._run.say(f"{self.name}: refuses rows: {reason}")
        if self._trouble is not None:
            self._trouble = None
            self._run.say(f"{self.name}: works again")

    def _complain(self, error: Exception) -> None:
        what = (isinstance(error, OSError) and error.strerror) or str(error) or repr(error)
        if self._trouble is None:
            where = f"rows wait in memory, then in {self._spill.folder}"
            self._run.say(f"{self.name}: {what}; {where}")
        self._trouble = what

    def _leave(self) -> int:
        """Write what is in memory to disk; give the number of rows that did not fit there."""
        lost = 0
        for chunk in self._memory:
            try:
                lost += 0 if self._spill.put(chunk) else chunk.rows
            except OSError as error:
                self._trouble = f"{self._trouble or 'stalled'}; {error.filename}: {error.strerror}"
                lost += chunk.rows
        self._memory.clear()
        self._spill.close()
        return lost

    def _account(self, lost: int) -> None:
        """Raise an error for rows that are not where they should be."""
        left = self._spill.rows
        parts = [self._trouble or "takes nothing"] if lost or left else []
        if left:
            parts.append(f"{left:,} rows wait in {self._spill.folder}: the next run sends them")
        if self.rows_refused:
            parts.append(f"{self.rows_refused:,} rows were refused: {self._refusal}")
        if self._spill.damaged:
            parts.append(f"{self._spill.damaged} damaged files are in {self._spill.folder}")
        if parts:
            error = OSError(errno.EHOSTUNREACH, "; ".join(parts), self.name)
            raise RowsLostError(error, lost + self.rows_refused)


def _merge(chunks: list[Chunk]) -> Chunk:
    keys = tuple(key for chunk in chunks for key in chunk.keys)
    values = tuple(value for chunk in chunks for value in chunk.values)
    return Chunk(chunks[0].table, keys, values, sum(chunk.rows for chunk in chunks))


def _folder(url: Url) -> Path:
    """Name where rows for a service wait: the same in every run with the same URL."""
    if "spill" in url.options:
        return Path(url.options["spill"])
    digest = hashlib.sha256(url.text.encode()).hexdigest()[:8]
    name = re.sub(r"[^\w.-]+", "-", url.text)
    return state_folder() / "spill" / f"{name[:80]}-{digest}"
