"""`tcpwhy analyze`: captures in, verdicts out."""

import sys
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from tcpwhy._core import UsageError, give_back_when_freed
from tcpwhy.analysis import TABLES, Result, analyze
from tcpwhy.cli import INTERRUPTED, _view
from tcpwhy.cli._help import Described
from tcpwhy.cli._options import COUNT, FORMAT, INPUT, OUTPUT, options, view
from tcpwhy.cli._progress import progress_of
from tcpwhy.cli._status import losses
from tcpwhy.cli._stopping import stopping
from tcpwhy.sinks import Run, open_sink, pour, tables_of
from tcpwhy.sinks._delivery import Delivery
from tcpwhy.terminal.overview import Choice
from tcpwhy.wireshark.annotate import Copy

LARGE_BYTES = 1536 * 1024
"""Blocks from this size on, such as tables that grew, go back to the system when they are freed.

Those of a row group are smaller: each would be asked of the system anew.
"""

SECTION = "Captures"
EXAMPLES = (
    "# what limits each connection of a capture",
    "tcpwhy analyze slow.pcap",
    "# one connection, interval by interval, as JSON",
    "tcpwhy analyze slow.pcap --flow 0 --table intervals --format jsonl",
    "# the largest first, of one server alone",
    "tcpwhy analyze slow.pcap --sort unique_bytes --where 'src_port = 5001' -v",
    "# several captures into a store for tcpwhy query",
    "tcpwhy analyze *.pcap -o store/",
)


@click.command("analyze", cls=Described)
@click.argument("captures", nargs=-1, metavar="CAPTURE...", type=INPUT)
@click.option(
    "-r",
    "--read",
    "also",
    multiple=True,
    type=INPUT,
    metavar="CAPTURE",
    help="The same as CAPTURE, as tcpdump and tshark have it.",
)
@click.option(
    "--table",
    "tables",
    type=click.Choice(TABLES),
    multiple=True,
    help="Table to write; may be repeated. flows unless given; a store takes all but segments.",
)
@FORMAT
@OUTPUT
@view
@options("analyze")
@click.option(
    "--annotate",
    metavar="OUT.pcapng",
    help="Write the captures again, with a comment on each packet where the verdict changes.",
)
@click.option(
    "--each",
    is_flag=True,
    help="Analyse each capture on its own, many at a time, into one store. Goes on where an"
    " earlier run stopped.",
)
@click.option(
    "--processes",
    type=COUNT,
    help="With --each, how many at a time.  [default: all cores]",
)
@click.option(
    "--split",
    type=COUNT,
    help="With --each, tasks for each capture: each follows its part of the connections.",
)
@click.option(
    "--cluster",
    metavar="ADDRESS",
    help="With --each, the Dask scheduler whose workers do it: tcp://HOST:8786.",
)
@_view.OPTION
def command(
    captures: tuple[str, ...],
    also: tuple[str, ...],
    tables: tuple[str, ...],
    format: str | None,
    outputs: tuple[str, ...],
    choice: Choice,
    annotate: str | None,
    tui: bool,
    each: bool,
    processes: int | None,
    split: int | None,
    cluster: str | None,
    **settings: Any,
) -> int:
    """Say what limits each TCP connection of a capture.

    CAPTURE is a pcap or pcapng file, plain or compressed with gzip, zstd, xz or lz4, or - for
    standard input. Several are read in the order of their packets' times, as captures of one
    place, so that a flow may span them. With --each they may also be patterns, @LIST (a file with
    a name on each line) and URLs.
    """
    captures = (*captures, *also)
    if not captures:
        raise click.UsageError("no capture given: name pcap or pcapng files, or - for a pipe")
    if annotate and (each or tui):
        raise UsageError("--annotate goes neither with --each nor with --tui")
    if each:
        return _each(captures, tables, outputs, processes, split, cluster, settings)
    if processes or cluster or split:
        raise UsageError("--processes, --split and --cluster go with --each")
    targets = outputs or ("-",)
    # A misspelt name must not cost the results of an earlier run.
    if not any(_may_be_read(capture) for capture in captures):
        targets = ()
    if tui:
        return _rehearse(captures, tables, format, outputs, settings)
    give_back_when_freed(LARGE_BYTES)
    runs: list[Result] = []

    def stop() -> None:
        for run in runs:
            run.stop()

    with ExitStack() as stack:
        interrupted = stack.enter_context(stopping(stop))
        run = Run(say=_say, choice=choice)
        sinks = [open_sink(to, format=format, tables=tables or None, run=run) for to in targets]
        if annotate and targets:
            sinks.append(Copy(captures, annotate, _say))
        result = analyze(captures, table=tables_of(sinks) or ["counters"], **settings)
        runs.append(result)
        if interrupted:
            stop()
        for sink in sinks:
            stack.callback(sink.close)
        shown = not (sys.stdout.isatty() and "-" in targets and format in ("csv", "jsonl"))
        with progress_of(result, shown=shown):
            found = pour(result.batches(), sinks)
    _tell(result, [])
    if interrupted:
        return INTERRUPTED
    if result.damage:
        return result.damage[0].exit_code
    rows = {"flows", "intervals", "periods", "stalls", "segments"}
    if settings["flow"] is not None and not found & rows:
        raise UsageError(f"no flow {settings['flow']} there: the flows table has the ids")
    return 0


def _each(
    captures: Sequence[str],
    tables: Sequence[str],
    outputs: Sequence[str],
    processes: int | None,
    split: int | None,
    cluster: str | None,
    options: dict[str, Any],
) -> int:
    """Analyse many captures into a store."""
    from tcpwhy.cli import _each

    options = {name: value for name, value in options.items() if value is not None}
    for name in ("workers", "pace"):
        if name in options:
            raise UsageError(f"--{name} does not go with --each: choose --processes")
    if len(outputs) != 1 or outputs[0] == "-" or Path(outputs[0]).suffix:
        raise UsageError("--each writes to one store: --output FOLDER, a path without a suffix")
    return _each.run(
        captures,
        outputs[0],
        tables=tables,
        processes=processes,
        split=split or 1,
        cluster=cluster,
        options=options,
    )


def _rehearse(
    captures: Sequence[str],
    tables: Sequence[str],
    format: str | None,
    outputs: Sequence[str],
    options: dict[str, Any],
) -> int:
    """Show a paced run on the terminal, as if it were a link."""
    if options["pace"] is None:
        raise UsageError("--tui shows a run while it lasts: give it a --pace, such as 1.0")
    _view.check(outputs, format, tables)
    targets = outputs or ("-",)
    sinks = [open_sink(target, format=format, tables=tables or None) for target in targets]
    wanted = dict.fromkeys((*_view.TABLES, *tables_of(sinks)))
    result = analyze(captures, table=wanted, **options)
    view = _view.View(options["interval"])
    named = zip(targets, sinks, strict=True)
    deliveries = [Delivery(name, sink, say=view.say) for name, sink in named]
    ended = threading.Event()
    with stopping(ended.set) as came:
        view.run(", ".join(Path(name).name for name in captures), result, deliveries, ended)
    for delivery in deliveries:
        delivery.close()
    _tell(result, deliveries)
    code = result.damage[0].exit_code if result.damage else 0
    return INTERRUPTED if came else code


def _tell(result: Result, deliveries: Sequence[Delivery]) -> None:
    """Say what was lost, and what was wrong with the inputs."""
    for message in (*losses(result, deliveries), *map(str, result.damage)):
        _say(message)


def _say(message: str) -> None:
    click.echo(f"tcpwhy: {message}", err=True)


def _may_be_read(capture: str) -> bool:
    return capture == "-" or (Path(capture).exists() and not Path(capture).is_dir())
