"""What a person looks at first after a simulation: what limited whom, what was dropped where."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tcpwhy.terminal import grid
from tcpwhy.units import as_bytes, as_share

if TYPE_CHECKING:
    import duckdb

_GATHER = {
    "truth": """SELECT flow, side, src, src_port, dst, dst_port, "limit",
        sum(end_ns - start_ns)::DOUBLE AS ns, max(flight_size_bytes) AS flight FROM batch
        GROUP BY ALL""",
    "events": """SELECT link, element, action, reason, flow, count(*) AS packets,
        sum(wire_bytes) AS bytes FROM batch GROUP BY ALL""",
    "queues": """SELECT link, element, sum(queue_packets)::DOUBLE AS total, count(*) AS samples,
        max(queue_packets) AS most, max(busy_ns)::DOUBLE AS busy, max(at_ns)::DOUBLE AS until
        FROM batch GROUP BY ALL""",
}

_SHOW = {
    "truth": """WITH halves AS (
            SELECT flow, side, format('{}:{} → {}:{}', src, src_port, dst, dst_port) AS pair,
                "limit", sum(ns) AS ns, max(flight) AS flight
            FROM held_truth GROUP BY ALL
        ), shares AS (
            SELECT *, ns / sum(ns) OVER half AS share, max(flight) OVER half AS most
            FROM halves WINDOW half AS (PARTITION BY flow, side)
        )
        SELECT flow, pair, array_agg(("limit", share) ORDER BY share DESC, "limit")
        FROM shares WHERE most > 0 GROUP BY flow, side, pair ORDER BY flow, side DESC""",
    "events": """SELECT link, action, reason, flow, sum(packets)::BIGINT, sum(bytes)::BIGINT
        FROM held_events GROUP BY ALL ORDER BY 5 DESC, 1, 2, 3, 4""",
    "queues": """SELECT link, sum(total) / sum(samples), max(most), max(busy) / max(until)
        FROM held_queues GROUP BY link, element HAVING max(busy) > 0 ORDER BY 4 DESC, link""",
}

_NAMES = {
    "truth": ("flow", "sender → receiver", "what limits the sender, by its share of time"),
    "events": ("link", "what", "why", "flow", "packets", "bytes"),
    "queues": ("link", "packets waiting: mean", "most", "busy"),
}


class Summary:
    """Sums the tables of a simulation up, batch by batch."""

    tables = tuple(_GATHER)

    def __init__(self, connection: "duckdb.DuckDBPyConnection") -> None:
        self._connection = connection
        self._held: set[str] = set()

    def add(self, table: str) -> None:
        """Take the batch of a table that the connection knows as `batch`."""
        verb = (
            f"INSERT INTO held_{table}" if table in self._held else f"CREATE TABLE held_{table} AS"
        )
        self._connection.execute(f"{verb} {_GATHER[table]}")
        self._held.add(table)

    def lines(self, limit: int) -> Iterator[str]:
        """Give the lines of the view."""
        for table in (name for name in _SHOW if name in self._held):
            rows = self._connection.execute(_SHOW[table]).fetchall()
            if table == "truth":
                rows = [(flow, pair, _shares(shares)) for flow, pair, shares in rows]
            elif table == "events":
                rows = [(*row[:5], as_bytes(row[5])) for row in rows]
            else:
                rows = [
                    (link, f"{mean:.1f}", most, as_share(busy)) for link, mean, most, busy in rows
                ]
            yield from grid(_NAMES[table], rows, limit)
            yield ""


def _shares(shares: list[tuple[str, float]]) -> str:
    return ", ".join(f"{name} {as_share(share)}" for name, share in shares if share >= 0.001)
