"""What a notebook shows of a result: its flows, its charts, and the graph of the biggest flow.

Colours are attributes and not a style sheet: a notebook keeps what it likes of a style.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tcpwhy._core import TcpwhyError
from tcpwhy.report import charts, distributions
from tcpwhy.report.markup import Html, joined, table, tag
from tcpwhy.report.palette import known
from tcpwhy.report.pictures import drawn
from tcpwhy.report.source import Source
from tcpwhy.terminal.overview import LEAST_GAIN, WEIGHT, endpoint
from tcpwhy.units import as_bytes, as_rate, as_share

if TYPE_CHECKING:
    import duckdb

ROWS = 10
"""Directions that are listed, the slow and big first."""

BAR = (600, 16)
"""Pixels of the bar of shares."""

CHARTS = ("throughput_bps", "rtt_mean_ns")
"""Columns of `flows` whose distributions are drawn."""

CHART_SIZE = (330, 150)

FEWEST = 3
"""Values from which a distribution is more than a list."""


def shown(connection: "duckdb.DuckDBPyConnection", tables: tuple[str, ...], path: str) -> Html:
    """Give HTML without script or style sheet.

    Args:
        connection: has the tables of the result.
        tables: which ones; without `flows` there is only a count.
        path: the capture, for the graph of its biggest flow.

    """
    if "flows" not in tables:
        counted = [f"{_count(connection, name):,} {name}" for name in tables]
        return tag("p", f"tcpwhy: {', '.join(counted)}.")
    source = Source(path, False, connection, [])
    parts = (_shares(connection), _flows(connection), *_charts(source, tables), _graph(source))
    return tag("div", *(part for part in parts if part), class_="tcpwhy")


def _count(connection: "duckdb.DuckDBPyConnection", name: str) -> int:
    return int(connection.execute(f"SELECT count(*) FROM {name}").fetchall()[0][0])


def _shares(connection: "duckdb.DuckDBPyConnection") -> Html | None:
    """Draw the bytes of the flows by limitation, with their names."""
    query = """SELECT limitation, sum(unique_bytes)::DOUBLE AS size FROM flows
        WHERE data_packets > 0 GROUP BY 1 ORDER BY 2 DESC"""
    rows = [row for row in connection.execute(query).fetchall() if row[1]]
    if not rows:
        return tag("p", "No connection moved data.")
    total, at, rectangles = sum(size for _, size in rows), 0.0, []
    for word, size in rows:
        width = size / total * BAR[0]
        name = tag("title", f"{known(word).plain}: {as_share(size / total)}")
        place = {"x": f"{at:.1f}", "width": f"{max(0.5, width - 1):.1f}", "height": BAR[1]}
        rectangles.append(tag("rect", name, fill=known(word).light, **place))
        at += width
    told = ", ".join(f"{known(word).plain} {as_share(size / total)}" for word, size in rows)
    label = f"Bytes by limitation: {told}"
    bar = tag("svg", *rectangles, width=BAR[0], height=BAR[1], role="img", aria_label=label)
    return joined((tag("p", tag("b", "What limited the bytes: "), told), bar))


def _flows(connection: "duckdb.DuckDBPyConnection") -> Html:
    query = f"""SELECT src, src_port, dst, dst_port, limitation, cause, confidence, unique_bytes,
            goodput_bps, headroom_bps
        FROM flows WHERE data_packets > 0 ORDER BY {WEIGHT} DESC, flow_id LIMIT {ROWS}"""
    lines = [
        (
            f"{endpoint(src, src_port)} → {endpoint(dst, dst_port)}",
            joined((_swatch(word), known(word).plain, _detail(cause))),
            sure or "",
            as_bytes(size),
            as_rate(rate) if rate else "–",
            as_rate(better) if better and rate and better > LEAST_GAIN * rate else "–",
        )
        for src, src_port, dst, dst_port, word, cause, sure, size, rate, better in (
            connection.execute(query).fetchall()
        )
    ]
    heads = ("sender and receiver", "limited by", "sure", "bytes", "goodput", "could be")
    return table(heads, lines, caption="Slow and big flows", numbers=(3, 4, 5))


def _detail(cause: str | None) -> str:
    detail = (cause or "").partition("/")[2].replace("_", " ")
    return f" · {detail}" if detail else ""


def _swatch(word: str | None) -> Html:
    square = tag("rect", width=10, height=10, rx=2, fill=known(word).light)
    return joined((tag("svg", square, width=12, height=10, aria_hidden="true"), " "))


def _charts(source: Source, tables: tuple[str, ...]) -> Iterator[Html]:
    """Draw distributions, and goodput over time where there are intervals; none without altair."""
    with suppress(TcpwhyError):
        if "intervals" in tables:
            bars = distributions.over_time(source)
            if len({bar.begin_ns for bar in bars}) > 1:
                yield _picture(charts.over_time(bars), "Goodput over time by limitation", wide=True)
        for column in CHARTS:
            title, unit = distributions.QUANTITIES[column]
            points = distributions.of_quantity(source, column)
            if len({point.value for point in points}) >= FEWEST:
                chart = charts.distribution(points, title, unit=unit)
                yield _picture(chart, f"Cumulative distribution: {title}")


def _picture(chart: Any, told: str, *, wide: bool = False) -> Html:
    width, height = CHART_SIZE
    sized = chart.properties(width=2 * width if wide else width, height=height, background="white")
    return tag("span", Html(charts.svg(sized)), role="img", aria_label=told)


def _graph(source: Source) -> Html | None:
    """Draw the biggest flow as an image, whose style is its own."""
    query = "SELECT flow_id FROM flows WHERE data_packets > 0 ORDER BY unique_bytes DESC LIMIT 1"
    found = source.connection.execute(query).fetchall()
    with suppress(TcpwhyError):
        if found and source.name:
            picture = drawn(source.name, found[0][0], theme="light")
            return tag("div", tag("img", src=picture.address, alt=picture.told, width=860))
    return None
