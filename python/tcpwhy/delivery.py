"""Sinks of a live run: each in a thread of its own, so that none holds up another or the capture.

A sink that is slow loses rows, one that fails is tried again with the next rows; what is lost is
counted.
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


class Delivery:
    """Hands batches to a sink, without ever waiting for it."""

    def __init__(
        self, name: str, sink: Sink, *, every_s: float, say: Callable[[str], None]
    ) -> None:
        """Start the thread; `say` is told of failures, a sink that can is flushed `every_s`."""
        self.name = name
        self.tables = sink.tables
        self.rows_lost = 0
        self._sink = sink
        self._every_s = every_s
        self._say = say
        self.failing = False
        """Whether the sink refused what it was given last."""
        self._waiting: queue.Queue[tuple[str, Batch] | None] = queue.Queue(WAITING)
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name=f"sink {name}", daemon=True)
        self._thread.start()

    def offer(self, table: str, batch: Batch) -> None:
        """Give a batch away if there is room for it."""
        try:
            self._waiting.put_nowait((table, batch))
        except queue.Full:
            self._lose(len(batch))

    def put(self, table: str, batch: Batch) -> None:
        """Give a batch away, and wait until there is room: at the end of a run."""
        self._waiting.put((table, batch))

    def close(self) -> None:
        """Let the sink take what waits, and finish."""
        self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        due = time.monotonic() + self._every_s
        while True:
            try:
                item = self._waiting.get(timeout=max(due - time.monotonic(), 0))
            except queue.Empty:
                pass
            else:
                if item is None:
                    break
                table, batch = item
                if not self._try(lambda: self._sink.write(table, batch)):  # noqa: B023
                    self._lose(len(batch))
            if time.monotonic() >= due:
                due = time.monotonic() + self._every_s
                self._try(getattr(self._sink, "flush", lambda: None))
        self._try(self._sink.close)

    def _try(self, action: Callable[[], None]) -> bool:
        try:
            action()
        except Exception as error:
            if not self.failing:
                self._say(f"{self.name}: {error}; the capture goes on")
            self.failing = True
            return False
        if self.failing:
            self._say(f"{self.name}: works again, {self.rows_lost:,} rows were lost")
        self.failing = False
        return True

    def _lose(self, rows: int) -> None:
        with self._lock:
            self.rows_lost += rows


def pour(
    batches: Iterable[tuple[str, Batch]], deliveries: Sequence[Delivery], ended: threading.Event
) -> None:
    """Give every delivery what it wants: while the run lasts if there is room, then in any case."""
    for table, batch in batches:
        for delivery in deliveries:
            if table in delivery.tables:
                (delivery.put if ended.is_set() else delivery.offer)(table, batch)
