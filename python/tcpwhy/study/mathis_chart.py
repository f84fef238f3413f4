"""The article's figure: throughput against loss, measured and as the models have it."""

from typing import Any

from tcpwhy.extras import require
from tcpwhy.study.mathis import RTT_S, Study

COLOURS = {
    "reno": "#0072b2",
    "reno_per_ack": "#56b4e9",
    "cubic": "#d55e00",
    "bbr": "#009e73",
    "Mathis model": "#000000",
}
"""Okabe and Ito's colours, which people with any colour vision tell apart."""


def chart(study: Study) -> Any:
    """Draw medians with the range of the repeats; both axes are logarithmic."""
    alt = require("altair", extra="plot")
    rows = study.rows()
    measured = [
        {
            "loss": row.loss * 100,
            "Mbit/s": row.measured_bps / 1e6,
            "least": row.least_bps / 1e6,
            "most": row.most_bps / 1e6,
            "curve": row.controller,
            "place": row.place,
        }
        for row in rows
    ]
    modelled = [
        {"loss": row.loss * 100, "Mbit/s": row.mathis_bps / 1e6, "curve": "Mathis model"}
        for row in {row.loss: row for row in rows}.values()
    ]
    x = alt.X("loss:Q", title="loss (%)", scale=alt.Scale(type="log"))
    y = alt.Y("Mbit/s:Q", title="throughput (Mbit/s)", scale=alt.Scale(type="log"))
    colour = alt.Color(
        "curve:N",
        title=None,
        scale=alt.Scale(domain=list(COLOURS), range=list(COLOURS.values())),
    )
    base = alt.Chart(alt.InlineData(values=measured))
    dash = alt.StrokeDash(
        "place:N",
        title="measured in the",
        legend=alt.Legend(symbolType="stroke", symbolStrokeColor="black"),
    )
    lines = base.mark_line(point=True).encode(x=x, y=y, color=colour, strokeDash=dash)
    ranges = base.mark_rule(opacity=0.5).encode(
        x=x, y=alt.Y("least:Q", title="throughput (Mbit/s)"), y2="most:Q", color=colour
    )
    line = alt.Chart(alt.InlineData(values=modelled)).mark_line(strokeWidth=1)
    title = alt.TitleParams(
        "Throughput against loss",
        subtitle=f"RTT {RTT_S * 1e3:g} ms, transfers of {study.seconds:g} s, median and range",
        anchor="start",
    )
    drawn = (ranges + lines + line.encode(x=x, y=y, color=colour)).properties(
        title=title, width=640, height=360
    )
    drawn = drawn.configure(background="white", padding=12)
    # What is drawn in a series is opaque; by default the legend takes the opacity of its band.
    return drawn.configure_view(stroke=None).configure_legend(symbolOpacity=1)
