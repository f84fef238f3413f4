"""Two ranges of time beside each other: what limited, how fast it went, who changed most."""

import math
from typing import Any

from tcpwhy.report.distributions import BINS_PER_DECADE
from tcpwhy.web.overview import QUANTITIES, Range, counts, histogram, medians, sums
from tcpwhy.web.reader import Reader
from tcpwhy.web.rollup import Rollup

MOVERS = 12

HEAVY = 500
"""Senders that are looked at, those with most bytes: a million medians do not fit into memory."""

LEAST_DIRECTIONS = 3
"""Of a host in each range; below, a median says nothing."""


def compare(reader: Reader, rollup: Rollup, one: Range, other: Range) -> dict[str, Any]:
    """Compare two ranges."""
    return {
        "sides": [_side(reader, rollup, span) for span in (one, other)],
        "movers": _movers(reader, one, other),
    }


def _side(reader: Reader, rollup: Rollup, span: Range) -> dict[str, Any]:
    bins = {name: histogram(reader, name, span) for name in QUANTITIES}
    return {
        "from_ms": span.begin_ns // 10**6,
        "to_ms": span.end_ns // 10**6,
        "counts": counts(reader, span) | medians(bins),
        "shares": sums(reader, rollup, span).shares,
        "distributions": {name: _cumulated(found) for name, found in bins.items()},
    }


def _cumulated(bins: list[tuple[float, int]]) -> list[tuple[float, float]]:
    """Give a cumulative distribution, a point for each of the wider bins of a chart."""
    total = sum(n for _, n in bins)
    points: dict[float, float] = {}
    seen = 0
    for value, n in bins:
        seen += n
        points[10 ** (math.ceil(math.log10(value) * BINS_PER_DECADE) / BINS_PER_DECADE)] = seen
    return [(value, below / total) for value, below in points.items()]


def _movers(reader: Reader, one: Range, other: Range) -> list[dict[str, Any]]:
    """Find the senders whose median throughput changed most, heavy ones first."""

    def side(span: Range) -> str:
        return f"""SELECT src, count(*) AS n, sum(unique_bytes) AS size,
            approx_quantile(throughput_bps, 0.5) AS rate, mode(limitation) AS word
            FROM flows SEMI JOIN heavy USING (src)
            WHERE {span.where} AND data_packets > 0 AND throughput_bps > 0
            GROUP BY src HAVING count(*) >= {LEAST_DIRECTIONS}"""

    return reader.ask(
        f"""WITH heavy AS (
            SELECT src FROM flows WHERE (({one.where}) OR ({other.where})) AND data_packets > 0
            GROUP BY src ORDER BY sum(unique_bytes) DESC, src LIMIT {HEAVY}
        )
        SELECT src, a.n AS n_a, b.n AS n_b, a.rate AS rate_a, b.rate AS rate_b,
            a.word AS limitation_a, b.word AS limitation_b, (a.size + b.size)::BIGINT AS bytes
        FROM ({side(one)}) a JOIN ({side(other)}) b USING (src)
        ORDER BY abs(ln(b.rate / a.rate)) * ln(1 + a.size + b.size) DESC, src LIMIT {MOVERS}"""
    )
