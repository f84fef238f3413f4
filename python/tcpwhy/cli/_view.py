"""The terminal view of a command that watches something: `--tui`."""

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence

import click

from tcpwhy._core import UsageError
from tcpwhy.analysis import Result
from tcpwhy.extras import require
from tcpwhy.live import INTERVAL_NS
from tcpwhy.sinks._delivery import Delivery, pour
from tcpwhy.units import nanoseconds

TABLES = ("intervals", "flows")
"""What the view is made of."""

SAID = 100
"""Messages of a run that are shown again at its end: the last ones."""

OPTION = click.option(
    "--tui", is_flag=True, help="Show the run on the terminal while it lasts; ? lists the keys."
)


def check(outputs: Sequence[str], format: str | None, tables: Sequence[str]) -> None:
    """Refuse a view that cannot be drawn, or rows that would be written over it."""
    streams = (sys.stdin, sys.stdout, sys.stderr)
    if os.environ.get("TERM") == "dumb" or not all(stream.isatty() for stream in streams):
        raise UsageError(
            "--tui needs a terminal for input and output: without it rows go to --output and"
            " a summary to standard output"
        )
    require("textual", extra="tui")
    if "-" in (outputs or ("-",)) and (format not in (None, "table") or {*tables} - {"flows"}):
        raise UsageError("--tui takes the terminal: name a file or a store with --output")


class View:
    """The view of one run."""

    def __init__(self, interval: str | None) -> None:
        """Prepare a view that sums up by the interval of the run."""
        from tcpwhy.tui.board import Board

        self.board = Board(nanoseconds(interval) if interval else INTERVAL_NS)
        self.delivery = Delivery("the view", self.board, say=self.say)
        self._said: deque[str] = deque(maxlen=SAID)
        self._note: Callable[[str], None] | None = None

    def say(self, message: str) -> None:
        """Show a message on the screen, and again once the screen is the shell's."""
        self._said.append(message)
        if self._note:
            self._note(message)

    def run(
        self,
        name: str,
        result: Result,
        outputs: Sequence[Delivery],
        ended: threading.Event,
    ) -> None:
        """Draw until the run is ended by key or `ended`, while rows go where they should."""
        from tcpwhy.tui.app import View as Screen
        from tcpwhy.tui.vitals import Run

        vitals = Run(name, result, self.board, [*outputs, self.delivery])
        self._note = vitals.note
        failed: list[BaseException] = []

        def work() -> None:
            try:
                pour(result.batches(), [*outputs, self.delivery], ended)
                for error in result.damage:
                    vitals.note(str(error))
            except BaseException as error:
                failed.append(error)
                ended.set()
            vitals.over = True

        thread = threading.Thread(target=work, name="rows")
        thread.start()
        try:
            Screen(self.board, vitals, ended=ended.is_set).run()
        finally:
            ended.set()
            result.stop()
            thread.join()
            self.delivery.close()
            self._note = _print
        for message in self._said:
            _print(message)
        if failed:
            raise failed[0]


def _print(message: str) -> None:
    click.echo(f"tcpwhy: {message}", err=True)
