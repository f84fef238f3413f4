"""The layer of rare events, which no scale hides. `static/events.js` is the same in JavaScript."""

import math
from collections.abc import Iterator
from typing import Any

from tcpwhy.graph.layout import Panel, Spec, View
from tcpwhy.graph.ranges import lower, upper
from tcpwhy.graph.trace import Trace

TALL = 3
"""Pixels from which a segment is drawn as a bar under its glyph."""


def events(
    spec: Spec, panel: Panel, trace: Trace, view: View, *, spans: bool
) -> Iterator[dict[str, Any]]:
    """Give the marks of rare events: spans, which lie behind the series, or the others.

    Events that fall into the same few pixels are drawn once, so that any number of them is quick,
    and each of them is drawn.
    """
    for mark in spec["marks"]:
        columns = trace.marks.get(mark["id"])
        if columns is None or not len(columns["t"]) or (mark["glyph"] == "span") != spans:
            continue
        if spans:
            data = _spans(spec, panel, columns, view)
            if data:
                yield _drawn("rects", mark, data)
            continue
        bars, points = _points(spec, panel, columns, view, mark["glyph"] == "bar")
        if bars:
            yield _drawn("bars", mark, bars) | {"width": 1.5}
        if points:
            yield _drawn("glyphs", mark, points) | {"glyph": mark["glyph"]}


def _drawn(op: str, mark: Spec, data: list[float]) -> dict[str, Any]:
    named = {"op": op, "panel": "sequence", "what": mark["id"]}
    return named | {"colour": mark["colour"], "data": data}


def _spans(spec: Spec, panel: Panel, columns: dict[str, Any], view: View) -> list[float]:
    a, b = lower(columns["t1"], view.t0), upper(columns["t"], view.t1)
    cell = spec["geometry"]["cell"]
    data: list[float] = []
    seen = set()
    for t, t1 in zip(columns["t"][a:b].tolist(), columns["t1"][a:b].tolist(), strict=True):
        x0 = float(panel.at_x(view, max(t, view.t0)))
        x1 = float(panel.at_x(view, min(t1, view.t1)))
        key = (math.floor(x0 / cell), math.floor(x1 / cell))
        if key not in seen:
            seen.add(key)
            data += [x0, panel.y, max(1.5, x1 - x0), panel.h]
    return data


def _points(
    spec: Spec, panel: Panel, columns: dict[str, Any], view: View, is_bar: bool
) -> tuple[list[float], list[float]]:
    import numpy

    a, b = lower(columns["t"], view.t0), upper(columns["t"], view.t1)
    if b <= a:
        return [], []
    cell = spec["geometry"]["cell"]
    x = panel.at_x(view, columns["t"][a:b])
    bottom, top = panel.at_y(columns["y0"][a:b]), panel.at_y(columns["y1"][a:b])
    middle = (bottom + top) / 2
    keys = [numpy.floor(x / cell)]
    keys += [numpy.floor(y / cell) for y in ((bottom, top) if is_bar else (middle,))]
    first = numpy.unique(numpy.column_stack(keys), axis=0, return_index=True)[1]
    first.sort()
    x, bottom, top, middle = x[first], bottom[first], top[first], middle[first]
    tall = numpy.ones(len(x), dtype=bool) if is_bar else bottom - top >= TALL
    short = bottom - top < 1
    bottom, top = numpy.where(short, middle + 0.5, bottom), numpy.where(short, middle - 0.5, top)
    bars = numpy.column_stack((x[tall], bottom[tall], top[tall])).ravel().tolist()
    points = [] if is_bar else numpy.column_stack((x, middle)).ravel().tolist()
    return bars, points
