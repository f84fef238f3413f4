"""`tcpwhy study mathis`: throughput against loss, on the kernel and in the simulator."""

import csv
import io
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tcpwhy._core import UsageError
from tcpwhy.cli._help import Described
from tcpwhy.cli._options import COUNT
from tcpwhy.terminal import grid, width

if TYPE_CHECKING:
    from tcpwhy.study.mathis import Study

CHARTS = (".svg", ".png", ".html")
PLACES, CONTROLLERS = ("kernel", "simulator"), ("reno", "reno_per_ack", "cubic", "bbr")


@click.command("mathis", cls=Described)
@click.option(
    "--place",
    "places",
    type=click.Choice(PLACES),
    multiple=True,
    help="Where to measure; may be repeated. Both unless given; the kernel needs root.",
)
@click.option(
    "-C",
    "--cc",
    "controllers",
    type=click.Choice(CONTROLLERS),
    multiple=True,
    help="Congestion controller; may be repeated. All unless given.",
)
@click.option(
    "--loss",
    "losses",
    type=click.FloatRange(0, 0.5, min_open=True),
    multiple=True,
    help="Probability of loss; may be repeated.  [default: ten from 0.001 to 0.1]",
)
@click.option(
    "--seconds", type=click.FloatRange(min=1), help="Length of a transfer.  [default: 30]"
)
@click.option("--repeats", type=COUNT, help="Transfers of each setting.  [default: 5]")
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    metavar="SEED",
    default=1,
    show_default=True,
    help="Seed of the losses.",
)
@click.option("--quick", is_flag=True, help="Two losses, 8 s, 3 repeats: less than a minute.")
@click.option(
    "--resume",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write every transfer here as it is made, and do not make again what is there.",
)
@click.option(
    "--format",
    type=click.Choice(["table", "jsonl"]),
    default="table",
    show_default=True,
    help="Format of standard output.",
)
@click.option(
    "-o",
    "--output",
    "outputs",
    type=click.Path(path_type=Path),
    multiple=True,
    help="A chart (.svg, .png, .html) or rows (.csv, .jsonl); may be repeated.",
)
def mathis(
    places: tuple[str, ...],
    controllers: tuple[str, ...],
    losses: tuple[float, ...],
    seconds: float | None,
    repeats: int | None,
    seed: int,
    quick: bool,
    resume: Path | None,
    format: str,
    outputs: tuple[Path, ...],
) -> None:
    """Measure throughput against loss at 100 ms, and hold it against the models.

    The setting of "Validating A Very Simple Model for TCP Throughput": data packets are lost at
    random, transfers last 30 s, the median of five counts.

    All of it takes eight minutes: on the kernel 35 s for each loss, in real time; in the simulator
    seconds. Give --resume a file, and an interrupted study goes on where it stopped.
    """
    from tcpwhy.study import mathis as study

    for path in outputs:
        if path.suffix not in (*CHARTS, ".csv", ".jsonl"):
            known = ", ".join((*CHARTS, ".csv", ".jsonl"))
            raise UsageError(f"{path}: no such output, known suffixes are {known}")
        if path.suffix in CHARTS:
            _need_charts()
    done = study.mathis(
        places=places or PLACES,
        controllers=controllers or CONTROLLERS,
        losses=losses or (study.QUICK_LOSSES if quick else study.LOSSES),
        seconds=seconds or (8.0 if quick else 30.0),
        repeats=repeats or (3 if quick else 5),
        seed=seed,
        resume=resume,
        told=lambda text: click.echo(text, err=True),
    )
    for path in outputs:
        _write(done, path)
    if format == "jsonl":
        for row in done.rows():
            click.echo(json.dumps(asdict(row)))
        return
    _show(done)


def _need_charts() -> None:
    from tcpwhy.extras import require

    require("altair", extra="plot")
    require("vl_convert", extra="plot")


def _write(done: "Study", path: Path) -> None:
    rows = [asdict(row) for row in done.rows()]
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    elif path.suffix == ".csv":
        text = io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
        path.write_text(text.getvalue(), encoding="utf-8")
    else:
        from tcpwhy.study.charts import save
        from tcpwhy.study.mathis_chart import chart

        save(chart(done), path)


def _show(done: "Study") -> None:
    from tcpwhy.study.mathis import claims

    limit = width(sys.stdout)
    names = ("place", "cc", "loss %", "Mbit/s", "least", "most", "Mathis", "PFTK", "CUBIC", "ratio")
    cells = [
        (
            row.place,
            row.controller,
            f"{row.loss * 100:g}",
            *(_mbit(x) for x in (row.measured_bps, row.least_bps, row.most_bps)),
            *(_mbit(x) for x in (row.mathis_bps, row.pftk_bps, row.cubic_bps)),
            f"{row.ratio:.2f}",
        )
        for row in done.rows()
    ]
    for line in grid(names, cells, limit):
        click.echo(line)
    if fits := done.fits():
        click.echo(
            "\nrate = C · MSS / RTT / √loss up to 2 % of loss; rate ∝ loss^k; 95 % intervals"
        )
        rows = [
            (
                fit.place,
                fit.controller,
                f"{fit.constant:.2f}",
                f"{fit.constant_low:.2f} to {fit.constant_high:.2f}",
                f"{fit.exponent:.2f}",
                f"{fit.exponent_low:.2f} to {fit.exponent_high:.2f}",
            )
            for fit in fits
        ]
        for line in grid(("place", "cc", "C", "interval", "k", "interval"), rows, limit):
            click.echo(line)
    click.echo()
    for claim in claims(done):
        click.echo(claim)


def _mbit(bps: float | None) -> str:
    return "" if bps is None else f"{bps / 1e6:.3g}"
