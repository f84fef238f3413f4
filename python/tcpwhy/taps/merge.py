"""Two captures that each have one direction of the traffic, judged as one.

Where paths are asymmetric, or a splitter has a port for each direction, no capture has the
acknowledgements of the data that it has. The clocks of the two need not agree: nothing is
acknowledged or echoed before it was sent, which bounds the difference from both sides.
"""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

from tcpwhy._core import InputError, UsageError
from tcpwhy.analysis import Result, analyze

if TYPE_CHECKING:
    import duckdb

MOST_FLOWS = 20
"""Connections whose packets are compared: the largest of those that both captures have."""


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


def clocks(first: str, second: str) -> Bounds:
    """Bound the difference of the clocks of two captures.

    Raises:
        InputError: where no connection is in both, or none tells the clocks.

    """
    import duckdb

    if first == second:
        raise UsageError(f"{first}: two different captures are merged")
    flows = _common(first, second)
    if not flows:
        raise InputError(f"{first} and {second}: no connection in common")
    least, most = [], []
    with duckdb.connect() as connection:
        for flow in flows:
            for name, capture in (("a", first), ("b", second)):
                rows = analyze(capture, table="segments", flow=flow).rows("segments")
                connection.register("rows", rows)
                connection.execute(f"CREATE OR REPLACE TABLE {name} AS FROM rows")
            there, back = _apart(connection, "a", "b"), _apart(connection, "b", "a")
            if there is not None and back is not None:
                most.append(there)
                least.append(-back)
    if not most:
        raise InputError(
            f"{first} and {second}: nothing that one capture has answers what the other has;"
            " captures of the same direction are compared without --merge"
        )
    low, high = max(least), min(most)
    # Clocks that drift contradict themselves: what is between the two bounds is then the error.
    return Bounds(min(low, high), max(low, high), len(most))


def _common(first: str, second: str) -> list[str]:
    seen = []
    for capture in (first, second):
        with analyze(capture, table="flows").to_duckdb() as connection:
            query = "SELECT community_id, sum(packets) FROM flows GROUP BY 1"
            seen.append(dict(connection.execute(query).fetchall()))
    sizes = {flow: min(one[flow] for one in seen) for flow in seen[0].keys() & seen[1].keys()}
    return sorted(sizes, key=lambda flow: (-sizes[flow], flow))[:MOST_FLOWS]


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
