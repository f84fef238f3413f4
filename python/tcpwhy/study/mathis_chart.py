"""The article's figure: throughput against loss, measured and as the models have it."""

from typing import Any

from tcpwhy.extras import require
from tcpwhy.study.mathis import RATE_BPS, RTT_S, Study

MODEL = "Mathis model"
NAMES = {"reno": "Reno", "reno_per_ack": "Reno, per ACK", "cubic": "CUBIC", "bbr": "BBR"}
COLOURS = {
    "Reno": "#0072b2",
    "Reno, per ACK": "#56b4e9",
    "CUBIC": "#d55e00",
    "BBR": "#009e73",
    MODEL: "#000000",
}
"""Okabe and Ito's colours, which people with any colour vision tell apart."""
SHAPES = {
    "Reno": "circle",
    "Reno, per ACK": "diamond",
    "CUBIC": "square",
    "BBR": "triangle-up",
    MODEL: "stroke",
}
"""For prints without colour."""
DASHES = {"kernel": [1, 0], "simulator": [6, 3]}


def chart(study: Study) -> Any:
    """Draw medians with the range of the repeats; both axes are logarithmic."""
    alt = require("altair", extra="plot")
    rows = study.rows()
    curves = [name for name in COLOURS if name == MODEL or _is_in(study, name)]
    measured = [
        {
            "loss": row.loss * 100,
            "Mbit/s": row.measured_bps / 1e6,
            "least": row.least_bps / 1e6,
            "most": row.most_bps / 1e6,
            "curve": NAMES[row.controller],
            "place": row.place,
        }
        for row in rows
    ]
    modelled = [
        {"loss": row.loss * 100, "Mbit/s": row.mathis_bps / 1e6, "curve": MODEL}
        for row in {row.loss: row for row in rows}.values()
    ]
    x = alt.X("loss:Q", title="loss (%)", scale=alt.Scale(type="log"))
    y = alt.Y("Mbit/s:Q", title="throughput (Mbit/s)", scale=alt.Scale(type="log"))
    colour = _by("Color", "curve:N", curves, COLOURS)
    places = [place for place in DASHES if any(row.place == place for row in rows)]
    legend = alt.Legend(
        symbolType="stroke", symbolStrokeColor="black", symbolStrokeWidth=2, symbolSize=500
    )
    dash = _by("StrokeDash", "place:N", places, DASHES, title="measured in the", legend=legend)
    base = alt.Chart(alt.InlineData(values=measured))
    lines = base.mark_line().encode(x=x, y=y, color=colour, strokeDash=dash)
    points = base.mark_point(filled=True, size=50, opacity=1).encode(
        x=x, y=y, color=colour, shape=_by("Shape", "curve:N", curves, SHAPES)
    )
    ranges = base.mark_rule(opacity=0.5).encode(
        x=x, y=alt.Y("least:Q", title="throughput (Mbit/s)"), y2="most:Q", color=colour
    )
    line = alt.Chart(alt.InlineData(values=modelled)).mark_line(strokeWidth=1)
    subtitle = (
        f"RTT {RTT_S * 1e3:g} ms, links of {RATE_BPS / 1e6:g} Mbit/s, transfers of "
        f"{study.seconds:g} s: median and range"
    )
    title = alt.TitleParams("Throughput against loss", subtitle=subtitle, anchor="start")
    drawn = (ranges + lines + points + line.encode(x=x, y=y, color=colour)).properties(
        title=title, width=640, height=360
    )
    drawn = drawn.configure(background="white", padding=12)
    # What is drawn in a series is opaque; by default the legend takes the opacity of its band.
    return drawn.configure_view(stroke=None).configure_legend(symbolOpacity=1)


def _is_in(study: Study, name: str) -> bool:
    return any(NAMES[point.controller] == name for point in study.points)


def _by(channel: str, field: str, names: list[str], values: dict[str, Any], **options: Any) -> Any:
    """Encode a field by a value for each of its names."""
    alt = require("altair", extra="plot")
    scale = alt.Scale(domain=names, range=[values[name] for name in names])
    return getattr(alt, channel)(field, scale=scale, **{"title": None, **options})
