"""The study of TCP's adaptivity: its figures as tables and charts."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tcpwhy import _core
from tcpwhy._core import UsageError
from tcpwhy.analysis import Result
from tcpwhy.study.figures import FIGURES, REFERENCE, Figure, cases, frequencies

TABLES = tuple(dict(_core.tables_by_maker())["study"])
POINTS = 33
"""Frequencies of a curve, from 0.05 to 10 per s, unless others are asked for."""
PLANE_POINTS = 21
QUICK_POINTS = 9
QUICK = {"warm_ns": 20 * 10**9, "duration_ns": 60 * 10**9}
"""Of a quick run: a coarse grid, and short measurements."""


class Swept(NamedTuple):
    """How far a sweep is."""

    done: int
    cases: int


class Adaptivity(Result):
    """The rows of a figure, and its chart."""

    _stream: _core.Simulation  # type: ignore[assignment]

    def __init__(self, stream: _core.Simulation, figure: Figure, settings: dict[str, Any]) -> None:
        tables = TABLES[1:] if figure.is_over_time else TABLES[:1]
        super().__init__(stream, tables)  # type: ignore[arg-type]
        self.figure = figure
        self.settings = settings
        """What all its cases have in common."""

    def progress(self) -> Swept:  # type: ignore[override]
        """Say how far the sweep is; from any thread."""
        return Swept(*self._stream.progress())

    def _has_read_nothing(self) -> bool:
        return False

    def chart(self) -> Any:
        """Give the figure as an Altair chart; needs the extra `plot`."""
        from tcpwhy.study.charts import chart

        return chart(self)

    def save(self, path: str | Path) -> None:
        """Draw the figure into a file: .svg, .png or .html by its suffix."""
        from tcpwhy.study.charts import save

        save(self.chart(), Path(path))


def adaptivity(
    figure: int,
    *,
    quick: bool = False,
    values: Sequence[Any] = (),
    frequencies_hz: Sequence[float] = (),
    points: int | None = None,
    phases: int | None = None,
    workers: int | None = None,
    **settings: Any,
) -> Adaptivity:
    """Repeat a figure of "The Effect of TCP's Adaptivity on the Throughput".

    Args:
        figure: its number in the paper, 2 to 15.
        quick: a coarse grid and short measurements.
        values: other values of what the figure varies.
        frequencies_hz: the frequencies of the UDP source; for a figure over time the one to look
            at.
        points: how many frequencies from 0.05 to 10 per s.
        phases: start phases of the source over which each point is the mean.
        workers: threads; as many as there are cores unless given.
        settings: what differs from the reference case: recovery, reno_rules (ns3 or
            rfc5681), rate_bps, delay_ns, buffer_packets, tcp_packet_bytes, udp_packet_bytes,
            rto_min_ns, rto_max_ns, phase, jitter_packets, seed, warm_ns, duration_ns, step_ns.

    Raises:
        UsageError: for an option that makes no sense.

    """
    if figure not in FIGURES:
        raise UsageError(f"no figure {figure}: the paper has results in 2 to 15")
    chosen = FIGURES[figure]
    unknown = [name for name in settings if name not in REFERENCE]
    if unknown:
        raise UsageError(f"no setting {unknown[0]!r}: there are {', '.join(REFERENCE)}")
    if values and chosen.varied is None:
        raise UsageError(f"figure {figure} varies no setting")
    at = list(frequencies_hz) or _points(chosen, quick, points)
    if quick and not chosen.is_over_time:
        settings = {**QUICK, **settings}
    spread = phases or (1 if quick else chosen.phases)
    swept = cases(chosen, settings, values, at, spread)
    stream = _core.sweep(swept, workers=workers)
    common = {**REFERENCE, **chosen.settings, **settings}
    return Adaptivity(stream, chosen, common)


def _points(figure: Figure, quick: bool, points: int | None) -> list[float]:
    if figure.frequency_hz is not None:
        return [figure.frequency_hz]
    usual = PLANE_POINTS if figure.kind == "plane" else POINTS
    return frequencies(points or (QUICK_POINTS if quick else usual))
