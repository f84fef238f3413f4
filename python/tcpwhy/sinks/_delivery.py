"""Sinks of a live run: each in a thread of its own, so that none holds up another or the capture.

A sink that is slow loses rows, one that fails is tried again with the next rows; what is lost is
counted and said.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from tcpwhy._core import Batch
from tcpwhy.sinks import RowsLostError, Sink

WAITING = 64
"""Batches that may wait for a sink."""

WAITING_ROWS = 131_072
"""Rows that may: some 150 MB. One batch may in any case."""

FLUSH_S = 3.0
"""A sink is told to write this often: so much is lost with the machine."""

GRACE_S = 10.0
"""How long the end of a run waits for a sink that takes nothing and does nothing."""


Item: TypeAlias = tuple[str, Batch] | None
"""A batch of a table, or the end of all."""


class Delivery:
    """Hands batches to a sink, without ever waiting for it while a run lasts."""

    def __init__(
        self,
        name: str,
        sink: Sink,
        *,
        say: Callable[[str], None],
        every_s: float = FLUSH_S,
        grace_s: float = GRACE_S,
    ) -> None:
        """Start the thread; `say` is told of troubles, the sink is flushed `every_s`."""
        self.name = name
        self.tables = sink.capabilities.tables
        self.rows_lost = 0
        self.gone = False
        """Whether whoever read the output has left."""
        self._sink = sink
        self._every_s, self._grace_s = every_s, grace_s
        self._say = say
        self._slow = self._stuck = self._ended = False
        self._refused: set[str] = set()
        self._trouble = ""
        self._waiting = _Line()
        self._lock = threading.Lock()
        self._began = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"sink {name}", daemon=True)
        self._thread.start()
        self._began.wait()

    @property
    def failing(self) -> bool:
        """Whether the sink refused what it was asked last."""
        return bool(self._refused)

    def offer(self, table: str, batch: Batch) -> None:
        """Give a batch away if there is room for it."""
        if not self._waiting.put((table, batch)):
            self._lose(len(batch))
            if not self._slow:
                self._slow = True
                self._say(f"{self.name}: too slow, rows are lost; the capture goes on")

    def put(self, table: str, batch: Batch) -> None:
        """Give a batch away, and wait a while for room: at the end of a run."""
        if self._stuck:
            return self.offer(table, batch)
        if not self._put_in_time((table, batch)):
            self._lose(len(batch))
        return None

    def end(self) -> None:
        """Have the sink finish once it took what waits."""
        if not self._ended:
            self._ended = True
            self._put_in_time(None)

    def close(self) -> None:
        """Let the sink take what waits, and finish; one that does nothing is given up."""
        self.end()
        while not self._stuck and self._thread.is_alive():
            before = self._standing()
            self._thread.join(self._grace_s)
            self._stuck = self._thread.is_alive() and self._standing() == before
        if self._stuck:
            self._lose(self._waiting.rows)
            self._say(f"{self.name}: sink stalled; giving up")

    def _put_in_time(self, item: Item) -> bool:
        """Give something away as long as the sink does anything; say whether there was room."""
        while not self._stuck:
            before = self._standing()
            if self._waiting.put(item, self._grace_s):
                return True
            self._stuck = self._standing() == before
        return False

    def _standing(self) -> tuple[int, int]:
        """Give what changes while the thread works: batches that wait, its processor time.

        A sink that joins parts, or makes a file of them, may take nothing for long; one that is
        blocked takes no time of a processor either.
        """
        try:
            worked_ns = time.clock_gettime_ns(self._clock)
        except OSError:
            # The thread has ended.
            worked_ns = -1
        return len(self._waiting), worked_ns

    def _run(self) -> None:
        self._clock = time.pthread_getcpuclockid(threading.get_ident())
        self._began.set()
        due = time.monotonic() + self._every_s
        while True:
            for item in self._waiting.take(due - time.monotonic()):
                if item is None:
                    self._try("close", self._sink.close)
                    return
                self._write(*item)
            if time.monotonic() >= due:
                due = time.monotonic() + self._every_s
                self._try("flush", self._sink.flush)

    def _write(self, table: str, batch: Batch) -> None:
        works = self._try("write", lambda: self._sink.write(table, batch), rows=len(batch))
        if works and self._slow and not len(self._waiting):
            self._slow = False
            self._say(f"{self.name}: caught up; {self.rows_lost:,} rows were lost")

    def _try(self, kind: str, action: Callable[[], None], *, rows: int = 0) -> bool:
        """Do something that may fail, and lose `rows` then unless the error says how many.

        A store that takes rows but cannot write them still fails.
        """
        try:
            action()
        except Exception as error:
            self._lose(error.rows if isinstance(error, RowsLostError) else rows)
            self.gone |= isinstance(error, BrokenPipeError)
            # The file may be one that is not there under this name before it is complete.
            what = (isinstance(error, OSError) and error.strerror) or str(error)
            is_end = kind == "close"
            if not self.gone and (not self.failing or (is_end and what != self._trouble)):
                more = "" if is_end else "; the capture goes on"
                self._say(f"{self.name}: {what.partition(chr(10))[0]}{more}")
            self._trouble = what
            self._refused.add(kind)
            return False
        if kind in self._refused:
            self._refused.remove(kind)
            if not self.failing:
                self._say(f"{self.name}: works again, {self.rows_lost:,} rows were lost")
        return True

    def _lose(self, rows: int) -> None:
        with self._lock:
            self.rows_lost += rows


class _Line:
    """Batches that wait, bounded by their number and by their rows."""

    def __init__(self) -> None:
        self.rows = 0
        self._items: deque[Item] = deque()
        self._changed = threading.Condition()

    def __len__(self) -> int:
        return len(self._items)

    def put(self, item: Item, timeout_s: float = 0) -> bool:
        """Append when there is room, or by then; say whether there was."""
        rows = len(item[1]) if item else 0

        def fits() -> bool:
            room = len(self._items) < WAITING and self.rows + rows <= WAITING_ROWS
            return room or not self._items

        with self._changed:
            if not self._changed.wait_for(fits, timeout_s):
                return False
            self._items.append(item)
            self.rows += rows
            self._changed.notify_all()
        return True

    def take(self, timeout_s: float) -> list[Item]:
        """Take the first, once there is one; nothing when there is none by then."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._items, max(timeout_s, 0)):
                return []
            item = self._items.popleft()
            self.rows -= len(item[1]) if item else 0
            self._changed.notify_all()
        return [item]


def close_all(deliveries: Sequence[Delivery]) -> None:
    """Close all at the same time: several services that are away take no longer than one."""
    for delivery in deliveries:
        delivery.end()
    for delivery in deliveries:
        delivery.close()


def pour(
    batches: Iterable[tuple[str, Batch]], deliveries: Sequence[Delivery], ended: threading.Event
) -> None:
    """Give every delivery what it wants: while the run lasts if there is room, then in any case.

    Raises a BrokenPipeError when the readers of all outputs have left.
    """
    for table, batch in batches:
        for delivery in deliveries:
            if table in delivery.tables:
                (delivery.put if ended.is_set() else delivery.offer)(table, batch)
        if deliveries and all(delivery.gone for delivery in deliveries):
            close_all(deliveries)
            raise BrokenPipeError
