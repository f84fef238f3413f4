"""What a live run says on standard error while it lasts: a line of numbers, links that go down."""

import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from tcpwhy.analysis import Result
from tcpwhy.sinks._delivery import Delivery

STATUS_S = 1.0


def losses(result: Result, deliveries: Sequence[Delivery]) -> Iterator[str]:
    """Say at the end of a live or paced run what was lost, and by whom."""
    for delivery in deliveries:
        if delivery.rows_lost:
            yield f"{delivery.name}: {delivery.rows_lost:,} rows were lost"
    lost = result.lost()
    if lost.packets:
        yield f"{lost.packets:,} packets were lost: the ring was full (kernel_drops)"
    if lost.rows:
        yield f"{lost.rows:,} rows were lost: no output took them in time (rows_dropped)"


@contextmanager
def status_line(result: Result, deliveries: Sequence[Delivery], *, shown: bool) -> Iterator[None]:
    """Show every second what comes and what is lost; on a terminal always in the same line."""
    if not (shown and sys.stderr.isatty()):
        yield
        return
    before, then = 0, time.monotonic()

    def show() -> None:
        nonlocal before, then
        packets, now = result.progress().packets, time.monotonic()
        rate = (packets - before) / (now - then)
        lost = result.lost()
        rows = lost.rows + sum(delivery.rows_lost for delivery in deliveries)
        failing = [delivery.name for delivery in deliveries if delivery.failing]
        fails = f"; failing: {', '.join(failing)}" if failing else ""
        line = f"{packets:,} packets, {rate:,.0f}/s; lost {lost.packets:,} packets, {rows:,} rows"
        print(f"\r\x1b[K{line}{fails}", end="", file=sys.stderr, flush=True)
        before, then = packets, now

    with _each_second(show):
        yield
    print("\r\x1b[K", end="", file=sys.stderr, flush=True)


@contextmanager
def warnings(names: Sequence[str], result: Result, say: Callable[[str], None]) -> Iterator[None]:
    """Say when an interface goes down, is up again, or gives packets to the wrong worker."""
    from tcpwhy.host.ethtool import Link

    told: set[str] = set()
    down: dict[str, float] = {}

    def look() -> None:
        for name, link in watched.items():
            is_up = link.is_up()
            if is_up is False and name not in down:
                down[name] = time.monotonic()
                say(f"{name} is down: no packets come until it is up again")
            elif is_up and name in down:
                away = time.monotonic() - down.pop(name)
                say(f"{name} is up again after {away:.0f} s without a capture")

        hidden = result.standing().counters.get("packets_tag_hidden", 0)
        if hidden and not told:
            told.add("tags")
            say("tags in frames that leave hide connections: --fanout cbpf or hosts")

    with ExitStack() as stack:
        watched = {name: stack.enter_context(Link(name)) for name in names}
        look()
        with _each_second(look):
            yield
        look()


@contextmanager
def _each_second(work: Callable[[], None]) -> Iterator[None]:
    over = threading.Event()

    def run() -> None:
        while not over.wait(STATUS_S):
            work()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
