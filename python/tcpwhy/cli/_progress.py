"""A progress bar on standard error, drawn only on a terminal and only when it takes a while."""

import sys
import time
from collections.abc import Iterator
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
