"""Types of options that several commands share."""

from typing import Any

import click

from tcpwhy._core import UsageError
from tcpwhy.units import nanoseconds


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


DURATION = DurationType()
