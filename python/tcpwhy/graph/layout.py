"""Where the panels lie and what their axes span. `static/layout.js` is the same in JavaScript."""

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tcpwhy.graph.ranges import bounds, extremes, lower, upper
from tcpwhy.graph.trace import Trace

Spec = dict[str, Any]


class View(NamedTuple):
    """What is looked at: a span of time in ns since the start of a flow."""

    t0: float
    t1: float


class Panel(NamedTuple):
    """A panel on the page, and the values at its lower and upper edge."""

    spec: Spec
    x: float
    y: float
    w: float
    h: float
    lo: float
    hi: float
    beyond: dict[str, float]
    """The largest values by the label of the series that lie far above the others: left out."""

    def at_x(self, view: View, t: Any) -> Any:
        """Place times."""
        return self.x + (t - view.t0) / (view.t1 - view.t0) * self.w

    def at_y(self, value: Any) -> Any:
        """Place values."""
        return self.y + self.h - (value - self.lo) / (self.hi - self.lo) * self.h


def panels(
    spec: Spec, traces: Sequence[Trace], view: View, width: float, height: float
) -> list[Panel]:
    """Lay the panels that have anything to show under each other; ribbons come above them."""
    geometry = spec["geometry"]
    narrow = geometry["narrow"] if width < geometry["narrow"]["below"] else geometry
    left, right = narrow["left"], narrow["right"]
    shown = [panel for panel in spec["panels"] if any(_has(spec, panel, trace) for trace in traces)]
    top = geometry["top"] + len(traces) * (geometry["ribbon"] + 4)
    space = height - top - geometry["bottom"]
    space -= len(shown) * geometry["title"] + max(0, len(shown) - 1) * geometry["gap"]
    shares = sum(panel["share"] for panel in shown)
    placed = []
    y = top
    for panel in shown:
        y += geometry["title"]
        h = max(1, math.floor(space * panel["share"] / shares))
        w = max(1, math.floor(width - left - right))
        lo, hi, beyond = _domain(spec, panel, traces, view, w)
        placed.append(Panel(panel, left, y, w, h, lo, hi, beyond))
        y += h + geometry["gap"]
    return placed


def _has(spec: Spec, panel: Spec, trace: Trace) -> bool:
    return any(True for series in of_panel(spec, panel) if _filled(trace, series))


def of_panel(spec: Spec, panel: Spec) -> Iterator[Spec]:
    """Give the series of a panel, in the order of drawing."""
    return (series for series in spec["series"] if series["panel"] == panel["id"])


def _filled(trace: Trace, series: Spec) -> bool:
    names = series.get("of", [series["id"]])
    found = (trace.series.get(name) or trace.marks.get(name) for name in names)
    return any(columns is not None and len(columns["t"]) for columns in found)


def _domain(
    spec: Spec, panel: Spec, traces: Sequence[Trace], view: View, w: int
) -> tuple[float, float, dict[str, float]]:
    lo, hi = math.inf, -math.inf
    near: dict[str, float] = {}
    for trace in traces:
        for series in of_panel(spec, panel):
            found = spanned(spec, series, trace, view, w)
            if found is None:
                continue
            if series["fit"] == "near":
                label = series["label"]
                near[label] = max(near.get(label, -math.inf), found[1])
            else:
                lo, hi = min(lo, found[0]), max(hi, found[1])
        if panel["id"] == "sequence":
            for mark in spec["marks"]:
                lo, hi = _with_mark(mark, trace, view, lo, hi)
    highest = max(near.values(), default=-math.inf)
    if hi == -math.inf:
        lo, hi = (0.0, highest) if highest > 0 else (0.0, 1.0)
    if panel["zero"]:
        lo = 0.0
    most = hi + spec["geometry"]["beyond"] * max(hi - lo, 1.0)
    beyond = {label: value for label, value in near.items() if value > most}
    hi = max(
        [hi, *(value for value in near.values() if value <= most), *([most] if beyond else [])]
    )
    if hi <= lo:
        hi = lo + 1.0
    pad = 0.05 * (hi - lo)
    return (lo if panel["zero"] else lo - pad), hi + pad, beyond


def _with_mark(mark: Spec, trace: Trace, view: View, lo: float, hi: float) -> tuple[float, float]:
    columns = trace.marks.get(mark["id"])
    if columns is None or mark["glyph"] == "span":
        return lo, hi
    a, b = lower(columns["t"], view.t0), upper(columns["t"], view.t1)
    if b <= a:
        return lo, hi
    return (
        min(lo, float(columns["y0"][a:b].min())),
        max(hi, float(columns["y1"][a:b].max())),
    )


def spanned(
    spec: Spec, series: Spec, trace: Trace, view: View, w: int
) -> tuple[float, float] | None:
    """Give the least and largest value of a series in a view."""
    if series["mark"] == "rate":
        rates = binned(spec, series, trace, view, w)[1]
        return (0.0, float(rates.max())) if len(rates) else None
    columns = trace.series.get(series["id"])
    if columns is None or not len(columns["t"]):
        return None
    a, b = lower(columns["t"], view.t0), upper(columns["t"], view.t1)
    if series["mark"] == "step":
        a = max(0, a - 1)
    if b <= a:
        return None
    low, high = ("lo", "hi") if series["mark"] == "bars" else ("v", "v")
    least, largest = float(columns[low][a:b].min()), float(columns[high][a:b].max())
    return None if largest < 0 else (max(least, 0.0) if low == "v" else least, largest)


def binned(spec: Spec, series: Spec, trace: Trace, view: View, w: int) -> tuple[Any, Any]:
    """Give the edges of the bins of a rate and the rate in each, in bit/s; none without data."""
    import numpy

    if not _filled(trace, series):
        return numpy.zeros(0), numpy.zeros(0)
    width = bin_ns(spec, trace, view, w)
    first = math.floor(max(0.0, view.t0) / width)
    last = math.ceil(min(view.t1, float(trace.span_ns)) / width)
    edges = numpy.arange(first, max(first, last) + 1) * width
    total = numpy.zeros(max(0, len(edges) - 1))
    for name in series["of"]:
        columns = trace.series.get(name) or trace.marks.get(name)
        if columns is None or not len(columns["t"]) or len(edges) < 2:
            continue
        low, high = ("lo", "hi") if "lo" in columns else ("y0", "y1")
        sizes = numpy.append(0.0, numpy.cumsum(columns[high] - columns[low], dtype=float))
        total += numpy.diff(sizes[numpy.searchsorted(columns["t"], edges, side="left")])
    return edges, total * 8e9 / width


def bin_ns(spec: Spec, trace: Trace, view: View, w: int) -> float:
    """Choose how long a bin is: a few pixels, and not much less than a round trip."""
    raw = max(spec["geometry"]["bin_px"] * (view.t1 - view.t0) / w, trace.bin_floor_ns)
    exponent = math.floor(math.log10(raw))
    for factor in (1, 2, 5):
        if factor * 10.0**exponent >= raw:
            return factor * 10.0**exponent
    return 10.0 ** (exponent + 1)


__all__ = ["Panel", "View", "binned", "bounds", "extremes", "of_panel", "panels", "spanned"]
