"""Two points that each have one direction of the traffic, or some of it, judged as one.

Where paths are asymmetric, or a splitter has a port for each direction, no capture has the
acknowledgements of the data that it has. The clocks of the two need not agree: nothing is
acknowledged or echoed before it was sent, which bounds the difference from both sides.

Captures are analysed together. Rows, of stores or from Kafka, are merged as they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

from tcpwhy._core import InputError, Rows, UsageError
from tcpwhy.analysis import Result, analyze
from tcpwhy.extras import require
from tcpwhy.taps.rows import Halves, ahead_ns, by_connection, merged
from tcpwhy.taps.source import Point, point

if TYPE_CHECKING:
    import duckdb

MOST_FLOWS = 20
"""Connections whose packets are compared: the largest of those that both captures have."""

ANSWER_NS = 10**9
"""The quickest SYN/ACK of all took no longer: by then a SYN is sent again (RFC 6298). Only taken
where rows of one direction each have nothing that answers an answer."""


class Bounds(NamedTuple):
    """How far the second clock may be ahead of the first, in ns."""

    least_ns: int
    most_ns: int
    flows: int
    """Connections that say so."""

    @property
    def offset_ns(self) -> int:
        """What is taken off: nothing where the clocks may agree, else the middle."""
        if self.least_ns <= 0 <= self.most_ns:
            return 0
        return (self.least_ns + self.most_ns) // 2

    @property
    def error_ns(self) -> int:
        """The offset is right within this."""
        return max(self.most_ns - self.offset_ns, self.offset_ns - self.least_ns)


def merge(
    first: str | PathLike[str],
    second: str | PathLike[str],
    *,
    table: str | Iterable[str] = "flows",
    bounds: Bounds | None = None,
    **options: Any,
) -> Result:
    """Analyse two captures of one direction each as one.

    Args:
        first: a capture; times of the rows are by its clock.
        second: the other one.
        table: the table or tables to produce.
        bounds: of the difference of the clocks; found from the packets unless given.
        options: others of `tcpwhy.analyze`.

    Raises:
        InputError: where no connection is in both, or none tells the clocks.

    """
    names = [str(first), str(second)]
    found = bounds or clocks(*names)
    return analyze(names, table=table, clocks_ahead=f"0,{found.offset_ns}", **options)


def merge_rows(
    first: str | PathLike[str], second: str | PathLike[str], *, bounds: Bounds | None = None
) -> Any:
    """Merge the rows of `flows` of two points; verdicts stay what they were.

    Args:
        first: a store, a folder or a file of Parquet, a file of DuckDB, or the URL of topics of
            Kafka; times of the rows are by its clock.
        second: the other one.
        bounds: of the difference of the clocks; found from both unless given.

    Returns:
        A table of Arrow with the columns of `flows`.

    Raises:
        InputError: where no connection is in both, or none tells the clocks.

    """
    names = [str(first), str(second)]
    found = bounds or clocks(*names)
    arrow = require("pyarrow", extra="arrow")
    rows = merged(point(names[0]).flows(), point(names[1]).flows(), found.offset_ns)
    return arrow.Table.from_pylist(rows, schema=arrow.table(Rows("flows", [])).schema)


def clocks(first: str, second: str) -> Bounds:
    """Bound the difference of the clocks of two points.

    Raises:
        InputError: where no connection is in both, or none tells the clocks.

    """
    if first == second:
        raise UsageError(f"{first}: two different captures are merged")
    here, there = point(first), point(second)
    one, other = by_connection(here.flows()), by_connection(there.flows())
    shared = one.keys() & other.keys()
    sizes = {name: min(_packets(one[name]), _packets(other[name])) for name in shared}
    if not sizes:
        raise InputError(f"{first} and {second}: no connection in common")
    common = sorted(sizes, key=lambda name: (-sizes[name], name))
    found = [_of_segments(here, there, one[name], other[name]) for name in common[:MOST_FLOWS]]
    if not (here.is_capture and there.is_capture):
        # Rows cost nothing: all of them are asked.
        found += [ahead_ns(one[name], other[name]) for name in common]
    least = [low for low, _ in found if low is not None]
    most = [high for _, high in found if high is not None]
    low, high = max(least, default=None), min(most, default=None)
    if low is None or high is None:
        return _one_sided(first, second, low, high, len(least) + len(most))
    # Clocks that drift contradict themselves: what is between the two bounds is then the error.
    told = sum(None not in bounds for bounds in found)
    return Bounds(min(low, high), max(low, high), told or len(least) + len(most))


def _one_sided(first: str, second: str, low: int | None, high: int | None, flows: int) -> Bounds:
    """Bound the other side by how long the quickest answer can have taken."""
    if high is not None:
        return Bounds(high - ANSWER_NS, high, flows)
    if low is not None:
        return Bounds(low, low + ANSWER_NS, flows)
    raise InputError(
        f"{first} and {second}: nothing that one capture has answers what the other has;"
        " captures of the same direction are compared without --merge"
    )


def _packets(halves: Halves) -> int:
    return sum(row["packets"] for row in halves.values())


def _of_segments(
    first: Point, second: Point, one: Halves, other: Halves
) -> tuple[int | None, int | None]:
    """Bound the difference by the packets of a connection: at least, and at most."""
    import duckdb

    with duckdb.connect() as connection:
        for name, each, halves in (("a", first, one), ("b", second, other)):
            rows = each.segments(next(iter(halves.values()))["flow_id"])
            if rows is None:
                return None, None
            connection.register("rows", rows)
            connection.execute(f"CREATE TABLE {name} AS FROM rows")
        there, back = _apart(connection, "a", "b"), _apart(connection, "b", "a")
    if there is None or back is None:
        return None, None
    return -back, there


def _apart(connection: duckdb.DuckDBPyConnection, one: str, other: str) -> int | None:
    """Give the least time from a packet in `one` to what answers it in `other`, by their clocks."""
    found = [
        connection.execute(query.format(one=one, other=other)).fetchall()[0][0]
        for query in (_ECHOES, _HANDSHAKE)
    ]
    return min((value for value in found if value is not None), default=None)


_ECHOES = """SELECT min(echoed.at - sent.at) FROM
    (SELECT tsval, min(ts_ns) AS at FROM {one} WHERE tsval IS NOT NULL GROUP BY tsval) AS sent
    JOIN (SELECT tsecr, min(ts_ns) AS at FROM {other} WHERE tsecr > 0 GROUP BY tsecr) AS echoed
    ON sent.tsval = echoed.tsecr
    WHERE (SELECT count(*) FROM {one} AS again JOIN {other} AS same USING (tsval, tsecr, ip_id)
        WHERE again.ip_id > 0) = 0"""
"""A timestamp is echoed after it was sent (RFC 7323). Nothing is said by captures that have the
same packets: those are two points of one path."""

_HANDSHAKE = """SELECT min(answer.ts_ns - syn.ts_ns) FROM
    (SELECT min(ts_ns) AS ts_ns FROM {one} WHERE flags LIKE '%S%') AS syn,
    (SELECT min(ts_ns) AS ts_ns FROM {other}
        WHERE CASE WHEN (SELECT bool_or(flags LIKE '%S%' AND flags LIKE '%A%') FROM {one})
            THEN flags NOT LIKE '%S%' ELSE flags LIKE '%S%' AND flags LIKE '%A%' END) AS answer"""
"""A SYN is answered by a SYN/ACK, and that by an acknowledgement."""
