"""`tcpwhy study internet`: the case study of the IM 2021 paper, for captures at hand."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tcpwhy._core import UsageError
from tcpwhy.cli import INTERRUPTED
from tcpwhy.cli._help import Described
from tcpwhy.cli._options import COUNT, DURATION
from tcpwhy.cli._progress import progress_of
from tcpwhy.cli._stopping import stopping
from tcpwhy.terminal import width

if TYPE_CHECKING:
    from tcpwhy.analysis import Result
    from tcpwhy.study.survey import Survey

FORMATS = ("csv", "jsonl", "parquet")
CHARTS = (".svg", ".png")


@click.command("internet", cls=Described)
@click.argument("captures", nargs=-1, required=True, metavar="CAPTURE...")
@click.option(
    "-o",
    "--output",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Write the text, a file of rows for each table, and every figure as SVG and PNG.",
)
@click.option(
    "--format",
    type=click.Choice(FORMATS),
    default=FORMATS[0],
    show_default=True,
    help="Format of the files of rows.",
)
@click.option("--interval", type=DURATION, help="Length of a periodic calculation.  [default: 3s]")
@click.option("--filter", metavar="BPF", help="A capture filter, such as 'port 443'.")
@click.option("--workers", type=COUNT, help="Threads.  [default: all cores]")
def internet(
    captures: tuple[str, ...],
    folder: Path | None,
    format: str,
    interval: str | None,
    filter: str | None,
    workers: int | None,
) -> int:
    """Repeat the case study of "Scalable TCP Throughput Limitation Monitoring".

    Each CAPTURE is a trace; they may also be patterns, @LIST and URLs. Tables: the traces, packets
    per flow, flows that can be analysed, ports and application-limited time; root causes by the
    paper's tree, by its prototype's formulas and by this tool. Figures: distributions of capacity,
    throughput and scores by class of port.
    """
    from tcpwhy.study.survey import survey

    if folder is not None:
        _prepare(folder)
    running: list[Result] = []

    @contextmanager
    def watch(result: Result) -> Iterator[None]:
        running.append(result)
        with progress_of(result, shown=True):
            yield

    def stop() -> None:
        for run in running:
            run.stop()

    options = {"interval": interval, "filter": filter, "workers": workers}
    with stopping(stop) as came:
        found = survey(captures, watch=watch, stopped=lambda: bool(came), **options)
    _write(found, folder, format)
    for trace in found.traces:
        for error in trace.damage:
            click.echo(f"tcpwhy: {error}", err=True)
    if came:
        return INTERRUPTED
    damage = [error for trace in found.traces for error in trace.damage]
    return damage[0].exit_code if damage else 0


def _prepare(folder: Path) -> None:
    """Find what is missing before anything is read."""
    from tcpwhy.extras import require

    require("altair", extra="plot")
    require("vl_convert", extra="plot")
    if (folder / "tcpwhy.json").exists():
        raise UsageError(f"{folder} is a store: choose another folder for the study")
    folder.mkdir(parents=True, exist_ok=True)


def _write(found: Survey, folder: Path | None, format: str) -> None:
    from tcpwhy.study.survey_tables import save, tables, text

    for line in text(found, width(sys.stdout)):
        click.echo(line)
    if folder is None:
        return
    from tcpwhy.report import charts
    from tcpwhy.study.survey_charts import figures

    lines = [*text(found, width(None))]
    (folder / "study.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for table in tables(found):
        save(table, folder, format)
    for name, drawn in figures(found).items():
        for suffix in CHARTS:
            charts.save(drawn, folder / f"{name}{suffix}")
