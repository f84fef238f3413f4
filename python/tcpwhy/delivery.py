"""Sinks of a live run: each in a thread of its own, so that none holds up another or the capture.

A sink that is slow loses rows, one that fails is tried again with the next rows; what is lost is
counted and said.
"""

import queue
import threading
import time
from collections.abc import Callable, Iterable, Sequence

from tcpwhy._core import Batch
from tcpwhy.sinks import Sink

WAITING = 64
"""Batches that may wait for a sink."""

FLUSH_S = 3.0
"""A sink that can is given a chance to write this often: so much is lost with the machine."""

GRACE_S = 10.0
"""How long the end of a run waits for a sink that takes nothing and does nothing."""


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
        """Start the thread; `say` is told of troubles, a sink that can is flushed `every_s`."""
        self.name = name
        self.tables = sink.tables
        self.rows_lost = 0
        self.gone = False
        """Whether whoever read the output has left."""
        self._sink = sink
        self._every_s, self._grace_s = every_s, grace_s
        self._say = say
        self._slow = self._stuck = False
        self._refused: set[str] = set()
        self._waiting: queue.Queue[tuple[str, Batch] | None] = queue.Queue(WAITING)
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
        try:
            self._waiting.put_nowait((table, batch))
        except queue.Full:
            self._lose(len(batch))
            if not self._slow:
                self._slow = True
                self._say(f"{self.name}: too slow, rows are lost; the capture goes on")

    def put(self, table: str, batch: Batch) -> None:
        """Give a batch away, and wait a while for room: at the end of a run."""
        if self._stuck:
            return self.offer(table, batch)
        try:
            self._waiting.put((table, batch), timeout=self._grace_s)
        except queue.Full:
            self._stuck = True
            self._lose(len(batch))
        return None

    def close(self) -> None:
        """Let the sink take what waits, and finish; one that does nothing is given up.

        A sink that makes a file of all its rows may take long, and is seen to work by its thread's
        processor time: one that is blocked takes none.
        """
        try:
            self._waiting.put(None, timeout=0 if self._stuck else self._grace_s)
        except (queue.Full, ValueError):
            self._stuck = True
        while not self._stuck and self._thread.is_alive():
            before = self._standing()
            self._thread.join(self._grace_s)
            self._stuck = self._thread.is_alive() and self._standing() == before
        if self._stuck:
            with self._waiting.mutex:
                left_rows = sum(len(item[1]) for item in self._waiting.queue if item)
            self._lose(left_rows)
            self._say(f"{self.name}: takes nothing, given up")

    def _standing(self) -> tuple[int, int]:
        """Give what changes while the thread works: batches that wait, its processor time."""
        try:
            worked_ns = time.clock_gettime_ns(self._clock)
        except OSError:
            # The thread has ended.
            worked_ns = -1
        return self._waiting.qsize(), worked_ns

    def _run(self) -> None:
        self._clock = time.pthread_getcpuclockid(threading.get_ident())
        self._began.set()
        due = time.monotonic() + self._every_s
        while True:
            try:
                item = self._waiting.get(timeout=max(due - time.monotonic(), 0))
            except queue.Empty:
                pass
            else:
                if item is None:
                    break
                self._write(*item)
            if time.monotonic() >= due:
                due = time.monotonic() + self._every_s
                self._try("flush", getattr(self._sink, "flush", lambda: None))
        if not self._try("close", self._sink.close):
            # What a sink held back in the hope for better times.
            self._lose(getattr(self._sink, "waiting", 0))

    def _write(self, table: str, batch: Batch) -> None:
        if not self._try("write", lambda: self._sink.write(table, batch)):
            self._lose(len(batch))
        elif self._slow and self._waiting.empty():
            self._slow = False
            self._say(f"{self.name}: keeps up again, {self.rows_lost:,} rows were lost")

    def _try(self, kind: str, action: Callable[[], None]) -> bool:
        """Do something that may fail; a store that takes rows but cannot write them still fails."""
        try:
            action()
        except Exception as error:
            self.gone |= isinstance(error, BrokenPipeError)
            if not self.failing and not self.gone:
                # The file may be one that is not there under this name before it is complete.
                what = (isinstance(error, OSError) and error.strerror) or str(error)
                more = "" if kind == "close" else "; the capture goes on"
                self._say(f"{self.name}: {what.partition(chr(10))[0]}{more}")
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
            for delivery in deliveries:
                delivery.close()
            raise BrokenPipeError
