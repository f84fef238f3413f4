"""`tcpwhy monitor`: a live link in, verdicts out while the connections last."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import click

from tcpwhy import UsageError
from tcpwhy._core import give_back_when_freed
from tcpwhy.cli import INTERRUPTED, _view
from tcpwhy.cli._help import Described
from tcpwhy.cli._options import DURATION, FORMAT, OUTPUT, SIZE, options
from tcpwhy.cli._status import losses, status_line, warnings
from tcpwhy.cli._stopping import stopping
from tcpwhy.host import ethtool
from tcpwhy.live import TABLES, Monitor, bounds_that_bit, monitor
from tcpwhy.sinks import Run, Sink, open_sink
from tcpwhy.sinks._delivery import Delivery, close_all, pour
from tcpwhy.units import nanoseconds

LARGE_BYTES = 128 * 1024
"""Blocks from this size on, such as batches of rows, go back to the system when they are freed."""


def _interfaces(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Complete the names of interfaces."""
    return sorted(path.name for path in Path("/sys/class/net").glob(f"{incomplete}*"))


SECTION = "Live links"
EXAMPLES = (
    "# watch a link on the terminal",
    "sudo tcpwhy monitor eth0 --tui",
    "# into a store of at most 20 GB",
    "sudo tcpwhy monitor eth0 -o store/ --keep-size 20GB",
)


@click.command("monitor", cls=Described)
@click.argument(
    "interfaces", nargs=-1, required=True, metavar="IFACE...", shell_complete=_interfaces
)
@click.option(
    "--table",
    "tables",
    type=click.Choice(TABLES),
    multiple=True,
    help="Table to write; may be repeated. flows unless given; a store takes all.",
)
@FORMAT
@OUTPUT
@options("monitor")
@click.option("--duration", type=DURATION, help="End after this time.  [default: until stopped]")
@click.option(
    "--keep", type=DURATION, help="Delete whole days of a store older than this.  [default: all]"
)
@click.option(
    "--keep-size",
    type=SIZE,
    metavar="BYTES",
    help="Delete the oldest parts of a store larger than this, such as 20GB.  [default: all]",
)
@click.option("--status/--no-status", default=True, help="A line on standard error every second.")
@_view.OPTION
def command(
    interfaces: tuple[str, ...],
    tables: tuple[str, ...],
    format: str | None,
    outputs: tuple[str, ...],
    duration: str | None,
    keep: str | None,
    keep_size: int | None,
    status: bool,
    tui: bool,
    **settings: Any,
) -> int:
    """Say what limits each TCP connection on a live link.

    It needs CAP_NET_RAW, and gives up all capabilities once the sockets are open. SIGINT,
    SIGTERM and SIGHUP end it: open flows are written, and the exit code is 130.
    """
    targets = outputs or ("-",)
    wanted = list(tables) or list(TABLES)
    if tui:
        _view.check(outputs, format, tables)
        wanted = list(dict.fromkeys((*wanted, *_view.TABLES)))
    if settings["fanout"] == "hash":
        _warn_of_tags(interfaces)
    give_back_when_freed(LARGE_BYTES)
    # First the sockets, then everything else without privileges.
    result = monitor(interfaces, table=wanted, drop_privileges=True, **settings)
    view = _view.View(settings["interval"]) if tui else None
    say = view.say if view else _say
    keep_ns = nanoseconds(keep) if keep else None
    run = Run(live=True, keep_ns=keep_ns, keep_bytes=keep_size, say=say, standing=result.standing)
    try:
        sinks = [open_sink(to, format=format, tables=tables or None, run=run) for to in targets]
        _check_bounds(sinks, run)
    except BaseException:
        result.stop()
        raise
    named = zip(targets, sinks, strict=True)
    deliveries = [Delivery(name, sink, say=say) for name, sink in named]
    title = ", ".join(interfaces)
    ended = threading.Event()

    def end() -> None:
        ended.set()
        result.stop()

    with ExitStack() as stack:
        came = stack.enter_context(stopping(end))
        _say(f"watching {title}")
        stack.enter_context(_after(duration, end))
        stack.enter_context(warnings(interfaces, result, say))
        if view:
            view.run(title, result, deliveries, ended)
        else:
            stack.enter_context(status_line(result, deliveries, shown=status))
            pour(result.batches(), deliveries, ended)
    is_overview = format in (None, "table") and "-" in targets
    code = _account(result, deliveries, explain=not is_overview)
    return INTERRUPTED if came else code


def _warn_of_tags(interfaces: Sequence[str]) -> None:
    """Say where the kernel's hash will part connections."""
    hidden = [vlan for name in interfaces for vlan in ethtool.hides_tags(name)]
    if hidden:
        names = ", ".join(hidden)
        _say(f"--fanout hash does not see into what {names} sends: --fanout hosts or cbpf does")


def _check_bounds(sinks: Sequence[Sink], run: Run) -> None:
    """Refuse bounds for outputs that keep everything."""
    bounded = run.keep_ns is not None or run.keep_bytes is not None
    if bounded and not any(sink.capabilities.retention for sink in sinks):
        raise UsageError("--keep and --keep-size are for a store: --output PATH/ writes one")


def _account(result: Monitor, deliveries: Sequence[Delivery], *, explain: bool) -> int:
    """Finish the sinks, say what was lost and what bounds cut; give the exit code.

    The overview on standard output explains bounds by itself.
    """
    close_all(deliveries)
    for line in losses(result, deliveries):
        _say(line)
    for line in bounds_that_bit(result.standing().counters) if explain else ():
        _say(line)
    for error in result.damage:
        _say(str(error))
    return result.damage[0].exit_code if result.damage else 0


@contextmanager
def _after(duration: str | None, end: Callable[[], None]) -> Iterator[None]:
    """End the run when its time is over."""
    if duration is None:
        yield
        return
    timer = threading.Timer(nanoseconds(duration) / 1e9, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _say(message: str) -> None:
    click.echo(f"tcpwhy: {message}", err=True)
