"""What the legend names: the series, marks and verdicts that a graph has."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tcpwhy.graph.layout import Spec
from tcpwhy.graph.palette import plain
from tcpwhy.graph.trace import Trace


@dataclass(frozen=True)
class Entry:
    """An entry: its words, a colour by role, and a line, a rectangle or a glyph as sample."""

    label: str
    colour: str
    sample: str
    dash: list[float] = field(default_factory=list)


def legend(spec: Spec, traces: Sequence[Trace]) -> list[Entry]:
    """Name what is drawn, the verdicts first, each once."""
    found: dict[str, Entry] = {}
    beside = [Entry(f"{trace.label}, beside", "other", "line") for trace in traces[1:]]
    for entry in (*beside, *_verdicts(traces), *_series(spec, traces), *_marks(spec, traces)):
        found.setdefault(entry.label, entry)
    return list(found.values())


def _verdicts(traces: Sequence[Trace]) -> Iterator[Entry]:
    words = [verdict.limitation for trace in traces for verdict in trace.verdicts]
    for word in dict.fromkeys(words):
        yield Entry(plain(word), f"limit:{word or 'unknown'}", "rect")


def _series(spec: Spec, traces: Sequence[Trace]) -> Iterator[Entry]:
    for series in spec["series"]:
        names = series.get("of", [series["id"]])
        columns = [trace.series.get(name) for trace in traces for name in names]
        if any(found is not None and len(found["t"]) for found in columns):
            yield Entry(series["label"], series["colour"], "line", series.get("dash", []))


def _marks(spec: Spec, traces: Sequence[Trace]) -> Iterator[Entry]:
    for mark in spec["marks"]:
        count = sum(
            len(trace.marks[mark["id"]]["t"]) for trace in traces if mark["id"] in trace.marks
        )
        if count:
            sample = {"span": "rect", "bar": "line"}.get(mark["glyph"], mark["glyph"])
            yield Entry(f"{mark['label']} ({count:,})", mark["colour"], sample)
