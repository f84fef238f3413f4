"""Options that several commands share, and their types."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from tcpwhy._core import UsageError
from tcpwhy.options import Option, options_of
from tcpwhy.sinks import formats
from tcpwhy.terminal.overview import Choice
from tcpwhy.units import nanoseconds, quantity

Command = TypeVar("Command", bound=Callable[..., Any])


class DurationType(click.ParamType[str]):
    """A duration such as 3s or 500ms."""

    name = "duration"

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> str:
        """Check the duration; it stays as it was written."""
        try:
            nanoseconds(value)
        except UsageError as error:
            self.fail(str(error), param, ctx)
        return str(value)


class SizeType(click.ParamType[int]):
    """A number of bytes such as 20GB."""

    name = "size"

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> int:
        """Give the bytes."""
        try:
            return int(quantity(str(value), "bytes"))
        except UsageError as error:
            self.fail(str(error), param, ctx)


class FactorType(click.FloatRange):
    """A number above 0."""

    name = "number above 0"


class CountType(click.IntRange):
    """How many there are to be."""

    name = "count"


COUNT = CountType(min=1)
DURATION = DurationType()
FACTOR = FactorType(min=0, min_open=True)
SIZE = SizeType()
INPUT = click.Path(allow_dash=True, readable=False)
"""A capture or a store; shells complete it. Whether it can be read is said by what reads it."""

FORMAT = click.option(
    "--format",
    type=click.Choice(formats()),
    help="Format of standard output, and of files whose suffix names none. table unless given.",
)
OUTPUT = click.option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    metavar="PATH|STORE|URL",
    help="Where to write; may be repeated. A suffix names the format, a path without one is a"
    " store, a URL is a service (docs/outputs.md), - is standard output.",
)


def options(command: str, **changes: Any) -> Callable[[Command], Command]:
    """Add the options of a command, as the core declares them, under their titles.

    `changes` are arguments of click's option by the name of an option.
    """

    def add(function: Command) -> Command:
        for option in reversed(list(options_of(command).values())):
            if option.group is not None:
                function = _click_option(option, changes.get(option.name, {}))(function)
        return function

    return add


def _click_option(option: Option, changes: dict[str, Any]) -> Callable[[Command], Command]:
    word = option.word
    arguments: dict[str, Any] = {"help": f"{option.help}  [default: {option.shown_default}]"}
    if option.kind == "flag":
        word = f"{word}/--no-{word[2:]}" if option.default else word
        arguments |= {"default": option.default, "is_flag": True}
        if not option.default:
            arguments["help"] = option.help
        elif option.default:
            arguments["help"] = f"{option.help}  [default: {option.name}]"
    else:
        arguments |= {"type": _TYPES[option.kind](option), "metavar": option.metavar}
    arguments |= changes
    return click.option(word, option.name, cls=Grouped, group=option.group, **arguments)


def view(function: Command) -> Command:
    """Add what chooses the contents of the overview; the function is given a `choice`."""

    @functools.wraps(function)
    def chosen(*arguments: Any, **named: Any) -> Any:
        choice = Choice(
            top=named.pop("top") or Choice().top,
            sort=named.pop("sort"),
            where=named.pop("where"),
            verbose=named.pop("verbose"),
            everything=named.pop("everything"),
        )
        if choice != Choice() and named["format"] not in (None, "table"):
            raise UsageError("--top, --sort, --where, -v and --all choose what the overview shows")
        return function(*arguments, choice=choice, **named)

    for option in reversed(_VIEW):
        chosen = option(chosen)
    return cast(Command, chosen)


class Grouped(click.Option):
    """An option that help lists under a title."""

    def __init__(self, *arguments: Any, group: str | None = None, **attributes: Any) -> None:
        """Remember the title."""
        super().__init__(*arguments, **attributes)
        self.group = group


_TYPES: dict[str, Callable[[Option], Any]] = {
    "duration": lambda option: DURATION,
    "count": lambda option: CountType(option.least, None if option.least else 2**64 - 1),
    "bytes": lambda option: SIZE,
    "factor": lambda option: FACTOR,
    "text": lambda option: str,
    "path": lambda option: click.Path(file_okay=False, path_type=Path),
    "choice": lambda option: click.Choice(option.choices),
}
"""Types of click by the kinds of the core."""

_OVERVIEW = "What the overview shows"
_VIEW = (
    click.option(
        "--top",
        cls=Grouped,
        group=_OVERVIEW,
        type=click.IntRange(min=1),
        metavar="N",
        help="Directions to show.  [default: 20]",
    ),
    click.option(
        "--sort",
        cls=Grouped,
        group=_OVERVIEW,
        metavar="COLUMN",
        help="Order by a column of flows, the largest first; +COLUMN is the smallest first."
        "  [default: by what could be gained]",
    ),
    click.option(
        "--where",
        cls=Grouped,
        group=_OVERVIEW,
        metavar="EXPR",
        help="Only directions for which this holds, an expression of DuckDB over the columns of"
        ' flows: "rtt_min_ns > 50e6 AND dst_port = 443".',
    ),
    click.option(
        "-a",
        "--all",
        "everything",
        cls=Grouped,
        group=_OVERVIEW,
        is_flag=True,
        help="Small directions that the application limits as well.",
    ),
    click.option(
        "-v",
        "--verbose",
        cls=Grouped,
        group=_OVERVIEW,
        is_flag=True,
        help="Evidence and remedy of each direction, and every counter.",
    ),
)
