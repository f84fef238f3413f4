"""Finds the rows of one flow, in a capture or in a store."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tcpwhy._core import InputError, UsageError
from tcpwhy.analysis import Result, analyze
from tcpwhy.explain import beside
from tcpwhy.explain.choice import Candidate, Watch, absent, of_capture, of_store
from tcpwhy.explain.facts import Facts, Half, Interval, Period, Stall
from tcpwhy.options.flows import check_flow, is_number, numbered, where
from tcpwhy.store import Store, explained
from tcpwhy.units import Duration

if TYPE_CHECKING:
    import duckdb

TABLES = ("flows", "intervals", "periods", "stalls")
"""What an argument needs."""


def read(
    source: str | PathLike[str],
    flow: int | str | None,
    interval: Duration | None,
    watch: Watch = nullcontext,
) -> Facts:
    """Find the rows of a flow, or of the biggest one.

    Raises:
        UsageError: when there is no such flow, or no flow with data.
        InputError: for a source that cannot be read.

    """
    name = str(source)
    if flow is not None:
        check_flow(flow)
    if name != "-" and Path(source).is_dir():
        if interval is not None:
            raise UsageError(f"{name} is a store, whose intervals are as long as they are")
        return _of_store(name, flow)
    return _of_capture(name, flow, interval, watch)


def of_tables(
    name: str,
    connection: "duckdb.DuckDBPyConnection",
    flow: int | str,
    all_flows: "duckdb.DuckDBPyConnection | None" = None,
) -> Facts:
    """Take the rows of a flow out of tables, or views, that somebody else opened.

    Where these have the rows of some flows only, `all_flows` tells what others moved meanwhile.

    Raises:
        UsageError: when there is no such flow.

    """
    check_flow(flow)
    facts = _facts(name, True, connection, flow, 0, [], [])
    if all_flows is None:
        return facts
    return facts._replace(beside=beside.of_tables(all_flows, facts.halves))


def _of_store(name: str, flow: int | str | None) -> Facts:
    store = Store(name)
    with explained(store.path), store.connect() as connection:
        total, biggest = of_store(connection, flow)
        return _facts(name, True, connection, flow, total, biggest, [])


def _of_capture(
    name: str, flow: int | str | None, interval: Duration | None, watch: Watch
) -> Facts:
    total, wanted = 0, flow
    biggest: list[Candidate] = []
    if flow is None:
        if name == "-":
            raise UsageError("from standard input one flow is read: choose it with --flow")
        total, biggest, damage = of_capture(name, watch=watch)
        if not biggest:
            raise damage[0] if damage else UsageError(f"{name}: there is no TCP connection in it")
        wanted = biggest[0].flow_id
    elif is_number(flow):
        ids, count = numbered([name], int(flow), {})
        if not ids:
            known = f"; they are 0 to {count - 1}" if count else ""
            raise absent(name, f"{flow}{known}", of_capture(name, flow, watch)[1])
        wanted = flow = ",".join(map(str, ids))
    result = analyze(name, table=TABLES, flow=wanted, interval=interval)
    with _collected(result, watch) as connection:
        if flow is not None and not _ids(connection, flow):
            if result.damage:
                raise result.damage[0]
            biggest = [] if name == "-" else of_capture(name, flow, watch)[1]
        facts = _facts(name, False, connection, flow, total, biggest, result.damage)
    if total == 1 or not Path(name).is_file():
        # The only one, or a pipe, which cannot be read again.
        return facts
    return facts._replace(beside=beside.of_capture(name, facts.halves, watch))


@contextmanager
def _collected(result: Result, watch: Watch) -> Iterator["duckdb.DuckDBPyConnection"]:
    """Put the rows into tables; damage stays in the result."""
    import warnings

    with warnings.catch_warnings(action="ignore"), watch(result):
        connection = result.to_duckdb()
    with connection:
        yield connection


def _facts(
    name: str,
    in_store: bool,
    connection: "duckdb.DuckDBPyConnection",
    flow: int | str | None,
    total: int,
    biggest: list[Candidate],
    damage: Sequence[InputError],
) -> Facts:
    """Take the rows of the flow out of the tables."""
    if flow is None:
        if not biggest:
            raise UsageError(f"{name}: there is no TCP connection in it")
        chosen = "the only flow" if total == 1 else f"the biggest of {total:,} flows"
        found, others = biggest[0].flow_id, [other for other in biggest[1:] if other.unique_bytes]
    else:
        ids = _ids(connection, flow)
        if not ids:
            raise absent(name, flow, biggest)
        found, others = ids[0].flow_id, ids[1:]
        same = f"the biggest of {len(ids)} flows that this names"
        chosen = same if others else ""
    directions = ("orig", "resp")
    halves = _rows(connection, Half, "flows", found, "unique_bytes DESC, direction")
    in_time = "start_ns, end_ns"
    return Facts(
        source=name,
        in_store=in_store,
        halves=halves,
        intervals={
            d: _rows(connection, Interval, "intervals", found, in_time, d) for d in directions
        },
        periods={d: _rows(connection, Period, "periods", found, in_time, d) for d in directions},
        stalls={d: _rows(connection, Stall, "stalls", found, "rank", d) for d in directions},
        beside=beside.of_tables(connection, halves),
        chosen=chosen,
        others=others,
        is_named=flow is not None,
        damage=list(damage),
    )


def _ids(connection: "duckdb.DuckDBPyConnection", flow: int | str) -> list[Candidate]:
    """Find the flows that this names, the biggest first."""
    condition, parameters = where(flow)
    query = f"""SELECT flow_id, arg_max((src, src_port, dst, dst_port, unique_bytes), unique_bytes)
        FROM flows WHERE {condition} GROUP BY flow_id ORDER BY max(unique_bytes) DESC, flow_id"""
    found = connection.execute(query, parameters).fetchall()
    return [Candidate(flow_id, *half) for flow_id, half in found]


_Row = TypeVar("_Row", Half, Interval, Period, Stall)


def _rows(
    connection: "duckdb.DuckDBPyConnection",
    kind: type[_Row],
    table: str,
    flow_id: int,
    order: str,
    direction: str | None = None,
) -> list[_Row]:
    where = "flow_id = $flow_id"
    parameters: dict[str, Any] = {"flow_id": flow_id}
    if direction is not None:
        where += " AND direction = $direction"
        parameters["direction"] = direction
    query = f"SELECT {', '.join(kind._fields)} FROM {table} WHERE {where} ORDER BY {order}"
    return [kind(*row) for row in connection.execute(query, parameters).fetchall()]
