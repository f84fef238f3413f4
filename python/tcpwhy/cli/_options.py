"""Options that several commands share, and their types."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from tcpwhy._core import UsageError
from tcpwhy.sinks import formats
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


DURATION = DurationType()
FACTOR = FactorType(min=0, min_open=True)
SIZE = SizeType()

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

_ANALYSIS = (
    click.option(
        "--idle-timeout",
        type=DURATION,
        help="A flow without a packet for this long has ended.  [default: 180s]",
    ),
    click.option(
        "--half-open-timeout",
        type=DURATION,
        help="The same for one of which only SYNs were seen.  [default: 60s]",
    ),
    click.option(
        "--closed-timeout",
        type=DURATION,
        help="The same for one that was closed or reset.  [default: 10s]",
    ),
    click.option(
        "--min-packets",
        type=click.IntRange(min=1),
        help="Data packets below which capacity-based scores are not computed.  [default: 300]",
    ),
    click.option("--filter", metavar="BPF", help="Capture filter in the syntax of tcpdump."),
    click.option("--flow", metavar="ID|COMMUNITY_ID", help="Only this flow."),
    click.option(
        "--compat",
        type=click.Choice(["seed"]),
        help="Also compute the formulas of the published prototype.",
    ),
)


def analysis(command: Command) -> Command:
    """Add what is asked of the analysis, wherever its packets come from."""
    for option in reversed(_ANALYSIS):
        command = option(command)
    return command
