"""A progress bar on standard error, drawn only on a terminal and only when it takes a while."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tcpwhy.analysis import Result

_PATIENCE_S = 0.7
"""How long one waits gladly without a sign."""


@contextmanager
def progress_of(result: Result, *, shown: bool) -> Iterator[None]:
    """Show how far a run is: rate, time left, packets per second."""
    if not (shown and sys.stderr.isatty()):
        yield
        return
    from rich.console import Console, RenderableType
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    started = time.monotonic()

    class Bar(Progress):
        """Asks the run for its state whenever it is drawn; drawing happens in its own thread."""

        def get_renderables(self) -> Iterator[RenderableType]:
            state = result.progress()
            elapsed = time.monotonic() - started
            rate = f"{state.packets / max(elapsed, 1e-3) / 1e6:.2f} M packets/s"
            for task in self.tasks:
                self.update(
                    task.id,
                    completed=state.bytes_read,
                    total=state.bytes_total,
                    visible=elapsed > _PATIENCE_S,
                    rate=rate,
                )
            yield self.make_tasks_table(self.tasks)

    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    rate = TextColumn("{task.fields[rate]}")
    with Bar(*columns, rate, console=Console(stderr=True), transient=True) as bar:
        bar.add_task("", total=None, visible=False, rate="")
        yield


@contextmanager
def bar(state: Callable[[], tuple[float, float]], *, unit: str) -> Iterator[None]:
    """Show how much of something is done: how much, of how much, how fast, time left.

    Args:
        state: says what is done, and what there is in all; called from another thread.
        unit: of both.

    """
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console, RenderableType
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    started = time.monotonic()

    class Bar(Progress):
        """Asks for the state whenever it is drawn; drawing happens in its own thread."""

        def get_renderables(self) -> Iterator[RenderableType]:
            done, total = state()
            elapsed = time.monotonic() - started
            rate = f"{done:,.0f} of {total:,.0f} {unit}, {done / max(elapsed, 1e-3):,.0f} per s"
            for task in self.tasks:
                visible = elapsed > _PATIENCE_S
                self.update(task.id, completed=done, total=total, visible=visible, rate=rate)
            yield self.make_tasks_table(self.tasks)

    columns = (BarColumn(), TextColumn("{task.fields[rate]}"), TimeRemainingColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as drawn:
        drawn.add_task("", total=None, visible=False, rate="")
        yield
