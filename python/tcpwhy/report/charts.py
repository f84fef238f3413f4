"""Charts of a report: one specification each, for pages as for files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tcpwhy._core import UsageError
from tcpwhy.extras import require
from tcpwhy.report.distributions import BINS_PER_DECADE, Bar, Point
from tcpwhy.report.palette import NONE, limits

WIDTH, HEIGHT = 680, 240

INK, SOFT, GRID = "#1d2730", "#5a6772", "#e3e7eb"
"""Text, what is less important, lines; a page replaces them with variables of its style."""

SERIES = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"]
"""Okabe and Ito's colours, which people with any colour vision tell apart."""

DASHES = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 4], [1, 3]]
"""So that lines differ without colour too."""

SUFFIXES = (".svg", ".png", ".pdf", ".html", ".json")


def over_time(bars: Sequence[Bar]) -> Any:
    """Draw goodput over time, stacked by limitation."""
    alt = require("altair", extra="plot")
    present = {bar.limitation for bar in bars}
    shown = [limit for limit in (*limits(), NONE) if limit.word in present]
    names = {limit.word: limit.plain for limit in shown}
    begin = min(bar.begin_ns for bar in bars)
    is_short = max(bar.end_ns for bar in bars) - begin < SHORT_NS
    zero = begin if is_short else 0
    scale = 1e9 if is_short else 1e6
    rows = []
    below: dict[int, float] = {}
    for limit in shown:
        for bar in (bar for bar in bars if bar.limitation == limit.word):
            base = below.get(bar.begin_ns, 0.0)
            below[bar.begin_ns] = base + bar.rate_bps
            times = {"from": (bar.begin_ns - zero) / scale, "to": (bar.end_ns - zero) / scale}
            ends = {"low": round(base), "high": round(base + bar.rate_bps)}
            rows.append(times | ends | {"limit": limit.plain, "rate": round(bar.rate_bps)})
    kind = "Q" if is_short else "T"
    title = "Time (s)" if is_short else None
    colours = alt.Scale(domain=[*names.values()], range=[limit.light for limit in shown])
    chart = alt.Chart(alt.InlineData(values=rows)).mark_rect(stroke=None)
    return _finish(
        alt,
        chart.encode(
            x=alt.X(f"from:{kind}", title=title, scale=alt.Scale(nice=False)),
            x2="to",
            y=alt.Y("low:Q", title="Goodput (bit/s)", axis=alt.Axis(format="~s")),
            y2="high",
            color=alt.Color("limit:N", title=None, scale=colours, sort=[*names.values()]),
            tooltip=[
                alt.Tooltip("limit:N", title="limited by"),
                alt.Tooltip("rate:Q", title="goodput (bit/s)", format=".3~s"),
                alt.Tooltip(f"from:{kind}", title="from", **({} if is_short else _CLOCK)),
            ],
        ),
    )


SHORT_NS = 3600 * 10**9
"""Below an hour the axis counts seconds; beyond, it has the time of day."""

_CLOCK = {"format": "%Y-%m-%d %H:%M:%S"}


def distribution(
    points: Sequence[Point],
    title: str,
    *,
    unit: str = "",
    ends: tuple[float, float] | None = None,
) -> Any:
    """Draw cumulative distributions, a line for each series.

    The axis is logarithmic, unless the values lie between two `ends`.
    """
    alt = require("altair", extra="plot")
    order = list(dict.fromkeys(point.series for point in points))
    rows = [
        {"x": float(f"{point.value:.6g}"), "y": round(point.share, 5), "series": point.series}
        for series in order
        for point in _whole([point for point in points if point.series == series], points, ends)
    ]
    scale = alt.Scale(type="log", nice=False) if ends is None else alt.Scale(domain=ends)
    form = "~s" if ends is None else "~g"
    axis = alt.Axis(format=form, tickCount=5, labelOverlap="greedy", labelSeparation=8)
    colours = alt.Scale(domain=order, range=SERIES[: len(order)])
    dashes = alt.Scale(domain=order, range=DASHES[: len(order)])
    encoded = {
        "x": alt.X("x:Q", title=f"{title} ({unit})" if unit else title, scale=scale, axis=axis),
        "y": alt.Y("y:Q", title="Share", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1])),
        "color": alt.Color("series:N", title=None, sort=order, scale=colours),
        "strokeDash": alt.StrokeDash("series:N", title=None, sort=order, scale=dashes),
        "tooltip": [
            alt.Tooltip("series:N", title="share"),
            alt.Tooltip("x:Q", title="at most", format=".3~s" if ends is None else ".3~f"),
            alt.Tooltip("y:Q", title="is", format=".1%"),
        ],
    }
    line = alt.Chart(alt.InlineData(values=rows)).mark_line(interpolate="step-after", strokeWidth=2)
    return _finish(alt, line.encode(**encoded))


def _whole(
    own: Sequence[Point], every: Sequence[Point], ends: tuple[float, float] | None
) -> list[Point]:
    """Let a line begin at 0 and go on to the end: one of a single step would not be seen."""
    step = 10 ** (1 / BINS_PER_DECADE)
    values = [point.value for point in every]
    begin, end = ends or (min(values) / step, max(values) * step)
    return [Point(own[0].series, begin, 0.0), *own, Point(own[0].series, end, 1.0)]


def _finish(alt: Any, chart: Any) -> Any:
    sized = chart.properties(width=WIDTH, height=HEIGHT, background="transparent")
    return (
        sized.configure_view(stroke=None)
        .configure_axis(
            labelColor=SOFT,
            titleColor=SOFT,
            gridColor=GRID,
            domainColor=GRID,
            tickColor=GRID,
            labelFontSize=12,
            titleFontSize=12,
            titleFontWeight="normal",
            labelFont=FONT,
            titleFont=FONT,
        )
        .configure_legend(
            orient="top",
            labelColor=INK,
            labelFontSize=12,
            labelFont=FONT,
            symbolType="square",
            symbolStrokeWidth=2,
            columns=4,
            columnPadding=18,
            labelLimit=220,
        )
    )


FONT = "system-ui, sans-serif"


def svg(chart: Any) -> str:
    """Draw a chart without a browser."""
    convert = require("vl_convert", extra="plot")
    return str(convert.vegalite_to_svg(chart.to_json()))


def save(chart: Any, path: Path) -> None:
    """Write a chart; the suffix says how."""
    if path.suffix not in SUFFIXES:
        known = ", ".join(SUFFIXES)
        raise UsageError(f"no chart for the file suffix {path.suffix!r}: known are {known}")
    convert = require("vl_convert", extra="plot")
    # On a page the ground shines through; alone a picture is on white.
    specification = chart.properties(background="white").to_json()
    if path.suffix == ".svg":
        path.write_text(convert.vegalite_to_svg(specification), encoding="utf-8")
    elif path.suffix == ".png":
        path.write_bytes(convert.vegalite_to_png(specification, scale=2))
    elif path.suffix == ".pdf":
        path.write_bytes(convert.vegalite_to_pdf(specification))
    elif path.suffix == ".json":
        path.write_text(specification, encoding="utf-8")
    else:
        path.write_text(convert.vegalite_to_html(specification, bundle=True), encoding="utf-8")
