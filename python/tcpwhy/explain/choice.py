"""Which flow is meant: the biggest, or the one with an identifier."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from tcpwhy._core import InputError, UsageError
from tcpwhy.analysis import Result, analyze
from tcpwhy.terminal.overview import endpoint
from tcpwhy.units import as_bytes

if TYPE_CHECKING:
    import duckdb

Watch: TypeAlias = Callable[[Result], AbstractContextManager[object]]
"""What is around a run while it reads, such as a progress bar."""

MOST_NAMED = 4
"""Flows that are named beside the one that is explained."""

MOST_EDITS = 3
"""Digits by which an identifier may differ from the one that is there."""


class Candidate(NamedTuple):
    """A flow that one may want, shown by its bigger half."""

    flow_id: int
    src: str
    src_port: int
    dst: str
    dst_port: int
    unique_bytes: int

    @property
    def line(self) -> str:
        """Name it."""
        pair = f"{endpoint(self.src, self.src_port)} → {endpoint(self.dst, self.dst_port)}"
        return f"{self.flow_id} ({pair}, {as_bytes(self.unique_bytes)})"


def candidates(
    connection: "duckdb.DuckDBPyConnection", near: int | str | None = None
) -> list[tuple[bool, Candidate]]:
    """Give the biggest flows of a table `flows`, by their bigger halves.

    Those whose identifier is much like `near`, mistyped or cut short, come first and are marked.
    """
    alike = "false"
    if str(near).isdigit():
        text = "flow_id::VARCHAR"
        alike = f"levenshtein({text}, '{near}') <= {MOST_EDITS} OR starts_with({text}, '{near}')"
    query = f"""
        SELECT {alike} AS alike, * FROM (
            SELECT flow_id, unnest(arg_max({{src: src, src_port: src_port, dst: dst,
                dst_port: dst_port, unique_bytes: unique_bytes}}, unique_bytes))
            FROM flows GROUP BY flow_id
        ) ORDER BY alike DESC, unique_bytes DESC, flow_id LIMIT {MOST_NAMED}"""
    rows = connection.execute(query).fetchall()
    return [(alike, Candidate(*columns)) for alike, *columns in rows]


def of_store(
    connection: "duckdb.DuckDBPyConnection", near: int | str | None = None
) -> tuple[int, list[Candidate]]:
    """Count the flows of a store, and give the likeliest and biggest."""
    ((total,),) = connection.execute("SELECT count(DISTINCT flow_id) FROM flows").fetchall()
    return int(total), [candidate for _, candidate in candidates(connection, near)]


def of_capture(
    capture: str, near: int | str | None = None, watch: Watch = nullcontext
) -> tuple[int, list[Candidate], list[InputError]]:
    """Count the flows of a capture, give the likeliest and biggest, and the damage.

    Rows are dropped as they come, however many flows there are.
    """
    import duckdb

    result = analyze(capture, table="flows")
    kept: dict[int, tuple[bool, Candidate]] = {}
    total = 0
    with duckdb.connect() as connection, watch(result):
        for table, batch in result.batches():
            connection.register(table, batch)
            if table == "counters":
                count = "SELECT sum(value)::UBIGINT FROM counters WHERE name = 'flows'"
                total = int(connection.execute(count).fetchall()[0][0])
                continue
            found = [*kept.values(), *candidates(connection, near)]
            found.sort(key=lambda entry: (not entry[0], -entry[1].unique_bytes, entry[1].flow_id))
            kept = {}
            for alike, candidate in found:
                # Of two halves in different batches the bigger one came before.
                kept.setdefault(candidate.flow_id, (alike, candidate))
            kept = dict([*kept.items()][:MOST_NAMED])
    return total, [candidate for _, candidate in kept.values()], result.damage


def absent(source: str, flow: int | str, offered: Sequence[Candidate]) -> UsageError:
    """Say that a flow is not there, and which are."""
    kind = "flow with the Community ID" if str(flow).startswith("1:") else "flow"
    message = f"{source}: no {kind} {flow}"
    if not offered:
        return UsageError(message)
    named = "".join(f"\n  {candidate.line}" for candidate in offered)
    return UsageError(f"{message}; there are, the likeliest or biggest first:{named}")
