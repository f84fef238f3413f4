"""Distributions as cumulative shares, from histograms: a sort of millions is not needed."""

from typing import NamedTuple

from tcpwhy.report.source import Source

BINS_PER_DECADE = 20
"""Of a logarithmic histogram: a bin is 12 % wide."""

QUANTITIES = {
    "throughput_bps": ("Throughput", "bit/s"),
    "rtt_mean_ns": ("Mean round-trip time", "ms"),
    "capacity_bps": ("Capacity of the path", "bit/s"),
}
"""Columns of `flows` with a distribution, each with its title and unit on the axis."""

SCORES = {
    "dispersion_score": "dispersion",
    "retransmission_score": "retransmission",
    "rwnd_score": "receiver window",
    "burstiness_score": "burstiness",
}
"""The paper's four scores."""


class Point(NamedTuple):
    """A point of a cumulative distribution."""

    series: str
    value: float
    share: float
    """Of all with at most this value."""


def of_quantity(source: Source, column: str, *, where: str = "data_packets > 0") -> list[Point]:
    """Give the distribution over directions, and over their bytes; from `flows`."""
    scale = 1e-6 if column.endswith("_ns") else 1
    query = f"""WITH bins AS (
            SELECT ceil(log10({column} * {scale}) * {BINS_PER_DECADE}) AS bin, count(*) AS n,
                sum(unique_bytes)::DOUBLE AS size
            FROM flows WHERE {column} > 0 AND {where} GROUP BY 1
        )
        SELECT 10 ** (bin / {BINS_PER_DECADE}), sum(n) OVER w / sum(n) OVER (),
            sum(size) OVER w / nullif(sum(size) OVER (), 0)
        FROM bins WINDOW w AS (ORDER BY bin) ORDER BY bin"""
    points = []
    for value, count, size in source.connection.execute(query).fetchall():
        points.append(Point("of directions", value, count))
        if size is not None:
            points.append(Point("of bytes", value, size))
    return points


def of_scores(source: Source) -> list[Point]:
    """Give the distributions of the scores over intervals, from -1 to 1 in steps of 0.01."""
    points = []
    for column, name in SCORES.items():
        query = f"""WITH bins AS (
                SELECT greatest(-100, least(100, ceil({column} * 100))) AS bin, count(*) AS n
                FROM intervals WHERE {column} IS NOT NULL GROUP BY 1
            )
            SELECT bin / 100, sum(n) OVER (ORDER BY bin) / sum(n) OVER () FROM bins ORDER BY bin"""
        rows = source.connection.execute(query).fetchall()
        points += [Point(name, value, share) for value, share in rows]
    return points


class Bar(NamedTuple):
    """Bytes that a limitation accounts for in a bin of time."""

    begin_ns: int
    end_ns: int
    limitation: str
    rate_bps: float


COLUMNS = 120
"""Bins of a time axis at most."""

STEPS_S = (3, 6, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 43200, 86400, 7 * 86400)
"""Widths of a bin that a person can read."""


def over_time(source: Source) -> list[Bar]:
    """Give the goodput of the intervals by limitation over time."""
    query = """SELECT min(start_ns), max(end_ns) FROM intervals WHERE data_packets > 0"""
    begin, end = source.connection.execute(query).fetchall()[0]
    if begin is None or end <= begin:
        return []
    step = step_ns(end - begin)
    query = f"""SELECT (start_ns // {step}) * {step} AS at, coalesce(limitation, 'none'),
            sum(unique_bytes) * 8e9 / {step}
        FROM intervals WHERE unique_bytes > 0 GROUP BY ALL ORDER BY 1, 2"""
    rows = source.connection.execute(query).fetchall()
    return [Bar(at, at + step, limitation, rate) for at, limitation, rate in rows]


def step_ns(length_ns: int, columns: int = COLUMNS) -> int:
    """Choose the width of a bin, so that there are not more than `columns`."""
    fits = (step for step in STEPS_S if step * 10**9 * columns >= length_ns)
    return next(fits, -(-length_ns // columns // (86400 * 10**9)) * 86400) * 10**9
