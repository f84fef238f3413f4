"""The case study as tables: what a person reads on a terminal, and files of rows."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tcpwhy.report.studypage import TABLE_I, trace_row
from tcpwhy.store.files import write_file
from tcpwhy.study.internet import LEAST_PACKETS, PERCENTILES
from tcpwhy.study.roots import POINTS
from tcpwhy.study.survey import Survey
from tcpwhy.terminal import grid
from tcpwhy.units import as_share

ALL = "all"


class Table(NamedTuple):
    """A table of the study."""

    name: str
    """Of its file."""
    title: str
    columns: tuple[str, ...]
    """With a type of DuckDB after a space."""
    rows: list[tuple[Any, ...]]
    shown: tuple[tuple[str, ...], list[tuple[Any, ...]]] | None
    """The same for a person; `None` for what is a figure."""


def tables(found: Survey) -> list[Table]:
    """Give every table."""
    return [
        _traces(found),
        _packets(found),
        _analysable(found),
        _ports(found),
        _idle(found),
        _roots(found),
        _checks(found),
        _distributions(found),
    ]


def text(found: Survey, limit: int) -> Iterator[str]:
    """Write the tables that a person reads, in lines of at most `limit` columns."""
    for number, table in enumerate(table for table in tables(found) if table.shown):
        assert table.shown
        yield from ([""] if number else [])
        yield table.title
        yield ""
        yield from grid(*table.shown, limit)


def save(table: Table, folder: Path, format: str) -> Path:
    """Write the rows of a table as `FOLDER/NAME.FORMAT`; the format is csv, jsonl or parquet."""
    import duckdb

    path = folder / f"{table.name}.{format}"
    names = [column.split()[0] for column in table.columns]
    types = {name: column.split()[1] for name, column in zip(names, table.columns, strict=True)}
    with tempfile.NamedTemporaryFile("w", suffix=".json") as rows, duckdb.connect() as connection:
        for row in table.rows:
            rows.write(json.dumps(dict(zip(names, row, strict=True))) + "\n")
        rows.flush()
        query = f"FROM read_json('{rows.name}', columns = {types}, format = 'newline_delimited')"
        write_file(connection, query, path, format=format)
    return path


def _traces(found: Survey) -> Table:
    columns: tuple[str, ...] = ("trace VARCHAR", "begin_ns BIGINT", "end_ns BIGINT")
    columns += ("tcp_rate_bps DOUBLE", "tcp_packets BIGINT", "tcp_flows BIGINT")
    columns += ("frames BIGINT", "cpu_s DOUBLE")
    rows: list[tuple[Any, ...]] = []
    shown: list[tuple[Any, ...]] = []
    for trace in found.traces:
        frames = trace.counters.get("packets_read", 0)
        if trace.study is None:
            rows.append((trace.name, None, None, None, None, None, frames, trace.cpu_s))
            shown.append((trace.name, "not readable", "", "", ""))
            continue
        row = trace.study.trace
        rows.append((trace.name, *row, frames, trace.cpu_s))
        shown.append((trace.name, *trace_row(trace.study)))
    return Table("traces", "Table I: the traces", columns, rows, (("trace", *TABLE_I), shown))


def _packets(found: Survey) -> Table:
    rows = [
        (name, point, value)
        for name, study in _studies(found)
        for point, value in study.percentiles.items()
    ]
    shown = [
        (name, *(f"{study.percentiles[point]:,.0f}" for point in PERCENTILES))
        for name, study in _studies(found)
        if study.percentiles
    ]
    heads = ("trace", *(f"{point:g} %" for point in PERCENTILES))
    title = "Packets per flow, both directions: this share of the flows has at most so many"
    columns = ("trace VARCHAR", "percentile DOUBLE", "packets DOUBLE")
    return Table("packets", title, columns, rows, (heads, shown))


def _analysable(found: Survey) -> Table:
    columns = ("trace VARCHAR", "flows BIGINT", "share_large DOUBLE", "with_capacity BIGINT")
    rows = [
        (name, study.trace.flows, study.relevant, study.with_capacity)
        for name, study in _studies(found)
    ]
    shown = [(name, f"{n:,}", _percent(share), f"{ok:,}") for name, n, share, ok in rows]
    heads = ("trace", "flows", f"> {LEAST_PACKETS} data packets", "handshake and capacity")
    title = "Flows that the paper's method can analyse (paper: 1 % to 2 %, 29 K with a capacity)"
    return Table("analysable", title, columns, rows, (heads, shown))


def _ports(found: Survey) -> Table:
    rows: list[tuple[Any, ...]] = [tuple(port) for port in found.whole.ports]
    shown = [(port.name, f"{port.flows:,}", as_share(port.share)) for port in found.whole.ports]
    title = "Ports of services"
    columns = ("class VARCHAR", "flows BIGINT", "share DOUBLE")
    return Table("ports", title, columns, rows, (("class", "flows", "share"), shown))


def _idle(found: Survey) -> Table:
    columns = ("method VARCHAR", "directions BIGINT", "percentile DOUBLE", "share DOUBLE")
    rows = [
        (one.method, one.directions, point, share)
        for one in found.idle
        for point, share in one.points.items()
    ]
    shown = [
        (
            one.method,
            f"{one.directions:,}",
            _percent(one.none),
            *(_percent(one.points.get(point)) for point in POINTS),
        )
        for one in found.idle
    ]
    heads = ("share of the time", "directions", "none", *(f"{point} %" for point in POINTS))
    title = (
        f"Application-limited time of directions with more than {LEAST_PACKETS} data packets, by"
        " percentile\n(paper: near zero for nearly all flows)"
    )
    return Table("application", title, columns, rows, (heads, shown))


def _roots(found: Survey) -> Table:
    names = ("paper", "tree", "seed", "ours", "every", "time", "size")
    columns = ("limitation VARCHAR", *(f"{name} DOUBLE" for name in names))
    shown = [(root.limitation, *(_percent(share) for share in root[1:])) for root in found.roots]
    heads = ("answer", "paper", "tree", "seed", "tcpwhy", "all", "by time", "by bytes")
    title = (
        f"Root causes. paper: its nine traces. tree: its decision tree over the {found.counted:,}"
        " intervals\nthat it would count here, seed: the same with the prototype's formulas,"
        " tcpwhy: this tool's own\ndiagnosis of these. all, by time, by bytes: the same of all"
        f" {found.every:,} intervals with data"
    )
    rows = [tuple(root) for root in found.roots]
    return Table("roots", title, columns, rows, (heads, shown))


def _checks(found: Survey) -> Table:
    rows = [tuple(check) for check in found.whole.checks]
    columns = ("what VARCHAR", "here VARCHAR", "paper VARCHAR")
    title = (
        f"Numbers that the paper's text quotes, over the {found.counted:,} intervals that it counts"
    )
    return Table("quoted", title, columns, rows, (("share of", "here", "paper"), rows))


def _distributions(found: Survey) -> Table:
    rows = [
        (name, point.series, point.value, point.share)
        for name, (_, _, points) in found.whole.distributions.items()
        for point in points
    ]
    columns = ("quantity VARCHAR", "class VARCHAR", "value DOUBLE", "share DOUBLE")
    return Table("distributions", "Cumulative distributions", columns, rows, None)


def _studies(found: Survey) -> Iterator[tuple[str, Any]]:
    for trace in found.traces:
        if trace.study:
            yield trace.name, trace.study
    if len(found.traces) > 1:
        yield ALL, found.whole


def _percent(share: float | None) -> str:
    return "–" if share is None else as_share(share)
