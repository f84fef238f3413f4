"""Where loss and delay arise: one connection, captured at two points of its path.

The clocks of the two points need not agree. A packet that both saw gives the time from one to the
other plus the difference of the clocks. One of the other direction gives the time less it. If the
least times of both directions are equal, half the difference of the two is the clocks'; how wrong
that can be is half their sum (RFC 5905 section 8). Variation above the least time is free of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tcpwhy._core import InputError

if TYPE_CHECKING:
    import duckdb

FEWEST = 10
"""Packets that both points saw, in each direction, for times to be compared."""
DRIFT_SPAN_NS = 10**10
"""A shorter connection says nothing of how fast two clocks part: 1 ppm is 10 us in 10 s."""


class Clocks(NamedTuple):
    """How the clock of the point near the responder differs from that near the originator."""

    offset_ns: int
    """It is ahead by so much."""
    error_ns: int
    """The offset is right within this, if no packet is faster than any that was seen."""
    drift_ppm: float | None
    """It gains so many microseconds a second; `None` for a connection shorter than 10 s."""


@dataclass(frozen=True, kw_only=True)
class Between:
    """One direction: its packets, and where they were lost or held up."""

    direction: str
    """`orig` or `resp`."""
    sent: int
    """Data packets that came to the first point on their way."""
    lost_between: int
    """Seen at the first point and never at the second one."""
    lost_beyond: int
    """Seen at both, and sent again all the same, for a loss farther on."""
    lost_before: int
    """Seen at the second point only as sent again, and at the first one only so, too."""
    unseen: int
    """Seen at the second point only: another path, or a capture that missed them."""
    delay_variation_p50_ns: int | None
    """Time between the points above the least one: half of the packets took no more."""
    delay_variation_p95_ns: int | None
    delay_variation_max_ns: int | None
    rtt_variation_p95_ns: int | None
    """The same of the whole round trip, as the first point's tables have it."""

    @property
    def loss_place(self) -> str | None:
        """Where most of its losses were: before, between or beyond; `None` without any."""
        found = {
            "before": self.lost_before,
            "between": self.lost_between,
            "beyond": self.lost_beyond,
        }
        place = max(found, key=lambda name: found[name])
        return place if found[place] else None

    @property
    def delay_share(self) -> float | None:
        """The part of the round trip's variation that arises between the points."""
        if not self.rtt_variation_p95_ns or self.delay_variation_p95_ns is None:
            return None
        return min(1.0, self.delay_variation_p95_ns / self.rtt_variation_p95_ns)


def compare(near: Any, far: Any, *, mss_bytes: int) -> tuple[Clocks | None, list[Between]]:
    """Compare the segments of one connection at two points.

    Args:
        near: rows of the `segments` table at the point nearer to the originator, as Arrow.
        far: the same at the other point.
        mss_bytes: payload of a full segment; longer ones are several packets.

    Returns:
        The clocks, `None` where too few packets were seen twice, and a row for each direction.

    """
    import duckdb

    with duckdb.connect() as connection:
        connection.register("a", near)
        connection.register("b", far)
        sql = Path(__file__).with_name("between.sql").read_text("utf-8")
        connection.execute(sql.replace("$mss", str(int(mss_bytes))))
        if not connection.execute("SELECT count(*) FROM certain").fetchall()[0][0]:
            raise InputError("the two captures have no packet of this connection in common")
        clocks = _clocks(connection)
        rows = [_direction(connection, direction) for direction in ("orig", "resp")]
    return clocks, [row for row in rows if row.sent or row.unseen]


def _clocks(connection: duckdb.DuckDBPyConnection) -> Clocks | None:
    least = {
        direction: (fewest, time)
        for direction, fewest, time in connection.execute(
            "SELECT direction, count(*), min(CASE direction WHEN 'orig' THEN apart_ns"
            " ELSE -apart_ns END) FROM certain GROUP BY direction"
        ).fetchall()
    }
    if any(least.get(way, (0, 0))[0] < FEWEST for way in ("orig", "resp")):
        return None
    there, back = least["orig"][1], least["resp"][1]
    return Clocks((there - back) // 2, abs(there + back) // 2, _drift(connection))


def _drift(connection: duckdb.DuckDBPyConnection) -> float | None:
    """Fit a line through the least times of ten parts of the connection, in both directions."""
    rows = connection.execute(
        "WITH bounds AS (SELECT min(a_ns) AS first, max(a_ns) - min(a_ns) AS span FROM certain),"
        " parts AS (SELECT direction, least(9, (a_ns - first) * 10 // greatest(span, 1)) AS part,"
        " arg_min(a_ns - first, CASE direction WHEN 'orig' THEN apart_ns ELSE -apart_ns END)"
        " AS moment_ns,"
        " CASE direction WHEN 'orig' THEN min(apart_ns) ELSE max(apart_ns) END AS apart"
        " FROM certain, bounds GROUP BY direction, part)"
        " SELECT direction, regr_slope(apart, moment_ns) * 1e6, (SELECT span FROM bounds)"
        " FROM parts GROUP BY direction"
    ).fetchall()
    slopes = [slope for _, slope, span in rows if slope is not None and span >= DRIFT_SPAN_NS]
    return sum(slopes) / len(slopes) if len(slopes) == 2 else None


def _direction(connection: duckdb.DuckDBPyConnection, direction: str) -> Between:
    first, second = ("a", "b") if direction == "orig" else ("b", "a")
    sent, between, unseen = connection.execute(
        f"SELECT count({first}_ns), count(*) FILTER ({second}_ns IS NULL),"
        f" count(*) FILTER ({first}_ns IS NULL)"
        " FROM met WHERE direction = $1 AND sort = 'data'",
        [direction],
    ).fetchall()[0]
    before, beyond = connection.execute(
        # What is sent again was lost: before, if its first copy came to neither point; beyond, if
        # an earlier copy had passed both.
        "WITH again AS ("
        f" SELECT start, min({first}_ns) AS first_ns,"
        f" count({first}_ns) AS copies, count(*) FILTER ({second}_ns IS NOT NULL) AS passed,"
        " bool_or(kind IN ('retransmission', 'fast', 'rto', 'tlp')) AS resent"
        " FROM met WHERE direction = $1 AND sort = 'data' GROUP BY start)"
        " SELECT count(*) FILTER (resent AND copies = 1),"
        " coalesce(sum(passed - 1) FILTER (passed > 1), 0) FROM again",
        [direction],
    ).fetchall()[0]
    sign = "" if direction == "orig" else "-"
    p50, p95, most, seen = connection.execute(
        f"SELECT quantile_cont(d - least, 0.5), quantile_cont(d - least, 0.95), max(d - least),"
        f" count(*) FROM (SELECT {sign}(b_ns - a_ns) AS d,"
        f" min({sign}(b_ns - a_ns)) OVER () AS least"
        " FROM met WHERE direction = $1 AND a_ns IS NOT NULL AND b_ns IS NOT NULL)",
        [direction],
    ).fetchall()[0]
    enough = seen >= FEWEST
    (rtt,) = connection.execute(
        f"SELECT quantile_cont(srtt_ns, 0.95) - min(srtt_ns) FROM {first} WHERE direction = $1",
        [direction],
    ).fetchall()[0]
    return Between(
        direction=direction,
        sent=sent,
        lost_between=between,
        lost_beyond=int(beyond),
        lost_before=before,
        unseen=unseen,
        delay_variation_p50_ns=int(p50) if enough else None,
        delay_variation_p95_ns=int(p95) if enough else None,
        delay_variation_max_ns=int(most) if enough else None,
        rtt_variation_p95_ns=None if rtt is None else int(rtt),
    )
