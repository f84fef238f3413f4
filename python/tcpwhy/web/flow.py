"""The page of a flow: the argument that `explain` gives, and every interval."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tcpwhy._core import UsageError
from tcpwhy.explain.connection import argue
from tcpwhy.explain.reading import of_tables
from tcpwhy.report import flowpage
from tcpwhy.report.markup import joined
from tcpwhy.report.pictures import NARROW, SIZE
from tcpwhy.store.files import streamed
from tcpwhy.web.overview import Range
from tcpwhy.web.reader import Reader

if TYPE_CHECKING:
    import duckdb

MOST_INTERVALS = 2000
"""Rows of a direction that a page shows; a download has them all."""


def flow(reader: Reader, flow_id: int) -> dict[str, Any]:
    """Give the page: what identifies it, the argument for each direction, the intervals."""
    with rows_of(reader, flow_id) as connection, reader.cursor() as cursor:
        argued = argue(of_tables("the store", connection, flow_id, cursor))
    first = argued.facts.halves[0]
    sides = joined(flowpage.side(side, argued) for side in argued.sides)
    intervals = [
        {"direction": direction, **row._asdict(), "start_ns": row.start_ns - first.start_ns}
        | {"end_ns": row.end_ns - first.start_ns}
        for direction, rows in argued.facts.intervals.items()
        for row in rows[:MOST_INTERVALS]
    ]
    return {
        "flow_id": first.flow_id,
        "community_id": first.community_id,
        "pair": first.pair,
        "lasted": argued.lasted,
        "start_ns": first.start_ns,
        "end_ns": first.end_ns,
        "limitation": first.limitation,
        "html": sides,
        "intervals": intervals,
        "has_graph": has_graph(reader, first.flow_id),
        "is_cut": any(len(rows) > MOST_INTERVALS for rows in argued.facts.intervals.values()),
    }


MOST_SEGMENTS = 1_000_000
"""Of a flow that is drawn here; `tcpwhy graph` draws any."""

_drawing = threading.Lock()
"""One at a time: what is drawn is in memory as a whole."""


def has_graph(reader: Reader, flow_id: int) -> bool:
    """Say whether the store kept the segments of a flow, and not too many to be drawn here."""
    query = f"SELECT count(*) AS n FROM segments WHERE flow_id = {flow_id}"
    return bool(0 < reader.ask(query)[0]["n"] <= MOST_SEGMENTS)


def graph(
    reader: Reader, flow_id: int, kind: str, theme: str = "auto", *, is_narrow: bool = False
) -> str:
    """Draw a flow: as a page to zoom in, or as a picture to stand beside its argument."""
    from tcpwhy.graph import draw

    if not has_graph(reader, flow_id):
        raise UsageError(f"the store has no segments of flow {flow_id}, or too many for a page")
    with _drawing:
        drawn = draw(str(reader.path), flow=flow_id)
        if kind == "html":
            return drawn.html()
        width, height = NARROW if is_narrow else SIZE
        return drawn.svg(width=width, height=height, theme=theme, titled=False)


def live_graph(reader: Reader, flow_id: int, interface: str, seconds: float) -> str:
    """Watch the packets of a flow for some seconds, and draw them as a page to zoom in.

    Raises:
        TcpwhyError: when none passed, or the link cannot be watched.

    """
    from tcpwhy.graph import draw
    from tcpwhy.graph.live import of_pair, watched

    ends = "SELECT src, src_port, dst, dst_port FROM flows"
    found = reader.ask(f"{ends} WHERE flow_id = {flow_id} LIMIT 1")
    if not found:
        # One that goes on has only intervals so far.
        query = f"SELECT src, src_port, dst, dst_port FROM intervals WHERE flow_id = {flow_id}"
        found = reader.ask(f"{query} LIMIT 1")
    if not found:
        raise UsageError(f"no flow {flow_id} in the store: it went, or the link is wrong")
    row = found[0]
    filter = of_pair(row["src"], row["src_port"], row["dst"], row["dst_port"])
    with _drawing, watched(interface, seconds, filter) as file:
        return draw(file).html()


@contextmanager
def rows_of(reader: Reader, flow_id: int) -> Iterator["duckdb.DuckDBPyConnection"]:
    """Copy the rows of a flow; its times tell which parts can have its intervals."""
    import duckdb

    with duckdb.connect() as connection:
        with reader.cursor() as cursor:
            _copy(connection, cursor, "flows", f"flow_id = {flow_id}")
            ends = "SELECT min(start_ns), max(end_ns) FROM flows"
            begin, end = connection.execute(ends).fetchall()[0]
            if begin is None:
                raise UsageError(f"no flow {flow_id} in the store: it went, or the link is wrong")
            span = Range(begin, end + 1)
            for table in ("intervals", "periods", "stalls"):
                _copy(connection, cursor, table, f"flow_id = {flow_id} AND {span.where}")
        yield connection


def _copy(
    target: "duckdb.DuckDBPyConnection",
    source: "duckdb.DuckDBPyConnection",
    table: str,
    where: str,
) -> None:
    target.register("rows", streamed(source.sql(f"FROM {table} WHERE {where}")))
    target.execute(f"CREATE TABLE {table} AS FROM rows")
    target.unregister("rows")
