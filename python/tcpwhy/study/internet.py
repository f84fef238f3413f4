"""The case study of the IM 2021 paper (S. Bauer and others), for the data at hand.

They are its Table I, packets per flow, distributions of capacity, throughput and the four scores
by class of port. The share of each root cause is by the paper's own tree.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from tcpwhy.report.distributions import BINS_PER_DECADE, SCORES, Point
from tcpwhy.units import as_share

if TYPE_CHECKING:
    import duckdb

PERCENTILES = (50, 75, 90, 95, 97, 99, 99.9)
"""Of packets per flow; the paper has the 97th and the 99th."""

LEAST_PACKETS = 300
"""Data packets from which the paper analyses a flow."""

CLASSES = ("port 80", "port 443", "other well-known ports", "ports above 1024")
"""Classes of ports of services; the paper leaves the last one out of its figures."""

CAUSES = {
    "shared_bottleneck": 0.351,
    "receiver_window": 0.321,
    "transport": 0.122,
    "unshared_bottleneck": 0.053,
    "mixed": 0.151,
    "application": None,
}
"""Answers of the paper's tree, with their shares of the intervals in the paper."""


class Trace(NamedTuple):
    """A row of the paper's Table I."""

    begin_ns: int | None
    end_ns: int | None
    rate_bps: float | None
    packets: int
    flows: int


class Port(NamedTuple):
    """A class of ports."""

    name: str
    flows: int
    share: float


class Cause(NamedTuple):
    """How often the paper's tree gives an answer."""

    limitation: str
    intervals: int
    share: float
    paper: float | None


class Check(NamedTuple):
    """A number of the paper's text beside the one of the data at hand."""

    what: str
    here: str
    paper: str


class Study(NamedTuple):
    """The case study."""

    trace: Trace
    percentiles: dict[float, float]
    """Packets per flow, both directions."""
    relevant: float | None
    """Share of the flows with more data packets than the least that is analysed."""
    with_capacity: int
    ports: list[Port]
    causes: list[Cause]
    checks: list[Check]
    distributions: dict[str, tuple[str, str, list[Point]]]
    """By name: title, unit, points by class of port."""


_PORT = "CASE direction WHEN 'orig' THEN dst_port ELSE src_port END"
_CLASS = f"""CASE WHEN {_PORT} = 80 THEN '{CLASSES[0]}' WHEN {_PORT} = 443 THEN '{CLASSES[1]}'
    WHEN {_PORT} <= 1024 THEN '{CLASSES[2]}' ELSE '{CLASSES[3]}' END"""


def study(connection: "duckdb.DuckDBPyConnection", counters: Mapping[str, int]) -> Study:
    """Compute the case study from the tables `flows` and `intervals`."""
    percentiles = _percentiles(connection)
    return Study(
        trace=_trace(connection, counters),
        percentiles=percentiles,
        relevant=_relevant(connection),
        with_capacity=_one(
            connection,
            "SELECT count(DISTINCT flow_id) FROM flows"
            " WHERE capacity_bps IS NOT NULL AND handshake_seen",
        ),
        ports=_ports(connection),
        causes=_causes(connection),
        checks=[*_checks(connection)],
        distributions=_distributions(connection),
    )


def _trace(connection: "duckdb.DuckDBPyConnection", counters: Mapping[str, int]) -> Trace:
    query = """SELECT min(start_ns), max(end_ns),
            sum(wire_bytes) * 8e9 / nullif(max(end_ns) - min(start_ns), 0),
            coalesce(sum(packets), 0)::UBIGINT, count(DISTINCT flow_id) FROM flows"""
    begin, end, rate, packets, flows = connection.execute(query).fetchall()[0]
    # Flows without a row, of SYNs alone, are counted too.
    return Trace(begin, end, rate, packets, max(flows, counters.get("flows", 0)))


def _percentiles(connection: "duckdb.DuckDBPyConnection") -> dict[float, float]:
    points = ", ".join(str(point / 100) for point in PERCENTILES)
    query = f"""SELECT quantile_cont(packets, [{points}]) FROM
        (SELECT sum(packets) AS packets FROM flows GROUP BY flow_id)"""
    found = _one(connection, query)
    return dict(zip(PERCENTILES, found, strict=True)) if found else {}


def _relevant(connection: "duckdb.DuckDBPyConnection") -> float | None:
    query = f"""SELECT avg((packets > {LEAST_PACKETS})::INTEGER) FROM
        (SELECT sum(data_packets) AS packets FROM flows GROUP BY flow_id)"""
    found: float | None = _one(connection, query)
    return found


def _ports(connection: "duckdb.DuckDBPyConnection") -> list[Port]:
    query = f"""SELECT {_CLASS} AS class, count(DISTINCT flow_id) AS n,
            n / sum(n) OVER () FROM flows GROUP BY 1"""
    found = {row[0]: Port(*row) for row in connection.execute(query).fetchall()}
    return [found[name] for name in CLASSES if name in found]


def _causes(connection: "duckdb.DuckDBPyConnection") -> list[Cause]:
    query = """SELECT limitation_siekkinen, count(*) AS n, n / sum(n) OVER () FROM intervals
        WHERE limitation_siekkinen IS NOT NULL GROUP BY 1"""
    found = {name: (n, share) for name, n, share in connection.execute(query).fetchall()}
    causes = []
    for name, paper in CAUSES.items():
        intervals, share = found.get(name, (0, 0.0))
        causes.append(Cause(name, intervals, share, paper))
    return causes


def _checks(connection: "duckdb.DuckDBPyConnection") -> Iterator[Check]:
    """Set the numbers of the paper's text beside those of the data."""
    for what, table, condition, known, paper in _QUOTED:
        query = f"""SELECT count(*) FILTER ({condition}) / nullif(count(*), 0)
            FROM (SELECT *, {_PORT} AS port FROM {table}) WHERE {known}"""
        share = _one(connection, query)
        yield Check(what, "–" if share is None else as_share(share), paper)
    query = """SELECT count(*) / nullif(count(DISTINCT flow_id), 0) FROM intervals
        WHERE capacity_bps IS NOT NULL AND dispersion_score IS NOT NULL"""
    vectors = _one(connection, query)
    name = "results per flow with a capacity"
    yield Check(name, "–" if vectors is None else f"{vectors:.1f}", "about 8")


_QUOTED = (
    ("capacities below 2 Gbit/s", "flows", "capacity_bps < 2e9", "capacity_bps > 0", "50 %"),
    (
        "intervals below 10 Mbit/s",
        "intervals",
        "throughput_bps < 1e7",
        "throughput_bps > 0",
        "over 60 %",
    ),
    (
        "intervals below 100 Mbit/s",
        "intervals",
        "throughput_bps < 1e8",
        "throughput_bps > 0",
        "over 90 %",
    ),
    (
        "dispersion below 0.8",
        "intervals",
        "dispersion_score < 0.8",
        "dispersion_score IS NOT NULL",
        "less than 5 %",
    ),
    (
        "retransmission 0, port 80",
        "intervals",
        "retransmission_score = 0",
        "retransmission_score IS NOT NULL AND port = 80",
        "60 %",
    ),
    (
        "retransmission 0, other well-known ports",
        "intervals",
        "retransmission_score = 0",
        "retransmission_score IS NOT NULL AND port <= 1024 AND port NOT IN (80, 443)",
        "80 %",
    ),
    (
        "receiver window 0",
        "intervals",
        "rwnd_score = 0",
        "rwnd_score IS NOT NULL",
        "20 % to 30 %",
    ),
    (
        "receiver window 1",
        "intervals",
        "rwnd_score = 1",
        "rwnd_score IS NOT NULL",
        "50 % to 60 %",
    ),
    (
        "burstiness above -1000, prototype's scale",
        "intervals",
        # What -1000 is on the scale of the formula as it was meant: crates/core/src/verdict.rs.
        "coalesce(burstiness_seed > -1000, burstiness_score > 0.914)",
        "burstiness_score IS NOT NULL",
        "over 75 %",
    ),
)
"""What the paper says, the table and condition of it, among which rows, the paper's number."""


def _distributions(
    connection: "duckdb.DuckDBPyConnection",
) -> dict[str, tuple[str, str, list[Point]]]:
    found = {
        "capacity": ("Capacity", "bit/s", _logarithmic(connection, "flows", "capacity_bps")),
        "throughput": (
            "Throughput of intervals",
            "bit/s",
            _logarithmic(connection, "intervals", "throughput_bps"),
        ),
    }
    for column, name in SCORES.items():
        title = f"{name.capitalize()} score"
        found[column] = (title, "", _score(connection, column))
    # The published prototype's formulas, where the rows have them (`--compat seed`).
    title = "Retransmission score, prototype's formula"
    found["retransmission_seed"] = (title, "", _score(connection, "retransmission_seed"))
    # It reaches down to -10^7: its distance from 1 is on a logarithmic axis.
    points = _logarithmic(connection, "intervals", "1 - burstiness_seed")
    found["burstiness_seed"] = ("1 - burstiness score", "prototype's formula", points)
    return found


def _logarithmic(connection: "duckdb.DuckDBPyConnection", table: str, column: str) -> list[Point]:
    value = f"10 ** (ceil(log10({column}) * {BINS_PER_DECADE}) / {BINS_PER_DECADE})"
    return _cumulative(connection, table, value, f"({column}) > 0")


def _score(connection: "duckdb.DuckDBPyConnection", column: str) -> list[Point]:
    """Cut at -1, below which only dispersion and burstiness reach: the shape is above it."""
    value = f"greatest(-1, least(1, ceil({column} * 100) / 100))"
    return _cumulative(connection, "intervals", value, f"{column} IS NOT NULL")


def _cumulative(
    connection: "duckdb.DuckDBPyConnection", table: str, value: str, where: str
) -> list[Point]:
    query = f"""WITH bins AS (
            SELECT {_CLASS} AS class, {value} AS value, count(*) AS n
            FROM {table} WHERE {where} GROUP BY ALL
        )
        SELECT class, value, sum(n) OVER (PARTITION BY class ORDER BY value)
            / sum(n) OVER (PARTITION BY class) FROM bins ORDER BY class, value"""
    rows = connection.execute(query).fetchall()
    order = {name: at for at, name in enumerate(CLASSES)}
    return sorted((Point(*row) for row in rows), key=lambda point: order[point.series])


def _one(connection: "duckdb.DuckDBPyConnection", query: str) -> Any:
    return connection.execute(query).fetchall()[0][0]
