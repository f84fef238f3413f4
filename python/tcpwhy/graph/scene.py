"""What is drawn, as a list of marks on a page. `static/scene.js` is the same in JavaScript.

A mark names its panel, what it shows, its colour by role, and flat lists of coordinates in pixels.
Painters (SVG here, a canvas in the browser) only put them on their surface.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from tcpwhy.graph.events import events
from tcpwhy.graph.layout import Panel, Spec, View, binned, of_panel, panels
from tcpwhy.graph.palette import plain
from tcpwhy.graph.ranges import bounds, extremes, lower, upper
from tcpwhy.graph.ticks import Axis, axis
from tcpwhy.graph.trace import Trace

Mark = dict[str, Any]

MIN_HEIGHT = 1.5
"""Pixels that a column of segments is high at least."""

SPARSE = 6
"""Pixels for each segment from which on segments are drawn twice as large."""

MIN_TICKS = 2.5
"""Steps of the values of a panel, however low it is: one number tells no scale."""

NARROW = 560
"""Pixels of a panel whose title leaves no room beside it."""

OTHERS = {"data": "other", "ack": "other_ack", "window": "other_ack", "rtt": "other"}
"""Colours of the direction that another is compared with."""
OTHERS |= {"cwnd": "other", "again": "other_ack"}


def scene(
    spec: Spec, traces: Sequence[Trace], view: View, width: float, height: float
) -> list[Mark]:
    """Give the marks of a view. The first of the traces is the one that is looked at."""
    placed = panels(spec, traces, view, width, height)
    if not placed:
        return []
    marks = list(_ribbons(spec, traces, view, placed[0]))
    time_axis = axis(view.t0, view.t1, placed[0].w / spec["geometry"]["tick_px"], "ns")
    for panel in placed:
        marks += _ground(spec, panel, view, time_axis)
        for number, trace in reversed(list(enumerate(traces))):
            is_other = number > 0
            if panel.spec["id"] == "sequence":
                marks += events(spec, panel, trace, view, spans=True)
            for series in of_panel(spec, panel.spec):
                for mark in _series(spec, panel, series, trace, view):
                    role = mark["colour"]
                    mark["colour"] = OTHERS.get(role, role) if is_other else role
                    marks.append(mark)
            if panel.spec["id"] == "sequence":
                marks += events(spec, panel, trace, view, spans=False)
    marks += _time_labels(placed, view, time_axis)
    return marks


def _ribbons(spec: Spec, traces: Sequence[Trace], view: View, first: Panel) -> Iterator[Mark]:
    height = spec["geometry"]["ribbon"]
    for index, trace in enumerate(traces):
        y = spec["geometry"]["top"] + index * (height + 4)
        for start, end, limitation in _runs(trace, view):
            x0, x1 = float(first.at_x(view, start)), float(first.at_x(view, end))
            data = [x0, y, max(0.5, x1 - x0), height]
            yield _mark("rect", "ribbon", "verdict", f"limit:{limitation}", data)
            # Named where there is room, so that colour does not stand alone.
            name = plain(None if limitation == "unknown" else limitation)
            if x1 - x0 >= (len(name) + 2) * spec["geometry"]["letter"]:
                role = f"on:{limitation}"
                yield _text("ribbon", "name", name, x0 + 6, y + height - 4, "start", colour=role)


def _runs(trace: Trace, view: View) -> Iterator[tuple[float, float, str]]:
    """Join verdicts that follow each other with the same limitation, cut to what is seen."""
    held: tuple[float, float, str] | None = None
    for verdict in trace.verdicts:
        if verdict.end < view.t0 or verdict.start > view.t1:
            continue
        start, end = max(float(verdict.start), view.t0), min(float(verdict.end), view.t1)
        name = verdict.limitation or "unknown"
        if held and held[2] == name and start - held[1] < 1:
            held = (held[0], end, name)
            continue
        if held:
            yield held
        held = (start, end, name)
    if held:
        yield held


def _ground(spec: Spec, panel: Panel, view: View, time_axis: Axis) -> Iterator[Mark]:
    """Give the ground of a panel: paper, grid, labels, title."""
    name = panel.spec["id"]
    yield _mark("rect", name, "ground", "plot", [panel.x, panel.y, panel.w, panel.h])
    count = max(MIN_TICKS, panel.h / spec["geometry"]["tick_px_y"])
    values = axis(panel.lo, panel.hi, count, panel.spec["unit"])
    grid: list[float] = []
    for tick in time_axis.ticks:
        x = _crisp(panel.at_x(view, tick.at))
        grid += [x, panel.y, panel.y + panel.h]
    if grid:
        yield _mark("bars", name, "grid", "grid", grid, width=1)
    rules: list[float] = []
    for tick in values.ticks:
        y = _crisp(panel.at_y(tick.at))
        rules += [panel.x, y, panel.x + panel.w, y, math.nan, math.nan]
        yield _text(name, "axis", tick.label, panel.x - 6, y + 4, "end")
    if rules:
        yield _mark("path", name, "grid", "grid", rules, width=1)
    base = f", from {values.base}" if values.base else ""
    title = f"{panel.spec['title']} ({values.unit}{base})"
    yield _text(name, "title", title, panel.x, panel.y - 5, "start", colour="ink")
    if panel.beyond:
        told = []
        for label, value in panel.beyond.items():
            far = axis(0.0, value, 1.0, panel.spec["unit"]).unit
            told.append(f"{label} to {value / _power(panel.spec['unit'], far):.3g} {far}")
        text = f"{', '.join(told)}: beyond the scale"
        # Beside the title where there is room, else in the panel.
        y = panel.y - 5 if panel.w > NARROW else panel.y + 12
        yield _text(name, "title", text, panel.x + panel.w - 4, y, "end")


def _power(unit: str, name: str) -> float:
    from tcpwhy.graph.ticks import UNITS

    return next(10.0**power for power, label in UNITS[unit] if label == name)


def _series(spec: Spec, panel: Panel, series: Spec, trace: Trace, view: View) -> Iterator[Mark]:
    name, role, width = panel.spec["id"], series["colour"], series["width"]
    if series["mark"] == "rate":
        data = _rate(spec, panel, series, trace, view)
        if data:
            yield _mark("path", name, series["id"], role, data, width=width)
        return
    columns = trace.series.get(series["id"])
    if columns is None or not len(columns["t"]):
        return
    a, b = lower(columns["t"], view.t0), upper(columns["t"], view.t1)
    is_dense = b - a > spec["geometry"]["dense"] * panel.w
    if series["mark"] == "step":
        draw = _dense_step if is_dense else _step
        data = draw(panel, columns, trace, view, a, b)
        if data:
            dash = series.get("dash", [])
            yield _mark("path", name, series["id"], role, data, width=width, dash=dash)
        return
    if b <= a:
        return
    low, high = ("lo", "hi") if series["mark"] == "bars" else ("v", "v")
    if is_dense:
        data = _columns(panel, columns["t"], columns[low], columns[high], view)
        yield _mark("bars", name, series["id"], role, data, width=1)
    elif series["mark"] == "bars":
        x = panel.at_x(view, columns["t"][a:b])
        # Where few lie far apart, thin ones would be overlooked.
        width = 2 * width if (b - a) * SPARSE < panel.w else width
        data = _seen(x, panel.at_y(columns["lo"][a:b]), panel.at_y(columns["hi"][a:b]), width)
        yield _mark("bars", name, series["id"], role, data, width=width)
    else:
        data = _flat(panel.at_x(view, columns["t"][a:b]), panel.at_y(columns["v"][a:b]))
        yield _mark("dots", name, series["id"], role, data, width=1.6)


def _columns(panel: Panel, t: Any, low: Any, high: Any, view: View) -> list[float]:
    """Draw every column of pixels from its least value to its largest."""
    import numpy

    starts = bounds(t, view.t0, view.t1, int(panel.w))
    filled = numpy.flatnonzero(numpy.diff(starts) > 0)
    x = panel.x + filled + 0.5
    bottom = panel.at_y(extremes(low, starts, False))
    return _seen(x, bottom, panel.at_y(extremes(high, starts, True)), MIN_HEIGHT)


def _seen(x: Any, bottom: Any, top: Any, least: float) -> list[float]:
    """Give bars that are high enough to be seen."""
    import numpy

    short = bottom - top < least
    middle, spare = (bottom + top) / 2, least / 2
    bottom = numpy.where(short, middle + spare, bottom)
    return _flat(x, bottom, numpy.where(short, middle - spare, top))


def _step(
    panel: Panel, columns: dict[str, Any], trace: Trace, view: View, a: int, b: int
) -> list[float]:
    """Hold every value until the next; a value below 0 is a gap."""
    data: list[float] = []
    held = float(columns["v"][a - 1]) if a > 0 else -1.0
    if held >= 0:
        data += [panel.x, float(panel.at_y(held))]
    for t, v in zip(columns["t"][a:b].tolist(), columns["v"][a:b].tolist(), strict=True):
        x = float(panel.at_x(view, t))
        if held >= 0:
            data += [x, float(panel.at_y(held))]
        data += [x, float(panel.at_y(v))] if v >= 0 else [math.nan, math.nan]
        held = v
    return data + _end(panel, trace, view, held)


def _dense_step(
    panel: Panel, columns: dict[str, Any], trace: Trace, view: View, a: int, b: int
) -> list[float]:
    """Draw in each column of pixels what was held, the first value, the extremes, the last."""
    import numpy

    v = columns["v"]
    starts = bounds(columns["t"], view.t0, view.t1, int(panel.w))
    filled = numpy.flatnonzero(numpy.diff(starts) > 0)
    least, largest = extremes(v, starts, False), extremes(v, starts, True)
    data: list[float] = []
    held = float(v[a - 1]) if a > 0 else -1.0
    if held >= 0:
        data += [panel.x, float(panel.at_y(held))]
    for column, low, high in zip(filled.tolist(), least.tolist(), largest.tolist(), strict=True):
        x = panel.x + column + 0.5
        first, last = float(v[starts[column]]), float(v[starts[column + 1] - 1])
        values = [held, first, high if low < 0 else low, high, last]
        for value in values:
            if value >= 0:
                data += [x, float(panel.at_y(value))]
        if last < 0:
            data += [math.nan, math.nan]
        held = last
    return data + _end(panel, trace, view, held)


def _end(panel: Panel, trace: Trace, view: View, held: float) -> list[float]:
    """Hold the last value to the end of the flow or of the view."""
    end = min(view.t1, float(trace.span_ns))
    if held < 0 or end < view.t0:
        return []
    return [float(panel.at_x(view, end)), float(panel.at_y(held))]


def _rate(spec: Spec, panel: Panel, series: Spec, trace: Trace, view: View) -> list[float]:
    edges, rates = binned(spec, series, trace, view, int(panel.w))
    data: list[float] = []
    for left, right, rate in zip(
        edges[:-1].tolist(), edges[1:].tolist(), rates.tolist(), strict=True
    ):
        x0 = float(panel.at_x(view, max(left, view.t0)))
        x1 = float(panel.at_x(view, min(right, view.t1)))
        y = float(panel.at_y(rate))
        data += [x0, y, x1, y]
    return data


def _time_labels(placed: Sequence[Panel], view: View, time_axis: Axis) -> Iterator[Mark]:
    last = placed[-1]
    y = last.y + last.h + 16
    for tick in time_axis.ticks:
        x = float(last.at_x(view, tick.at))
        if time_axis.base and x < last.x + 60:
            continue
        label = f"{tick.label} {time_axis.unit}"
        yield _text("time", "axis", label, x, y, "middle")
    if time_axis.base:
        yield _text("time", "axis", time_axis.base, last.x - 44, y, "start", colour="ink")


def _mark(op: str, panel: str, what: str, colour: str, data: list[float], **more: Any) -> Mark:
    return {"op": op, "panel": panel, "what": what, "colour": colour, "data": data} | more


def _text(
    panel: str, what: str, text: str, x: float, y: float, anchor: str, colour: str = "quiet"
) -> Mark:
    return _mark("text", panel, what, colour, [float(x), float(y)], text=text, anchor=anchor)


def _crisp(at: Any) -> float:
    """Move a hairline into the middle of a pixel."""
    return math.floor(float(at)) + 0.5


def _flat(*parts: Any) -> list[float]:
    import numpy

    flat: list[float] = numpy.column_stack(parts).ravel().tolist()
    return flat
