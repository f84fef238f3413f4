"""Stored questions about time, asked for one span after another: memory holds one of them.

A direction is told apart from others in its minute only. So the answers of spans of whole
minutes, one behind the other, are the answer.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tcpwhy.web.reader import TIME_LIMIT_S, Reader
from tcpwhy.web.rollup import STEP_NS, Rollup

if TYPE_CHECKING:
    import duckdb

SLICED = {"limitation_over_time": "limitation_between"}
"""Stored questions, each with the macro that answers it for a span of time."""

ALWAYS = 2**63 - 1
"""A time in ns that nothing begins at; the first span has what begins before the first sum."""

ROWS_AT_ONCE = 500_000
"""Intervals of a span: to tell their directions apart takes some 100 MB."""


@contextmanager
def sliced(
    reader: Reader, rollup: Rollup, question: str, *, most: int, limit_s: float = TIME_LIMIT_S
) -> Iterator["duckdb.DuckDBPyRelation"]:
    """Give the answer to a question of `SLICED`: its first rows, at least `most` if it has them.

    Raises:
        BusyError: when no turn came in time.
        TooLongError: when the limit was reached.
        UsageError: for a minute with more intervals than memory holds.

    """
    macro = SLICED[question]
    with reader.cursor(limit_s) as cursor:
        spans = _spans(_minutes(rollup, cursor))
        # Of this cursor alone: it goes with it.
        cursor.execute(f"CREATE TEMP TABLE answer AS FROM {macro}(0, 0)")
        found = 0
        for begin_ns, end_ns in spans:
            rows = f"INSERT INTO answer FROM {macro}({begin_ns}, {end_ns}) LIMIT {most - found}"
            found += cursor.execute(rows).fetchall()[0][0]
            if found >= most:
                break
        # Not by the name alone: views of the store come first there.
        yield cursor.sql("FROM temp.main.answer")


def _minutes(rollup: Rollup, cursor: "duckdb.DuckDBPyConnection") -> list[tuple[int, int]]:
    """Count the intervals of each minute that has some, in order of time."""
    if rollup.done == 1.0:
        query = "SELECT at_ns, sum(intervals)::BIGINT FROM sums GROUP BY 1 ORDER BY 1"
        return [(at, count) for at, count in rollup.ask(query)]
    query = (
        f"SELECT start_ns // {STEP_NS} * {STEP_NS}, count(*) FROM intervals GROUP BY 1 ORDER BY 1"
    )
    return cursor.execute(query).fetchall()


def _spans(minutes: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Part all time into spans with begin and end, of so many intervals at most."""
    begins, held = [-ALWAYS], 0
    for at_ns, count in minutes:
        if held and held + count > ROWS_AT_ONCE:
            begins.append(at_ns)
            held = 0
        held += count
    return list(zip(begins, [*begins[1:], ALWAYS], strict=True))
