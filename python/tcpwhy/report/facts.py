"""The numbers of a report, each by one question to the tables."""

from typing import TYPE_CHECKING, Any, NamedTuple

from tcpwhy import vocabulary
from tcpwhy.report.source import Source
from tcpwhy.terminal.overview import LEAST_GAIN, endpoint

if TYPE_CHECKING:
    import duckdb

LISTED = 12
"""Rows of a list of connections or of hosts."""


class Span(NamedTuple):
    """What was seen."""

    begin_ns: int | None
    end_ns: int | None
    flows: int
    directions: int
    """Directions of connections that moved data."""
    payload_bytes: int
    wire_bytes: int
    judged_flows: int
    judged_bytes: int


class Share(NamedTuple):
    """What a limitation took."""

    limitation: str | None
    cause: str | None
    time_ns: int
    size_bytes: int
    directions: int


class Saving(NamedTuple):
    """What changes would save of the transfers that a limitation held back as a whole."""

    saved_ns: float
    known: int
    """Directions whose gain is predicted."""
    unknown: int
    """Those whose gain nobody can predict."""


class Reason(NamedTuple):
    """Why there is no verdict."""

    text: str
    directions: int
    size_bytes: int


class Gain(NamedTuple):
    """A direction that could go faster."""

    flow_id: int
    direction: str
    src: str
    src_port: int
    dst: str
    dst_port: int
    limitation: str
    cause: str | None
    confidence: str | None
    size_bytes: int
    span_ns: int
    goodput_bps: float
    headroom_bps: float | None
    next_limitation: str | None
    evidence: str | None
    remedy: str
    gain_unknown: str | None

    @property
    def pair(self) -> str:
        """Who sends to whom."""
        return f"{endpoint(self.src, self.src_port)} → {endpoint(self.dst, self.dst_port)}"

    @property
    def times(self) -> float | None:
        """How many times as fast it would be."""
        return None if self.headroom_bps is None else self.headroom_bps / self.goodput_bps

    @property
    def saved_ns(self) -> float | None:
        """How much sooner it would have been over."""
        return None if self.times is None else self.span_ns * (1 - 1 / self.times)

    @property
    def no_gain(self) -> str | None:
        """Why the gain is not known."""
        return vocabulary.meaning("gain_unknown", self.gain_unknown)


class Talker(NamedTuple):
    """A host that sends, or a service."""

    name: str
    connections: int
    size_bytes: int
    share: float
    limitation: str | None
    """What limited most of its time."""
    limited_share: float
    """Of its time."""


def span(source: Source) -> Span:
    """Count what was seen."""
    row = _one(
        source.connection,
        """SELECT min(start_ns), max(end_ns), count(DISTINCT flow_id),
            count(*) FILTER (data_packets > 0), coalesce(sum(payload_bytes), 0)::UBIGINT,
            coalesce(sum(wire_bytes), 0)::UBIGINT,
            count(DISTINCT flow_id) FILTER (limitation IS NOT NULL),
            coalesce(sum(payload_bytes) FILTER (limitation IS NOT NULL), 0)::UBIGINT FROM flows""",
    )
    return Span(*row)


def counters(source: Source) -> dict[str, int]:
    """Give what was counted, by name; what is 0 is left out."""
    query = """SELECT name, sum(value)::UBIGINT FROM counters GROUP BY name
        HAVING sum(value) > 0 ORDER BY name"""
    return dict(source.connection.execute(query).fetchall())


def shares(source: Source) -> list[Share]:
    """Add up time and bytes by limitation and cause, the most time first.

    Interval by interval, so that a connection with several limits counts for each; a source
    without intervals has the verdicts of whole directions.
    """
    (rows,) = _one(source.connection, "SELECT count(*) FROM intervals")
    table = "intervals" if rows else "flows"
    query = f"""SELECT limitation, cause, sum(end_ns - start_ns)::BIGINT,
            sum(unique_bytes)::UBIGINT, count(DISTINCT (flow_id, direction))
        FROM {table} WHERE data_packets > 0 OR limitation IS NOT NULL
        GROUP BY ALL ORDER BY 3 DESC, 1, 2"""
    return [Share(*row) for row in source.connection.execute(query).fetchall()]


def confidence(source: Source) -> dict[str, int]:
    """Give the bytes of directions with a verdict, by confidence."""
    query = """SELECT confidence, sum(unique_bytes)::UBIGINT FROM flows
        WHERE limitation IS NOT NULL AND confidence IS NOT NULL GROUP BY 1"""
    found = dict(source.connection.execute(query).fetchall())
    return {level: found[level] for level in ("high", "medium", "low") if found.get(level)}


def reasons(source: Source) -> list[Reason]:
    """Say why directions have no verdict, the most bytes first."""
    query = """SELECT CASE WHEN data_packets = 0 THEN 'no data was sent in this direction'
                ELSE coalesce(null_reason, 'no reason is given') END,
            count(*), sum(unique_bytes)::UBIGINT
        FROM flows WHERE limitation IS NULL GROUP BY 1 ORDER BY 3 DESC, 2 DESC"""
    return [Reason(*row) for row in source.connection.execute(query).fetchall()]


def gains(source: Source, most: int = LISTED) -> list[Gain]:
    """Find the directions that would gain most time, then those whose gain is not known."""
    query = f"""SELECT flow_id, direction, src, src_port, dst, dst_port, limitation, cause,
            confidence, unique_bytes,
            (payload_bytes * 8e9 / throughput_bps)::BIGINT AS span_ns, goodput_bps, headroom_bps,
            next_limitation, evidence, remedy, gain_unknown
        FROM flows
        WHERE limitation <> 'application' AND remedy IS NOT NULL AND goodput_bps > 0
            AND throughput_bps > 0
            AND (headroom_bps IS NULL OR headroom_bps > {LEAST_GAIN} * goodput_bps)
        ORDER BY coalesce(1 - goodput_bps / headroom_bps, 0) * span_ns DESC,
            unique_bytes::DOUBLE * span_ns DESC, flow_id LIMIT {most}"""
    return [Gain(*row) for row in source.connection.execute(query).fetchall()]


def savings(source: Source) -> dict[tuple[str, str | None], Saving]:
    """Add up the time that changes would save, by limitation and cause of whole directions."""
    query = f"""SELECT limitation, cause,
            coalesce(sum((1 - goodput_bps / headroom_bps) * payload_bytes * 8e9 / throughput_bps)
                FILTER (headroom_bps > {LEAST_GAIN} * goodput_bps), 0),
            count(*) FILTER (headroom_bps > {LEAST_GAIN} * goodput_bps),
            count(*) FILTER (headroom_bps IS NULL)
        FROM flows WHERE limitation <> 'application' AND remedy IS NOT NULL AND goodput_bps > 0
            AND throughput_bps > 0
        GROUP BY ALL"""
    rows = source.connection.execute(query).fetchall()
    return {(word, cause): Saving(*rest) for word, cause, *rest in rows}


def talkers(source: Source, most: int = LISTED) -> list[Talker]:
    """Name the hosts that sent most."""
    return _talkers(source, "src", most)


def services(source: Source, most: int = LISTED) -> list[Talker]:
    """Name the ports of services over which most was sent."""
    port = "CASE direction WHEN 'orig' THEN dst_port ELSE src_port END"
    return _talkers(source, f"({port})::VARCHAR", most)


def _talkers(source: Source, name: str, most: int) -> list[Talker]:
    query = f"""WITH rows AS (
            SELECT {name} AS name, flow_id, limitation, unique_bytes, end_ns - start_ns AS time_ns
            FROM flows WHERE data_packets > 0
        ), hosts AS (
            SELECT name, count(DISTINCT flow_id) AS flows, sum(unique_bytes)::UBIGINT AS size,
                sum(unique_bytes) / nullif(sum(sum(unique_bytes)) OVER (), 0) AS share
            FROM rows GROUP BY name ORDER BY size DESC, name LIMIT {most}
        ), limits AS (
            SELECT name, limitation, sum(time_ns) AS time FROM rows SEMI JOIN hosts USING (name)
            GROUP BY ALL
        )
        SELECT name, any_value(flows), any_value(size), coalesce(any_value(share), 0),
            arg_max(coalesce(limitation, ''), time), coalesce(max(time) / nullif(sum(time), 0), 1)
        FROM hosts JOIN limits USING (name) GROUP BY name ORDER BY 3 DESC, name"""
    rows = source.connection.execute(query).fetchall()
    return [Talker(*row)._replace(limitation=row[4] or None) for row in rows]


def heaviest(source: Source, most: int) -> list[int]:
    """Name the flows that have pages: those with most bytes in most time."""
    query = f"""SELECT flow_id FROM flows WHERE data_packets > 0 GROUP BY flow_id
        ORDER BY max(unique_bytes::DOUBLE * (end_ns - start_ns)) DESC, flow_id LIMIT {most}"""
    return [row[0] for row in source.connection.execute(query).fetchall()]


def _one(connection: "duckdb.DuckDBPyConnection", query: str) -> tuple[Any, ...]:
    return connection.execute(query).fetchall()[0]
