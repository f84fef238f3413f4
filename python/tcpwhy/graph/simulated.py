"""A capture of a simulated scenario, and what its sender truly allowed itself."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tcpwhy._core import UsageError
from tcpwhy.explain.choice import Watch
from tcpwhy.simulation import simulate
from tcpwhy.store.files import quoted

SAMPLE = "1ms"
"""Longest time for which one value of the true cwnd stands."""


@contextmanager
def simulated(scenario: Path, watch: Watch, tap: str | None = None) -> Iterator[tuple[Path, Path]]:
    """Simulate it; give the capture of a tap, and a file of the truth.

    The tap is the one at the sender, or else the first, unless it is named.
    """
    with tempfile.TemporaryDirectory(prefix="tcpwhy-graph-") as folder:
        run = simulate(scenario, table="truth", captures=folder, sample=SAMPLE)
        truth = Path(folder) / "truth.parquet"
        with watch(run), run.to_duckdb() as connection:
            connection.execute(f"COPY truth TO {quoted(str(truth))} (FORMAT parquet)")
        taps = run.captures
        if not taps:
            raise UsageError(f"{scenario}: no tap, hence no packets to draw")
        if tap is not None and tap not in taps:
            raise UsageError(f"{scenario}: no tap {tap!r}: there are {', '.join(taps)}")
        chosen = taps[tap] if tap else taps.get("sender") or next(iter(taps.values()))
        yield chosen, truth
