"""`tcpwhy model fit` and `tcpwhy model validate`: the models against a table of measurements."""

import csv
import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tcpwhy._core import InputError
from tcpwhy.cli._help import Described
from tcpwhy.terminal import grid, paragraph, room, width
from tcpwhy.units import as_quantity

if TYPE_CHECKING:
    from tcpwhy.model.fitting import Summary

FORMATS = ("table", "csv", "jsonl")

UNUSED_NAMED = 8
"""Columns without use that are named; a table of flows has dozens."""

data = click.argument("data")
names = click.option(
    "-m", "--model", "names", multiple=True, help="A model; may be repeated.  [default: all]"
)
format_ = click.option(
    "--format",
    type=click.Choice(FORMATS),
    default="table",
    show_default=True,
    help="csv and jsonl are in base units.",
)


@click.command("fit", cls=Described)
@data
@names
@format_
def fit(data: str, names: tuple[str, ...], format: str) -> None:
    """Fit the constants of the models to measurements.

    DATA is a table, CSV or Parquet, or - for CSV on standard input. It has a row for each transfer:
    throughput_bps, and what is known of the path under the names of the models' parameters. Every
    transfer gives the value with which a model is right for it; shown is the median of those, with
    an interval of 95 % (bootstrap).
    """
    from tcpwhy.model import fitting

    found = fitting.fit(names, **read(data))
    if format != "table":
        _write([constant._asdict() for constant in found], format)
        return
    titles = ["model", "constant", "value", "from", "to", "usual", "transfers"]
    rows = [
        [one.model, one.name, *(_value(one.name, v) for v in one[2:6]), one.rows] for one in found
    ]
    _print(titles, rows, "in no row do the conditions of a model hold: see tcpwhy model validate")


@click.command("validate", cls=Described)
@data
@names
@format_
@click.option("--rows", is_flag=True, help="Every transfer beside every model, not the sums.")
def validate(data: str, names: tuple[str, ...], format: str, rows: bool) -> None:
    """Measure the errors of the models where their conditions hold.

    DATA is a table, CSV or Parquet, or - for CSV on standard input. It has a row for each transfer:
    throughput_bps, and what is known of the path under the names of the models' parameters;
    controller and rtt_min_ns help to tell where a model holds. Ratios are of measured over
    predicted.
    """
    from tcpwhy.model import fitting

    found = fitting.errors(names, **read(data))
    sums = fitting.summaries(found)
    if format != "table":
        kept = [one._asdict() for one in found] if rows else [_flat(one) for one in sums]
        _write(kept, format)
    elif rows:
        titles = ["row", "model", "measured", "predicted", "ratio", "does not hold"]
        lines = [
            [one.row, one.model, *(_rate(v) for v in one[2:4]), _ratio(one.ratio), one.doubt or ""]
            for one in found
        ]
        _print(titles, lines, "no rows")
    else:
        titles = ["model", "transfers", "ratio, median", "within 20 %", "RMS log error"]
        lines = [
            [one.model, one.rows, _ratio(one.ratio), _percent(one.near), _ratio(one.rms_log_error)]
            for one in sums
        ]
        _print(titles, lines, "no rows")
        for one in sums:
            for doubt, count in one.left_out.items():
                text = f"{doubt} ({count} of {count_of(one)})"
                for line in paragraph(f"{one.model} does not hold: ", text, width(sys.stdout)):
                    click.echo(line)


def read(path: str) -> dict[str, list[Any]]:
    """Read the columns of a table."""
    import duckdb

    source = "/dev/stdin" if path == "-" else path
    if path != "-" and not Path(path).is_file():
        raise InputError(f"{path}: no such file; check the name")
    if path != "-" and Path(path).stat().st_size == 0:
        raise InputError(f"{path}: empty file; a table has at least a header line")
    table = "read_parquet" if path.endswith((".parquet", ".pq")) else "read_csv"
    try:
        found = duckdb.execute(f"FROM {table}(?)", [source])
    except duckdb.Error as error:
        reason = str(error).splitlines()[0]
        message = f"{path}: {reason}; give a CSV file with a header line, or a .parquet file"
        raise InputError(message) from error
    from tcpwhy.model.fitting import is_used

    columns = [column[0] for column in found.description]
    rows = found.fetchall()
    unused = [name for name in columns if not is_used(name)]
    if unused:
        named = ", ".join(unused[:UNUSED_NAMED])
        more = len(unused) - UNUSED_NAMED
        rest = f" and {more} more" if more > 0 else ""
        click.echo(f"columns not used: {named}{rest}", err=True)
    used = [(at, name) for at, name in enumerate(columns) if name not in unused]
    return {name: [row[at] for row in rows] for at, name in used}


def count_of(summary: "Summary") -> int:
    """All rows of a model."""
    return summary.rows + sum(summary.left_out.values())


def _flat(summary: "Summary") -> dict[str, Any]:
    left_out = "; ".join(f"{doubt}: {count}" for doubt, count in summary.left_out.items())
    named = {name: value for name, value in vars(summary).items() if name != "left_out"}
    return named | {"left_out": left_out}


def _print(titles: Sequence[str], rows: Sequence[Sequence[object]], nothing: str) -> None:
    if not rows:
        click.echo(nothing)
        return
    for line in grid(titles, rows, room(sys.stdout)):
        click.echo(line)


def _write(rows: Iterable[Mapping[str, Any]], format: str) -> None:
    cleaned = [
        {name: None if _is_unknown(value) else value for name, value in row.items()} for row in rows
    ]
    if format == "jsonl":
        for row in cleaned:
            click.echo(json.dumps(row, ensure_ascii=False))
    elif cleaned:
        writer = csv.DictWriter(sys.stdout, list(cleaned[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(cleaned)


def _is_unknown(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _value(name: str, value: float) -> str:
    if _is_unknown(value):
        return ""
    return as_quantity(value, name) if name.endswith(("_ns", "_segs")) else f"{value:.3g}"


def _rate(value: float | None) -> str:
    return "" if value is None else as_quantity(value, "rate_bps")


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value * 100:.0f} %"
