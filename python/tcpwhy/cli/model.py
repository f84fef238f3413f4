"""`tcpwhy model`: what TCP should reach, by the models of the literature."""

import math
import re
import sys
from collections.abc import Iterator
from typing import Any

import click

from tcpwhy._core import UsageError
from tcpwhy.cli import _model_data
from tcpwhy.cli._help import Described, DescribedGroup
from tcpwhy.cli._options import CountType
from tcpwhy.model import UNITS, Model, Parameter, explain, model, models, solve
from tcpwhy.terminal import Style, grid, paragraph, room, width
from tcpwhy.units import as_quantity, quantity

FORMATS = ("table", "csv", "jsonl")


class Models(DescribedGroup):
    """Has a command for every model, with an option for every parameter, and those for data."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the models, and what is done with data."""
        return [*models(), *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Find a command for data, or make that of a model."""
        for_data = super().get_command(ctx, cmd_name)
        if for_data is not None:
            return for_data
        try:
            chosen = model(cmd_name)
        except UsageError as error:
            raise click.UsageError(str(error), ctx) from error
        made = Described(
            chosen.name,
            params=[*map(_option, chosen.parameters), *_common()],
            callback=lambda **options: _in_words_of_options(chosen, **options),
            help=_help(chosen),
        )
        made.examples = _examples(chosen)
        return made


SECTION = "Models and simulations"
EXAMPLES = (
    "# what loss allows",
    "tcpwhy model mathis --mss 1460 --rtt 100ms --loss 0.1%",
)
EXAMPLES_OF = {
    "fit": (
        "# the constants that a table of transfers gives",
        "tcpwhy model fit transfers.csv",
        "# those of one model, as CSV",
        "tcpwhy model fit transfers.csv -m mathis --format csv",
    ),
    "validate": (
        "# how far each model is off where its conditions hold",
        "tcpwhy model validate transfers.csv",
        "# every transfer beside one model",
        "tcpwhy model validate transfers.csv -m pftk --rows",
    ),
}
GIVEN = {
    "capacity_bps": "1Gbit/s",
    "window_bytes": "64KiB",
    "rtt_ns": "100ms",
    "loss": "0.1%",
    "bottleneck_bps": "100Mbit/s",
    "rtt_min_ns": "40ms",
    "size_bytes": "1MB",
}
"""What examples give for the parameters that a model needs."""


@click.group("model", cls=Models, invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Predict throughput by a model of the literature.

    Without a model, all are listed. Quantities are written with units: 100ms, 0.1%, 64KiB,
    10Mbit/s. fit and validate hold the models against a table of measurements.
    """
    if ctx.invoked_subcommand is None:
        listed = models()
        widest = max(map(len, listed))
        for name, one in listed.items():
            for line in paragraph(f"{name.ljust(widest)}  ", one.doc, width(sys.stdout)):
                click.echo(line)


command.add_command(_model_data.fit)
command.add_command(_model_data.validate)


def _option(parameter: Parameter) -> click.Option:
    default = f"  [default: {_shown(parameter, parameter.default)}]"
    if parameter.derived:
        default = f"  [default: {parameter.derived}]"
    elif parameter.required:
        default = "  [required]"
    words = "|".join(parameter.choices)
    return click.Option(
        [f"--{parameter.quantity.replace('_', '-')}", parameter.name],
        metavar=words or METAVARS_OF.get(parameter.name) or METAVARS.get(parameter.unit, "NUMBER"),
        help=parameter.doc + default,
    )


def _examples(chosen: Model) -> tuple[str, ...]:
    """Give a line with all that a model needs, and one that varies the last of it."""
    needed = [parameter for parameter in chosen.parameters if parameter.required]
    words = [f"--{one.quantity.replace('_', '-')} {GIVEN[one.name]}" for one in needed]
    line, varied = f"tcpwhy model {chosen.name} ", GIVEN[needed[-1].name]
    number, unit = re.findall(r"[\d.]+|\D+", varied)
    sweep = f"--sweep {needed[-1].quantity}={varied}..{float(number) * 10:g}{unit}"
    return (
        "# one value",
        line + " ".join(words),
        f"# a table over {_title(needed[-1].name)}",
        line + " ".join([*words[:-1], sweep]),
    )


def _common() -> list[click.Parameter]:
    return [
        click.Option(
            ["--sweep"],
            metavar="NAME=FROM..TO",
            help="A table over values of a parameter, evenly spaced in proportion: loss=0.01%..5%.",
        ),
        click.Option(
            ["--points"],
            type=CountType(min=2, max=10_000),
            default=11,
            show_default=True,
            help="Rows of the table.",
        ),
        click.Option(
            ["--solve"],
            metavar="NAME=RATE",
            help="The value of a parameter that is just good enough for a rate: loss=100Mbit/s.",
        ),
        click.Option(
            ["--format"],
            type=click.Choice(FORMATS),
            default="table",
            show_default=True,
            help="csv and jsonl are in base units.",
        ),
    ]


METAVARS = {"ns": "DURATION", "bytes": "SIZE", "bps": "RATE", "segs": "COUNT"}
"""Words by unit; a quantity without one has its own here, or is a NUMBER."""
METAVARS_OF = {"loss": "NUMBER|PERCENT", "packets_per_ack": "COUNT"}


def _help(chosen: Model) -> str:
    conditions = "".join(f"\n- {condition}" for condition in chosen.conditions)
    parts = (chosen.doc, chosen.formula, f"Source: {chosen.source}.", f"\b\nHolds when{conditions}")
    return "\n\n".join(parts)


def _in_words_of_options(chosen: Model, **options: Any) -> None:
    """Run, and name what is wrong as it was written: --rtt, where the models have rtt_ns."""
    try:
        _run(chosen, **options)
    except UsageError as error:
        text = str(error)
        for parameter in chosen.parameters:
            option = f"--{parameter.quantity.replace('_', '-')}"
            text = re.sub(rf"(?<![\w-]){parameter.name}\b(?!=)", option, text)
        raise UsageError(text) from error


def _run(
    chosen: Model,
    *,
    sweep: str | None,
    points: int,
    solve: str | None,
    format: str,
    **options: str | None,
) -> None:
    given = {name: _read(chosen.parameter(name), text) for name, text in options.items() if text}
    for option, text in (("--sweep", sweep), ("--solve", solve)):
        name = (text or "").partition("=")[0]
        if name and chosen.parameter(name).name in given:
            raise UsageError(f"--{name} is given, and {option} is to vary it: leave one out")
    if sweep and solve:
        raise UsageError("--sweep and --solve do not go together")
    if sweep:
        rows = list(_sweep(chosen, given, sweep, points))
    elif solve:
        rows = [_solved(chosen, given, solve)]
    else:
        rows = [_predicted(chosen, given)]
    if format != "table":
        _write(rows, format)
    elif sweep:
        _print_table(rows)
    else:
        _print_one(
            chosen, given, rows[0], chosen.parameter(solve.partition("=")[0]) if solve else None
        )


def _read(parameter: Parameter, text: str) -> float | str:
    """Read a quantity in the unit of a parameter."""
    if parameter.choices:
        if text not in parameter.choices:
            raise UsageError(f"--{parameter.quantity}: {text!r} is not {parameter.allowed}")
        return text
    try:
        return quantity(text, parameter.unit)
    except UsageError as error:
        raise UsageError(f"--{parameter.quantity.replace('_', '-')}: {error}") from error


def _predicted(chosen: Model, given: dict[str, Any]) -> dict[str, Any]:
    found = explain(chosen.name, **given)
    if found.rate_bps is None:
        raise UsageError(f"the model {chosen.name} has no answer: {found.reason}")
    row = {"rate_bps": found.rate_bps} | found.steps
    return row | ({"caution": found.caution} if found.caution else {})


def _solved(chosen: Model, given: dict[str, Any], wanted: str) -> dict[str, Any]:
    name, separator, rate = wanted.partition("=")
    if not separator:
        raise UsageError(f"--solve {wanted}: write a parameter and a rate, such as loss=100Mbit/s")
    parameter = chosen.parameter(name)
    value = solve(chosen.name, parameter.name, rate_bps=quantity(rate, "bps"), **given)
    return {parameter.name: value} | _predicted(chosen, given | {parameter.name: value})


def _sweep(
    chosen: Model, given: dict[str, Any], sweep: str, points: int
) -> Iterator[dict[str, Any]]:
    """Predict for values from the first to the last, each the same factor above the one before."""
    name, _, span = sweep.partition("=")
    first, separator, last = span.partition("..")
    if not separator:
        raise UsageError(f"--sweep {sweep}: write a parameter and a range, such as loss=0.01%..5%")
    parameter = chosen.parameter(name)
    low, high = _read(parameter, first), _read(parameter, last)
    if isinstance(low, str) or isinstance(high, str) or not (low > 0 and high > 0):
        raise UsageError(f"--sweep {sweep}: both ends must be numbers above 0")
    for at in range(points):
        value = low * (high / low) ** (at / (points - 1))
        found = explain(chosen.name, **given | {parameter.name: value})
        note = found.reason or found.caution
        yield {parameter.name: value, "rate_bps": found.rate_bps} | found.steps | {"note": note}


def _print_table(rows: list[dict[str, Any]]) -> None:
    names = list(dict.fromkeys(name for row in rows for name in row))
    if not any(row["note"] for row in rows):
        names.remove("note")
    cells = [[_cell(name, row.get(name)) for name in names] for row in rows]
    for line in grid([_title(name) for name in names], cells, room(sys.stdout)):
        click.echo(line)


def _print_one(
    chosen: Model, given: dict[str, Any], row: dict[str, Any], solved: Parameter | None
) -> None:
    style, limit = Style.of(sys.stdout), width(sys.stdout)
    caution, rate = row.pop("caution", None), style.bold(_cell("rate_bps", row.pop("rate_bps")))
    if solved:
        value = style.bold(_cell(solved.name, row.pop(solved.name)))
        click.echo(f"{value} of {_title(solved.name)} give {rate} of payload")
    else:
        click.echo(f"{rate} of payload")
    if caution:
        click.echo(style.warn(f"with care: {caution}"))
    assumed = {
        p.name: p.default
        for p in chosen.parameters
        if p.default is not None and p.name not in given and p != solved
    }
    parts = {
        "model": f"{chosen.name}: {chosen.doc}",
        "given": _listed(given, chosen),
        "assumed": _listed(assumed, chosen),
        "steps": " · ".join(f"{_title(n)} {_cell(n, v)}" for n, v in row.items()),
        "formula": chosen.formula,
        "source": chosen.source,
        "holds when": "; ".join(chosen.conditions),
    }
    for title, text in parts.items():
        for line in paragraph(f"{title.ljust(10)}  ", text, limit):
            click.echo(line)


def _listed(values: dict[str, Any], chosen: Model) -> str:
    shown = (f"{_title(n)} {_shown(chosen.parameter(n), v)}" for n, v in values.items())
    return " · ".join(shown)


def _shown(parameter: Parameter, value: Any) -> str:
    if parameter.choices and not isinstance(value, str):
        return parameter.choices[int(value)]
    return value if isinstance(value, str) else _cell(parameter.name, value)


def _title(name: str) -> str:
    """Give the name of a quantity without its unit, as words."""
    stem, _, end = name.rpartition("_")
    return (stem if end in UNITS and stem else name).replace("_", " ")


def _cell(name: str, value: Any) -> str:
    if isinstance(value, str) or value is None:
        return value or ""
    if math.isinf(value):
        return "unlimited"
    return as_quantity(value, name)


def _write(rows: list[dict[str, Any]], format: str) -> None:
    if format == "jsonl":
        import json

        for row in rows:
            click.echo(json.dumps(row, ensure_ascii=False))
        return
    import csv

    names = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(sys.stdout, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
