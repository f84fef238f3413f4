"""What limited the link: sums over a range of time, from the rollup or, where it is short, rows."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from tcpwhy.report.distributions import step_ns
from tcpwhy.terminal.overview import LEAST_GAIN
from tcpwhy.web.reader import Reader
from tcpwhy.web.rollup import STEP_NS, Rollup

SHORT_NS = 3600 * 10**9
"""Ranges up to this are read from the rows, so that their edges and steps are exact."""

MOST_ROWS = 2_000_000
"""Of intervals that are read for it; of more, minutes must do."""

COLUMNS = 160
"""Bins of time that a page shows side by side."""

GAINS = 10

NOW_NS = 15 * 10**9
"""How far back a connection counts as one that sends now: some intervals."""

NOW = 8
"""Of them, those that are listed."""


class Range(NamedTuple):
    """From when to when, in ns; the end is not in it."""

    begin_ns: int
    end_ns: int

    @property
    def where(self) -> str:
        """Select rows by their begin, and by the dates of their folders."""
        day = 86400 * 10**9
        first, last = self.begin_ns // day, self.end_ns // day
        return (
            f"start_ns >= {self.begin_ns} AND start_ns < {self.end_ns}"
            f" AND date BETWEEN DATE '1970-01-01' + {first}::INTEGER"
            f" AND DATE '1970-01-01' + {last}::INTEGER"
        )


class Sums(NamedTuple):
    """What limitations took of a range."""

    step_ns: int
    columns: list[tuple[int, str, int, int]]
    """Begin in ns, limitation, time in ns, bytes."""
    shares: list[dict[str, Any]]


def sums(reader: Reader, rollup: Rollup, span: Range) -> Sums:
    """Add up a range by limitation, over time and as a whole."""
    length = span.end_ns - span.begin_ns
    is_exact = length <= SHORT_NS and _rows(rollup, span) <= MOST_ROWS
    step = step_ns(length, COLUMNS)
    if is_exact:
        columns, shares = _of_rows(reader, span, step)
    else:
        step = max(step, STEP_NS)
        columns, shares = _of_rollup(rollup, span, step)
    names = ("limitation", "cause", "time_ns", "bytes", "intervals")
    return Sums(step, columns, [dict(zip(names, row, strict=True)) for row in shares])


def _rows(rollup: Rollup, span: Range) -> int:
    query = "SELECT coalesce(sum(intervals), 0) FROM sums WHERE at_ns >= ? AND at_ns < ?"
    ends = [span.begin_ns - STEP_NS, span.end_ns]
    return int(rollup.ask(query, ends)[0][0])


_GROUPS = """coalesce(limitation, 'none') AS limitation"""


def _of_rollup(
    rollup: Rollup, span: Range, step: int
) -> tuple[list[tuple[int, str, int, int]], list[tuple[Any, ...]]]:
    ends = [span.begin_ns // STEP_NS * STEP_NS, span.end_ns]
    where = "WHERE at_ns >= ? AND at_ns < ?"
    columns = rollup.ask(
        f"""SELECT at_ns // {step} * {step} AS at, {_GROUPS}, sum(time_ns)::BIGINT,
            sum(size_bytes)::BIGINT FROM sums {where} GROUP BY ALL ORDER BY 1""",
        ends,
    )
    shares = rollup.ask(
        f"""SELECT {_GROUPS}, cause, sum(time_ns)::BIGINT, sum(size_bytes)::BIGINT,
            sum(intervals)::BIGINT FROM sums {where} GROUP BY ALL ORDER BY 3 DESC, 1, 2""",
        ends,
    )
    return columns, shares


def _of_rows(
    reader: Reader, span: Range, step: int
) -> tuple[list[tuple[int, str, int, int]], list[tuple[Any, ...]]]:
    query = f"""SELECT start_ns // {step} * {step} AS at, {_GROUPS}, cause,
            sum(end_ns - start_ns)::BIGINT AS time, sum(unique_bytes)::BIGINT AS size, count(*) AS n
        FROM intervals WHERE {span.where} AND (data_packets > 0 OR limitation IS NOT NULL)
        GROUP BY ALL ORDER BY 1"""
    columns: dict[tuple[int, str], tuple[int, int]] = {}
    shares: dict[tuple[str, str | None], tuple[int, int, int]] = {}
    for row in reader.ask(query):
        at, word, cause = row["at"], row["limitation"], row["cause"]
        time, size = columns.get((at, word), (0, 0))
        columns[at, word] = time + row["time"], size + row["size"]
        taken = shares.get((word, cause), (0, 0, 0))
        shares[word, cause] = taken[0] + row["time"], taken[1] + row["size"], taken[2] + row["n"]
    ordered = sorted(shares.items(), key=lambda item: -item[1][0])
    return [(*key, *value) for key, value in columns.items()], [(*k, *v) for k, v in ordered]


def counts(reader: Reader, span: Range) -> dict[str, Any]:
    """Count flows and bytes of a range, and how much of them has a verdict."""
    query = f"""SELECT count(*) FILTER (data_packets > 0) AS directions,
            coalesce(sum(unique_bytes), 0)::BIGINT AS bytes,
            coalesce(sum(unique_bytes) FILTER (limitation IS NOT NULL), 0)::BIGINT AS judged_bytes,
            coalesce(sum(unique_bytes) FILTER (confidence = 'high'), 0)::BIGINT AS sure_bytes
        FROM flows WHERE {span.where}"""
    return reader.ask(_FLOWS.format(where=span.where))[0] | reader.ask(query)[0]


_FLOWS = """SELECT count(*) FILTER (NOT is_second) - count(alone) + count(DISTINCT alone) AS flows
    FROM (
        SELECT is_second, CASE WHEN NOT is_first AND NOT is_second THEN flow_id END AS alone FROM (
            SELECT flow_id, lag(flow_id) OVER () IS NOT DISTINCT FROM flow_id AS is_second,
                lead(flow_id) OVER () IS NOT DISTINCT FROM flow_id AS is_first
            FROM flows WHERE {where}
        )
    )"""
"""Counts flows, which have up to two rows. Nearly all of these are neighbours in a part, so that
few are left to tell apart: a third of the time of `count(DISTINCT flow_id)`."""


FINE = 200
"""Bins of a decade: one is 1.2 % wide. Quantiles of values themselves cost four times as much."""

QUANTITIES = ("throughput_bps", "rtt_mean_ns")


def histogram(reader: Reader, column: str, span: Range) -> list[tuple[float, int]]:
    """Give how many directions of a range have which value, to 0.6 %, in rising order."""
    rows = reader.ask(
        f"""SELECT round(log10({column}) * {FINE})::BIGINT AS bin, count(*) AS n FROM flows
        WHERE {span.where} AND data_packets > 0 AND {column} > 0 GROUP BY 1 ORDER BY 1"""
    )
    return [(10 ** (row["bin"] / FINE), row["n"]) for row in rows]


def medians(found: Mapping[str, list[tuple[float, int]]]) -> dict[str, float | None]:
    """Give the medians of histograms, as the page names them."""
    return {f"median_{name.replace('_mean', '')}": middle(bins) for name, bins in found.items()}


def middle(bins: list[tuple[float, int]]) -> float | None:
    """Give the value that half of all do not exceed."""
    half, seen = sum(n for _, n in bins) / 2, 0
    for value, n in bins:
        seen += n
        if seen >= half:
            return value
    return None


def gains(reader: Reader, span: Range) -> list[dict[str, Any]]:
    """Find the directions that would gain most time."""
    return reader.ask(
        f"""SELECT flow_id, direction, src, src_port, dst, dst_port, start_ns, limitation, cause,
            confidence, unique_bytes AS bytes, goodput_bps, headroom_bps, remedy,
            (payload_bytes * 8e9 / throughput_bps)::BIGINT AS span_ns
        FROM flows WHERE {span.where} AND limitation <> 'application' AND goodput_bps > 0
            AND throughput_bps > 0 AND headroom_bps > {LEAST_GAIN} * goodput_bps
        ORDER BY (1 - goodput_bps / headroom_bps) * span_ns DESC LIMIT {GAINS}"""
    )


def now(reader: Reader, end_ns: int) -> list[dict[str, Any]]:
    """List the directions that sent most in the last seconds, whether their connections ended."""
    span = Range(end_ns - NOW_NS, end_ns + 1)
    return reader.ask(
        f"""SELECT flow_id, direction, any_value(src) AS src, any_value(src_port) AS src_port,
            any_value(dst) AS dst, any_value(dst_port) AS dst_port,
            arg_max(limitation, end_ns) AS limitation, arg_max(cause, end_ns) AS cause,
            arg_max(confidence, end_ns) AS confidence, sum(unique_bytes)::BIGINT AS bytes,
            sum(unique_bytes) * 8e9 / greatest(1, sum(end_ns - start_ns)) AS goodput_bps
        FROM intervals WHERE {span.where} AND unique_bytes > 0
        GROUP BY flow_id, direction ORDER BY bytes DESC, flow_id LIMIT {NOW}"""
    )
