"""Sinks that block, fail, and come back: nobody waits for them, and what they lost is counted."""

import threading
import time

from tcpwhy.sinks import Capabilities, RowsLostError
from tcpwhy.sinks._delivery import WAITING, WAITING_ROWS, Delivery, close_all

FOREVER = 3600.0
GRACE_S = 1.0


class Sink:
    capabilities = Capabilities(("flows",))

    def __init__(self):
        self.taken, self.closed, self.fails = [], False, False
        self.open, self.busy = threading.Event(), threading.Event()
        self.open.set()

    def write(self, table, batch):
        self.busy.set()
        self.open.wait()
        if self.fails:
            raise OSError(28, "No space left on device")
        self.taken.append(batch)

    def flush(self):
        pass

    def close(self):
        self.closed = True


def blocked():
    """Give a sink that is stuck with its first row, and what delivers to it."""
    sink = Sink()
    sink.open.clear()
    delivery = Delivery("slow", sink, every_s=FOREVER, say=lambda _: None)
    delivery.offer("flows", [1])
    sink.busy.wait()
    return sink, delivery


def test_a_blocked_sink_loses_what_does_not_fit():
    sink, delivery = blocked()
    for _ in range(WAITING + 5):
        delivery.offer("flows", [1, 2, 3])
    assert delivery.rows_lost == 5 * 3
    sink.open.set()
    delivery.close()
    assert (len(sink.taken), sink.closed) == (1 + WAITING, True)


def test_large_batches_are_bounded_by_their_rows():
    sink, delivery = blocked()
    half = range(WAITING_ROWS // 2)
    for batch in half, half, [1], range(WAITING_ROWS):
        delivery.offer("flows", batch)
    assert delivery.rows_lost == 1 + WAITING_ROWS
    sink.open.set()
    delivery.close()
    assert sum(len(batch) for batch in sink.taken) == 1 + WAITING_ROWS


def test_a_batch_larger_than_the_bound_is_taken_alone():
    sink = Sink()
    delivery = Delivery("slow", sink, every_s=FOREVER, say=lambda _: None)
    delivery.put("flows", range(2 * WAITING_ROWS))
    delivery.put("flows", [1])
    delivery.close()
    assert [len(batch) for batch in sink.taken] == [2 * WAITING_ROWS, 1]


def test_a_sink_that_fails_is_told_once_and_tried_again():
    sink, said = Sink(), []
    delivery = Delivery("full", sink, every_s=FOREVER, say=said.append)
    sink.fails = True
    for _ in range(3):
        delivery.put("flows", [1, 2])
    while delivery.rows_lost < 6:
        sink.busy.wait()
    sink.fails = False
    delivery.put("flows", [3])
    delivery.close()
    assert sink.taken == [[3]]
    assert len(said) == 2
    assert "No space left" in said[0]
    assert "6 rows were lost" in said[1]


def test_where_rows_are_that_the_end_could_not_write_is_said_although_the_disk_was_full():
    class Full(Sink):
        fails_again = "No space left on device; its rows are in there"

        def close(self):
            raise OSError(28, self.fails_again)

    again, there = Full(), Full()
    again.fails_again = "No space left on device"
    for sink, told in (again, []), (there, ["f: No space left on device; its rows are in there"]):
        said = []
        sink.fails = True
        delivery = Delivery("f", sink, every_s=FOREVER, say=said.append)
        delivery.put("flows", [1])
        delivery.close()
        assert said == ["f: No space left on device; the capture goes on", *told]


def test_rows_that_a_sink_held_back_and_lost_are_counted():
    class Full(Sink):
        def close(self):
            raise RowsLostError(OSError(28, "No space left on device", "f"), 7)

    said = []
    delivery = Delivery("f", Full(), every_s=FOREVER, say=said.append)
    delivery.put("flows", [1])
    delivery.close()
    assert (delivery.rows_lost, said) == (7, ["f: No space left on device"])


def test_a_sink_that_works_at_its_end_is_waited_for_and_one_that_is_blocked_is_not():
    class Slow(Sink):
        """Works longer than a blocked one would be waited for, as one that joins its rows."""

        def close(self):
            until = time.thread_time() + 2 * GRACE_S
            while time.thread_time() < until:
                pass
            super().close()

    class Blocked(Sink):
        def close(self):
            self.open.wait()

    slow, blocked, said = Slow(), Blocked(), []
    for sink in slow, blocked:
        sink.open.clear()
        delivery = Delivery("", sink, every_s=FOREVER, grace_s=GRACE_S, say=said.append)
        delivery.close()
    assert slow.closed
    assert said == [": sink stalled; giving up"]
    blocked.open.set()


def test_sinks_end_at_the_same_time():
    """Each waits for the other, as none could that is closed after it."""
    both = threading.Barrier(2, timeout=30)

    class Meeting(Sink):
        def close(self):
            both.wait()
            super().close()

    sinks = Meeting(), Meeting()
    close_all([Delivery("", sink, every_s=FOREVER, say=lambda _: None) for sink in sinks])
    assert [sink.closed for sink in sinks] == [True, True]
