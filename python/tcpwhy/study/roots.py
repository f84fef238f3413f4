"""Root causes by the paper's method and by this tool's own, and how long applications idle.

The paper counts intervals of bulk transfer of flows with a handshake, more than 300 data packets
and an estimate of the capacity. Its own formulas are those of the published prototype
(`--compat seed`); `limitation_siekkinen` has the same tree with the formulas as they were meant.
"""

from typing import TYPE_CHECKING, NamedTuple

from tcpwhy import vocabulary
from tcpwhy.study.internet import CAUSES, LEAST_PACKETS

if TYPE_CHECKING:
    import duckdb

POINTS = (50, 75, 90, 95, 99)
"""Percentiles of the share of the time in which an application had nothing to send."""

NO_VERDICT = "none"


class Root(NamedTuple):
    """How often an answer is given; `None` where nothing was counted, or by no such method."""

    limitation: str
    paper: float | None
    """Share of the paper's intervals."""
    tree: float | None
    """Share by the paper's tree, of the intervals that the paper counts."""
    seed: float | None
    """The same with the formulas of the published prototype."""
    ours: float | None
    """Share by this tool's own diagnosis, of the same intervals."""
    every: float | None
    """Share by this tool's own diagnosis, of all intervals with data."""
    time: float | None
    """The same, by time."""
    size: float | None
    """The same, by bytes."""


class Idle(NamedTuple):
    """Shares of the time in which applications had nothing to send."""

    method: str
    directions: int
    """With more than 300 data packets."""
    points: dict[int, float]
    """By percentile."""
    none: float | None
    """Share of the directions without any such time, to 1 %."""


def roots(connection: "duckdb.DuckDBPyConnection") -> tuple[int, int, list[Root]]:
    """Count answers in the tables `flows` and `intervals`.

    Returns:
        How many intervals the paper would count, how many have data, and a row for each answer.

    """
    connection.execute(f"CREATE OR REPLACE TEMP VIEW counted AS {_COUNTED}")
    every = "SELECT * FROM intervals WHERE data_packets > 0"
    shares = {
        "tree": _shares(connection, "limitation_siekkinen", "FROM counted"),
        "seed": _shares(connection, _SEED_TREE, "FROM counted"),
        "ours": _shares(connection, "limitation", "FROM counted"),
        "every": _shares(connection, "limitation", every),
        "time": _shares(connection, "limitation", every, "greatest(end_ns - start_ns, 1)"),
        "size": _shares(connection, "limitation", every, "unique_bytes"),
    }
    words = dict.fromkeys((*CAUSES, *(one.word for one in vocabulary.limitations()), NO_VERDICT))
    found = [
        Root(word, CAUSES.get(word), *(_share(shares[name], word) for name in Root._fields[2:]))
        for word in words
    ]
    counts = [
        connection.execute(f"SELECT count(*) FROM ({query})").fetchall()[0][0]
        for query in ("FROM counted", every)
    ]
    shown = [root for root in found if root.paper is not None or any(root[2:])]
    return counts[0], counts[1], shown


def idle(connection: "duckdb.DuckDBPyConnection") -> list[Idle]:
    """Say for how long the applications of large directions had nothing to send."""
    found = []
    for method, query in (("paper: time in ALPs", _ALP), ("tcpwhy: share_application", _OURS)):
        points = ", ".join(str(point / 100) for point in POINTS)
        count, quantiles, none = connection.execute(
            f"SELECT count(*), quantile_cont(share, [{points}]), avg((share < 0.01)::INTEGER)"
            f" FROM ({query}) WHERE share IS NOT NULL"
        ).fetchall()[0]
        by_point = dict(zip(POINTS, quantiles, strict=True)) if quantiles else {}
        found.append(Idle(method, count, by_point, none))
    return found


def _shares(
    connection: "duckdb.DuckDBPyConnection", answer: str, rows: str, weight: str = "1"
) -> dict[str, float]:
    query = f"""SELECT coalesce({answer}, '{NO_VERDICT}'),
            sum({weight})::DOUBLE / nullif(sum(sum({weight})::DOUBLE) OVER (), 0)
        FROM ({rows}) GROUP BY 1"""
    return {name: share for name, share in connection.execute(query).fetchall() if share}


def _share(shares: dict[str, float], word: str) -> float | None:
    return shares.get(word, 0.0) if shares else None


_COUNTED = f"""SELECT intervals.* FROM intervals JOIN (
        SELECT flow_id, bool_or(handshake_seen) AS seen, sum(data_packets) AS packets
        FROM flows GROUP BY flow_id
    ) AS whole USING (flow_id)
    WHERE seen AND whole.packets > {LEAST_PACKETS} AND dispersion_score IS NOT NULL
        AND limitation_siekkinen IS NOT NULL AND limitation_siekkinen <> 'application'"""

_SEED_TREE = """CASE WHEN dispersion_score < 0.2 THEN 'unshared_bottleneck'
    WHEN retransmission_seed > 0.01 THEN 'shared_bottleneck'
    WHEN rwnd_score IS NULL THEN NULL
    WHEN rwnd_score > 0.5 AND burstiness_seed <= -1000 THEN 'shared_bottleneck'
    WHEN rwnd_score > 0.5 THEN 'receiver_window'
    WHEN rwnd_score = 0 AND retransmission_seed = 0 THEN 'transport' ELSE 'mixed' END"""
"""Figure 3 with the paper's thresholds, section IV.C.4; the window's score counts packets only."""

_LARGE = f"SELECT * FROM flows WHERE data_packets > {LEAST_PACKETS} AND end_ns > start_ns"

_ALP = f"""SELECT least(1, coalesce(sum(alp.end_ns - alp.start_ns), 0)
        / any_value(large.end_ns - large.start_ns)) AS share
    FROM ({_LARGE}) AS large LEFT JOIN (FROM periods WHERE kind = 'ALP') AS alp
        USING (flow_id, direction) GROUP BY flow_id, direction"""

_OURS = f"SELECT share_application AS share FROM ({_LARGE})"
