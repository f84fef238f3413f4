"""`tcpwhy monitor`: a live link in, verdicts out while the connections last."""

import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

import click

from tcpwhy import store
from tcpwhy.cli._options import DURATION, FORMAT, OUTPUT, analysis
from tcpwhy.delivery import Delivery
from tcpwhy.live import FANOUTS, TABLES, Monitor, monitor
from tcpwhy.sinks import open_sink
from tcpwhy.units import nanoseconds, quantity

_FLUSH_S = 3.0
"""A store is given what waits this often: so much is lost with the machine."""
_STATUS_S = 1.0


@click.command("monitor")
@click.argument("interfaces", nargs=-1, required=True, metavar="IFACE...")
@click.option(
    "--table",
    "tables",
    type=click.Choice(TABLES),
    multiple=True,
    help="Table to write; may be repeated. flows unless given; a store takes all.",
)
@FORMAT
@OUTPUT
@click.option(
    "--interval",
    type=DURATION,
    help="Length of a periodic calculation; rows come as often.  [default: 3s]",
)
@analysis
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    help="Threads, each with its ring.  [default: all cores]",
)
@click.option(
    "--fanout",
    type=click.Choice(FANOUTS),
    default="hash",
    show_default=True,
    help="How workers share packets: the kernel's hash, a program, the card's queues.",
)
@click.option(
    "--snaplen",
    type=click.IntRange(min=64),
    help="Bytes of a frame that are kept.  [default: 256]",
)
@click.option(
    "--max-flows",
    type=click.IntRange(min=1),
    help="Flows that a worker holds at the same time.  [default: 2000000]",
)
@click.option(
    "--promiscuous/--no-promiscuous",
    default=True,
    help="Also packets to other hosts.  [default: promiscuous]",
)
@click.option("--duration", type=DURATION, help="End after this time.  [default: until stopped]")
@click.option(
    "--keep", type=DURATION, help="Remove what a store has of days before that.  [default: all]"
)
@click.option(
    "--keep-size",
    metavar="BYTES",
    help="Remove the oldest of a store that is larger, such as 20GB.  [default: all]",
)
@click.option("--status/--no-status", default=True, help="A line on standard error every second.")
def command(
    interfaces: tuple[str, ...],
    tables: tuple[str, ...],
    format: str | None,
    outputs: tuple[str, ...],
    duration: str | None,
    keep: str | None,
    keep_size: str | None,
    status: bool,
    **options: object,
) -> int:
    """Say what limits each TCP connection on a live link.

    It takes CAP_NET_RAW, which is given up with all others once the sockets are open. SIGINT,
    SIGTERM and SIGHUP end it: open flows are written, and the exit code is 0.
    """
    targets = outputs or ("-",)
    wanted = list(tables) or list(TABLES)
    bounds = {
        "keep_ns": nanoseconds(keep) if keep else None,
        "keep_bytes": int(quantity(keep_size, "bytes")) if keep_size else None,
    }
    # First the sockets, then everything else without privileges.
    chosen: dict[str, Any] = {"table": wanted, "drop_privileges": True} | options
    result = monitor(interfaces, **chosen)
    try:
        sinks = [open_sink(target, format=format, tables=tables or None) for target in targets]
        for sink in sinks:
            if isinstance(sink, store.Sink):
                sink.keep_up(**bounds)
    except BaseException:
        result.stop()
        raise
    named = zip(targets, sinks, strict=True)
    deliveries = [Delivery(name, sink, every_s=_FLUSH_S, say=_say) for name, sink in named]
    _say(f"watching {', '.join(interfaces)}")
    with _ended_by_signals(result, duration) as ended, _status(result, deliveries, shown=status):
        for table, batch in result.batches():
            for delivery in deliveries:
                if table in delivery.tables:
                    (delivery.put if ended.is_set() else delivery.offer)(table, batch)
    return _account(result, deliveries)


def _account(result: Monitor, deliveries: Sequence[Delivery]) -> int:
    """Finish the sinks and say what was lost; give the exit code."""
    for delivery in deliveries:
        delivery.close()
        if delivery.rows_lost:
            _say(f"{delivery.name}: {delivery.rows_lost:,} rows were lost")
    lost = result.lost()
    if any(lost):
        _say(f"lost: {lost.packets:,} packets (kernel), {lost.rows:,} rows (waiting for output)")
    for error in result.damage:
        _say(str(error))
    return result.damage[0].exit_code if result.damage else 0


@contextmanager
def _ended_by_signals(result: Monitor, duration: str | None) -> Iterator[threading.Event]:
    """Let the first signal, or the end of the time, end the run in order, the second at once."""
    ended = threading.Event()

    def end() -> None:
        ended.set()
        result.stop()

    def on_signal(number: int, frame: FrameType | None) -> None:
        if ended.is_set():
            raise KeyboardInterrupt
        end()

    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, on_signal) for number in signals}
    timer = threading.Timer(nanoseconds(duration) / 1e9, end) if duration else None
    if timer:
        timer.daemon = True
        timer.start()
    try:
        yield ended
    finally:
        if timer:
            timer.cancel()
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _status(result: Monitor, deliveries: Sequence[Delivery], *, shown: bool) -> Iterator[None]:
    """Show every second what comes and what is lost; on a terminal always in the same line."""
    if not (shown and sys.stderr.isatty()):
        yield
        return
    over = threading.Event()

    def show() -> None:
        before, then = 0, time.monotonic()
        while not over.wait(_STATUS_S):
            packets, now = result.progress().packets, time.monotonic()
            lost = result.lost()
            rows = lost.rows + sum(delivery.rows_lost for delivery in deliveries)
            rate = (packets - before) / (now - then)
            line = (
                f"{packets:,} packets, {rate:,.0f}/s; lost {lost.packets:,} packets, {rows:,} rows"
            )
            print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)
            before, then = packets, now

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _say(message: str) -> None:
    click.echo(f"tcpwhy: {message}", err=True)
