"""Charts of the study: Altair makes one specification, vl-convert draws it without a browser."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcpwhy._core import UsageError
from tcpwhy.extras import require
from tcpwhy.study.figures import SERIES
from tcpwhy.units import as_bytes, as_duration, as_rate

if TYPE_CHECKING:
    from tcpwhy.study.adaptivity import Adaptivity

SUFFIXES = (".svg", ".png", ".html")

WIDTH, HEIGHT = 640, 320

PALETTE = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00"]
"""Okabe and Ito's colours, which people with any colour vision tell apart."""

FREQUENCY = "Frequency of the background (1/s)"
THROUGHPUT = "Normalized throughput"


def chart(result: "Adaptivity") -> Any:
    """Draw a figure."""
    alt = require("altair", extra="plot")
    draw = {
        "characteristics": _characteristics,
        "plane": _plane,
        "rates": _rates,
        "window": _window,
        "buffer": _buffer,
        "sequence": _sequence,
    }[result.figure.kind]
    number, title = result.figure.number, result.figure.title
    heading = alt.TitleParams(
        f"Figure {number}: {title}", subtitle=_settings(result), anchor="start", offset=12
    )
    drawn = draw(alt, result).properties(title=heading, width=WIDTH, height=HEIGHT)
    drawn = drawn.configure(background="white", padding=12)
    # What is drawn in a series is opaque; by default the legend takes the opacity of its band.
    return drawn.configure_view(stroke=None).configure_legend(symbolOpacity=1)


def save(drawn: Any, path: Path) -> None:
    """Write a chart; the suffix says how."""
    if path.suffix not in SUFFIXES:
        known = ", ".join(SUFFIXES)
        raise UsageError(f"no chart for the file suffix {path.suffix!r}: known are {known}")
    convert = require("vl_convert", extra="plot")
    specification = drawn.to_json()
    if path.suffix == ".svg":
        path.write_text(convert.vegalite_to_svg(specification), encoding="utf-8")
    elif path.suffix == ".png":
        path.write_bytes(convert.vegalite_to_png(specification, scale=2))
    else:
        path.write_text(convert.vegalite_to_html(specification, bundle=True), encoding="utf-8")


def _settings(result: "Adaptivity") -> str:
    """Say under which settings, besides the one that differs between the curves."""
    case, varied = result.settings, result.figure.varied
    parts = {
        "recovery": SERIES["recovery"](case["recovery"]),
        "rate_bps": as_rate(case["rate_bps"]),
        "delay_ns": f"{as_duration(case['delay_ns'])} per link",
        "buffer_packets": f"buffer {case['buffer_packets']} packets",
        "packet_bytes": f"packets of {as_bytes(case['tcp_packet_bytes'])}",
        "rto_max_ns": f"RTO {as_duration(case['rto_min_ns'])} to {as_duration(case['rto_max_ns'])}",
        "jitter": f"jitter {case['jitter_packets']:g} packet" if case["jitter_packets"] else "",
    }
    if result.figure.is_over_time:
        parts["frequency"] = f"background at {result.figure.frequency_hz:g} per s"
    return ", ".join(text for name, text in parts.items() if name != varied and text)


def _rows(result: "Adaptivity", table: str, sql: str) -> list[dict[str, Any]]:
    import duckdb

    with duckdb.connect() as connection:
        connection.register("rows", result.rows(table))
        found = connection.execute(sql)
        names = [column[0] for column in found.description or ()]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def _data(alt: Any, rows: list[dict[str, Any]]) -> Any:
    return alt.InlineData(values=rows)


def _frequency(alt: Any, name: str = "f", title: str = FREQUENCY) -> Any:
    values = [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10]
    axis = alt.Axis(values=values, format="~g", grid=True, gridOpacity=0.4)
    return alt.X(f"{name}:Q", title=title, scale=alt.Scale(type="log", nice=False), axis=axis)


def _characteristics(alt: Any, result: "Adaptivity") -> Any:
    rows = _rows(
        result,
        "adaptivity",
        """SELECT series, frequency_hz AS f, round(avg(norm_goodput), 4) AS goodput,
            round(min(norm_goodput), 4) AS least, round(max(norm_goodput), 4) AS most
        FROM rows GROUP BY series, frequency_hz, recovery, rate_bps, delay_ns, buffer_packets,
            tcp_packet_bytes, rto_max_ns ORDER BY frequency_hz""",
    )
    order = list(dict.fromkeys(case for case in _rows_order(result)))
    colour = alt.Color(
        "series:N",
        sort=order,
        title=_varied_title(result),
        scale=alt.Scale(domain=order, range=PALETTE),
    )
    top = max(1.2, *(row["most"] for row in rows)) if rows else 1.2
    base = alt.Chart(_data(alt, rows)).encode(
        x=_frequency(alt),
        y=alt.Y("goodput:Q", title=THROUGHPUT, scale=alt.Scale(domain=[0, top])),
        color=colour,
    )
    lines = base.mark_line(point=alt.OverlayMarkDef(size=22), strokeWidth=1.8)
    band = base.mark_rule(opacity=0.5).encode(y="least:Q", y2="most:Q")
    one = alt.Chart(_data(alt, [{"y": 1}])).mark_rule(strokeDash=[4, 4], color="#888")
    return one.encode(y="y:Q") + band + lines


def _rows_order(result: "Adaptivity") -> list[str]:
    rows = _rows(result, "adaptivity", "SELECT DISTINCT series FROM rows")
    present = {row["series"] for row in rows}
    varied = result.figure.varied or ""
    usual = [SERIES[varied](value) for value in result.figure.values]
    return [name for name in usual if name in present] + sorted(present - set(usual))


def _varied_title(result: "Adaptivity") -> str:
    return {
        "recovery": "Version",
        "rate_bps": "Link rate",
        "delay_ns": "Delay",
        "packet_bytes": "Packet size",
        "buffer_packets": "Buffer",
        "rto_max_ns": "Maximum RTO",
    }[result.figure.varied or "recovery"]


def _plane(alt: Any, result: "Adaptivity") -> Any:
    rows = _rows(
        result,
        "adaptivity",
        "SELECT frequency_hz AS f, second_frequency_hz AS g, round(norm_goodput, 4) AS goodput"
        " FROM rows",
    )
    points = sorted({row["f"] for row in rows})
    half = (points[1] / points[0]) ** 0.5 if len(points) > 1 else 1.05
    # The plane is symmetric: each pair was run once.
    both = [*rows, *({**row, "f": row["g"], "g": row["f"]} for row in rows if row["f"] != row["g"])]
    cells = [
        {
            "x": round(row["f"] / half, 5),
            "x2": round(row["f"] * half, 5),
            "y": round(row["g"] / half, 5),
            "y2": round(row["g"] * half, 5),
            "goodput": row["goodput"],
        }
        for row in both
    ]
    values = [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10]
    ends = [points[0] / half, points[-1] * half]
    scale = alt.Scale(type="log", nice=False, domain=ends)
    axis = alt.Axis(values=values, format="~g", grid=False)
    return (
        alt.Chart(_data(alt, cells))
        .mark_rect()
        .encode(
            x=alt.X("x:Q", title="First frequency (1/s)", scale=scale, axis=axis),
            x2="x2:Q",
            y=alt.Y("y:Q", title="Second frequency (1/s)", scale=scale, axis=axis),
            y2="y2:Q",
            color=alt.Color(
                "goodput:Q",
                title=["Normalized", "throughput"],
                scale=alt.Scale(scheme="viridis", domain=[0.65, 1.05], clamp=True),
            ),
        )
    )


def _seconds(alt: Any) -> Any:
    axis = alt.Axis(grid=True, gridOpacity=0.4, tickCount=10, format="~g")
    return alt.X("t:Q", title="Time (s)", axis=axis, scale=alt.Scale(nice=False, zero=False))


def _over_time(alt: Any, rows: list[dict[str, Any]], names: dict[str, str], title: str) -> Any:
    """Draw several columns as lines over time."""
    long = [{"t": row["t"], "what": names[key], "y": row[key]} for row in rows for key in names]
    order = list(names.values())
    scale = alt.Scale(domain=order, range=PALETTE[: len(order)])
    return (
        alt.Chart(_data(alt, long))
        .mark_line(strokeWidth=1.4, strokeJoin="round")
        .encode(
            x=_seconds(alt),
            y=alt.Y("y:Q", title=title),
            color=alt.Color("what:N", title=None, sort=order, scale=scale),
        )
    )


def _rates(alt: Any, result: "Adaptivity") -> Any:
    # Means over half a second: what crosses the link in 20 ms is two packets or three.
    rows = _rows(
        result,
        "adaptivity_series",
        """SELECT floor(at_ns / 5e8) / 2 AS t, round(avg(tcp_bps) / 1e6, 4) AS tcp,
            round(avg(udp_bps) / 1e6, 4) AS udp FROM rows GROUP BY 1 ORDER BY 1""",
    )
    names = {"tcp": "TCP", "udp": "UDP"}
    return _over_time(alt, rows[:-1], names, "Rate over the shared link (Mbit/s)")


def _window(alt: Any, result: "Adaptivity") -> Any:
    payload = result.settings["tcp_packet_bytes"] - 42
    every = 5 if result.settings["duration_ns"] > 30 * 10**9 else 1
    rows = _rows(
        result,
        "adaptivity_series",
        f"""SELECT round(at_ns / 1e9, 3) AS t, in_network_packets AS network,
            round(cwnd_bytes / {payload}, 2) AS cwnd FROM rows
            QUALIFY row_number() OVER (ORDER BY at_ns) % {every} = 0 ORDER BY at_ns""",
    )
    names = {"network": "in the network", "cwnd": "cwnd"}
    return _over_time(alt, rows, names, "Data packets")


def _buffer(alt: Any, result: "Adaptivity") -> Any:
    rows = _rows(
        result,
        "adaptivity_series",
        """SELECT round(at_ns / 1e9, 3) AS t, tcp_queue_packets AS tcp, udp_queue_packets AS udp
        FROM rows ORDER BY at_ns""",
    )
    names = {"udp": "UDP", "tcp": "TCP"}
    long = [
        {"t": row["t"], "what": names[key], "n": number, "y": row[key]}
        for row in rows
        for number, key in enumerate(names)
    ]
    limit = result.settings["buffer_packets"]
    scale = alt.Scale(domain=["TCP", "UDP"], range=PALETTE[:2])
    areas = (
        alt.Chart(_data(alt, long))
        .mark_area(interpolate="step", opacity=0.85)
        .encode(
            x=_seconds(alt),
            y=alt.Y("y:Q", stack="zero", title="Packets waiting at the shared link"),
            color=alt.Color("what:N", title=None, scale=scale),
            order="n:Q",
        )
    )
    full = alt.Chart(_data(alt, [{"y": limit}])).mark_rule(strokeDash=[4, 4], color="#444")
    return areas + full.encode(y="y:Q")


def _sequence(alt: Any, result: "Adaptivity") -> Any:
    rows = _rows(
        result,
        "adaptivity_segments",
        """SELECT round(at_ns / 1e9, 3) AS t, segment AS y, CASE kind WHEN 'new' THEN 'first time'
            WHEN 'fast' THEN 'fast retransmit' ELSE 'after a timeout' END AS what FROM rows""",
    )
    order = ["first time", "fast retransmit", "after a timeout"]
    scale = alt.Scale(domain=order, range=[PALETTE[0], PALETTE[1], PALETTE[3]])
    return (
        alt.Chart(_data(alt, rows))
        .mark_point(filled=True, size=9, opacity=0.9)
        .encode(
            x=_seconds(alt),
            y=alt.Y("y:Q", title="Number of the segment sent", scale=alt.Scale(zero=False)),
            color=alt.Color("what:N", title="Sent", sort=order, scale=scale),
            shape=alt.Shape("what:N", title="Sent", sort=order, scale=alt.Scale(domain=order)),
        )
    )
