"""What a report says, before it is a page or a text."""

from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from tcpwhy._core import InputError, UsageError
from tcpwhy.explain.connection import Connection, argue
from tcpwhy.explain.reading import of_tables
from tcpwhy.report import charts, distributions, facts, quality
from tcpwhy.report.pictures import Picture, pictures
from tcpwhy.report.source import Source, subset
from tcpwhy.study import internet
from tcpwhy.units import as_duration, as_rate, as_share

FLOWS = 30
"""Flows with a page of their own, unless told otherwise."""


class Figure(NamedTuple):
    """A chart with what it shows."""

    name: str
    """Of its file."""
    title: str
    chart: Any
    told: str
    """The same in words, for those who do not see it."""


class Contents(NamedTuple):
    """A report."""

    name: str
    is_store: bool
    span: facts.Span
    counters: dict[str, int]
    shares: list[facts.Share]
    savings: dict[tuple[str, str | None], facts.Saving]
    """What changes would save, by limitation and cause."""
    confidence: dict[str, int]
    reasons: list[facts.Reason]
    gains: list[facts.Gain]
    talkers: list[facts.Talker]
    services: list[facts.Talker]
    notes: list[quality.Note]
    figures: list[Figure]
    flows: list[Connection]
    pictures: dict[int, Picture]
    """Graphs by flow."""
    study: internet.Study | None
    study_figures: list[Figure]
    damage: list[InputError]


def gather(
    source: Source, *, flows: int = FLOWS, graphs: int | None = None, study: bool = False
) -> Contents:
    """Ask the tables everything that a report says."""
    counted = facts.counters(source)
    found = internet.study(source.connection, counted) if study else None
    gains = facts.gains(source)
    # Whoever is named in the list of gains has a page to go to.
    wanted = [gain.flow_id for gain in gains] + facts.heaviest(source, flows)
    chosen = list(dict.fromkeys(wanted))[:flows]
    return Contents(
        name="standard input" if source.name == "-" else Path(source.name).name,
        is_store=source.is_store,
        span=facts.span(source),
        counters=counted,
        shares=facts.shares(source),
        savings=facts.savings(source),
        confidence=facts.confidence(source),
        reasons=facts.reasons(source),
        gains=gains,
        talkers=facts.talkers(source),
        services=facts.services(source),
        notes=quality.notes(source, counted),
        figures=_figures(source),
        flows=_argued(source, chosen),
        pictures=pictures(source, chosen, graphs),
        study=found,
        study_figures=_study_figures(found) if found else [],
        damage=source.damage,
    )


def _argued(source: Source, chosen: list[int]) -> list[Connection]:
    """Argue for flows; one that left a store in between is left out."""
    found = []
    with subset(source, chosen) as connection:
        for flow_id in chosen:
            with suppress(UsageError):
                facts = of_tables(source.name, connection, flow_id, source.connection)
                found.append(argue(facts))
    return found


def _figures(source: Source) -> list[Figure]:
    found = []
    bars = distributions.over_time(source)
    if len({bar.begin_ns for bar in bars}) > 1:
        told = "Goodput over time, stacked by what limited each interval."
        found.append(Figure("over-time", "Over time", charts.over_time(bars), told))
    for column, (title, unit) in distributions.QUANTITIES.items():
        points = distributions.of_quantity(source, column)
        if points:
            drawn = charts.distribution(points, title, unit=unit)
            name = column.partition("_")[0]
            found.append(Figure(name, title, drawn, _median(points, unit)))
    points = distributions.of_scores(source)
    if points:
        told = "Share of intervals with at most a score, for each of the four scores."
        drawn = charts.distribution(points, "Score", ends=(-1, 1))
        found.append(Figure("scores", "Scores", drawn, told))
    return found


def _median(points: list[distributions.Point], unit: str) -> str:
    shows = as_rate if unit == "bit/s" else lambda ms: as_duration(ms * 1e6)
    told = []
    for series in dict.fromkeys(point.series for point in points):
        middle = next(p for p in points if p.series == series and p.share >= HALF)
        told.append(f"{as_share(middle.share)} {series} have at most {shows(middle.value)}")
    return f"{'; '.join(told)}."


HALF = 0.5


def _study_figures(found: internet.Study) -> list[Figure]:
    figures = []
    for name, (title, unit, points) in found.distributions.items():
        if points:
            ends = None if unit else ENDS.get(name, (-1, 1))
            drawn = charts.distribution(points, title, unit=unit, ends=ends)
            told = f"Cumulative distribution of {title.lower()}, by class of port."
            figures.append(Figure(f"study-{name}", title, drawn, told))
    return figures


ENDS = {"retransmission_score": (0, 1), "retransmission_seed": (0, 1), "rwnd_score": (0, 1)}
"""Of the axis of a score; the others go below 0 and are cut at -1."""
