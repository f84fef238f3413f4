"""`tcpwhy analyze`: captures in, verdicts out."""

import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType

import click

from tcpwhy._core import UsageError
from tcpwhy.analysis import TABLES, Result, analyze
from tcpwhy.cli import INTERRUPTED
from tcpwhy.cli._options import DURATION, FORMAT, OUTPUT, analysis
from tcpwhy.cli._progress import progress_of
from tcpwhy.sinks import Sink, open_sink


@click.command("analyze")
@click.argument("captures", nargs=-1, required=True, metavar="CAPTURE...")
@click.option(
    "--table",
    "tables",
    type=click.Choice(TABLES),
    multiple=True,
    help="Table to write; may be repeated. flows unless given; a store takes all but segments.",
)
@FORMAT
@OUTPUT
@click.option("--interval", type=DURATION, help="Length of a periodic calculation.  [default: 3s]")
@analysis
@click.option("--workers", type=click.IntRange(min=1), help="Threads.  [default: all cores]")
@click.option(
    "--max-flows",
    type=click.IntRange(min=1),
    help="Flows that a worker holds at the same time.  [default: 10000000]",
)
@click.option(
    "--pace",
    type=click.FloatRange(min=0, min_open=True),
    metavar="FACTOR",
    help="Read as fast as the packets came, times this: a rehearsal of a live run.",
)
def command(
    captures: tuple[str, ...],
    tables: tuple[str, ...],
    format: str | None,
    outputs: tuple[str, ...],
    **options: object,
) -> int:
    """Say what limits each TCP connection of a capture.

    CAPTURE is a pcap or pcapng file, plain or compressed with gzip, zstd, xz or lz4, or - for
    standard input. Several are read in the order of their packets' times.
    """
    targets = outputs or ("-",)
    # A misspelt name must not cost the results of an earlier run.
    if not any(_may_be_read(capture) for capture in captures):
        targets = ()
    with ExitStack() as stack:
        sinks = [open_sink(target, format=format, tables=tables or None) for target in targets]
        wanted = dict.fromkeys(table for sink in sinks for table in sink.tables)
        table = wanted or ["counters"]
        result = analyze(captures, table=table, **options)  # type: ignore[arg-type]
        for sink in sinks:
            stack.callback(sink.close)
        interrupted = stack.enter_context(stopped_by_signals(result))
        shown = not (sys.stdout.isatty() and "-" in targets and format in ("csv", "jsonl"))
        with progress_of(result, shown=shown):
            found = _pour(result, sinks)
    for error in result.damage:
        click.echo(f"tcpwhy: {error}", err=True)
    if interrupted:
        return INTERRUPTED
    if result.damage:
        return result.damage[0].exit_code
    if options["flow"] is not None and not found & {"flows", "segments"}:
        raise UsageError(f"no flow {options['flow']} there: the flows table has the ids")
    return 0


@contextmanager
def stopped_by_signals(result: Result) -> Iterator[list[int]]:
    """Let the first SIGINT or SIGTERM end the run in order, and the second at once.

    The list given has the signals that came.
    """
    came: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        came.append(number)
        if len(came) > 1:
            raise KeyboardInterrupt
        result.stop()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _pour(result: Result, sinks: Sequence[Sink]) -> set[str]:
    """Give every sink the batches that it wants; name the tables that had rows."""
    found = set()
    for table, batch in result.batches():
        found.add(table)
        for sink in sinks:
            if table in sink.tables:
                sink.write(table, batch)
    return found


def _may_be_read(capture: str) -> bool:
    return capture == "-" or (Path(capture).exists() and not Path(capture).is_dir())
