"""The rows of one flow, from a capture or from a store."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from tcpwhy._core import InputError, UsageError
from tcpwhy.analysis import Result, analyze, check_flow
from tcpwhy.explain.choice import Candidate, absent, of_capture, of_store
from tcpwhy.overview import endpoint
from tcpwhy.store import Store, explained
from tcpwhy.units import Duration

if TYPE_CHECKING:
    import duckdb

TABLES = ("flows", "intervals", "periods")
"""What an argument needs."""


class Half(NamedTuple):
    """A row of `flows`; the names are its columns."""

    flow_id: int
    direction: str
    src: str
    src_port: int
    dst: str
    dst_port: int
    community_id: str
    tunnel: str | None
    first_frame: int
    start_ns: int
    end_ns: int
    conn_state: str
    handshake_seen: bool
    packets: int
    data_packets: int
    payload_bytes: int
    unique_bytes: int
    retransmitted_bytes: int
    spurious_bytes: int
    reordered_packets: int
    duplicate_frames: int
    loss_events: int
    rto_events: int
    fast_retransmissions: int
    tlp_events: int
    zero_window_events: int
    zero_window_probes: int
    keep_alives: int
    duplicate_acks: int
    mss_option: int | None
    effective_mss: int | None
    window_scale: int | None
    window_scale_source: str | None
    position: float | None
    handshake_rtt_ns: int | None
    rtt_min_ns: int | None
    rtt_mean_ns: int | None
    rtt_max_ns: int | None
    rtt_samples: int
    flight_size_max: int | None
    rwnd_max: int | None
    throughput_bps: float | None
    goodput_bps: float | None
    capacity_bps: float | None
    capacity_method: str | None
    capacity_lower_bps: float | None
    capacity_upper_bps: float | None
    offload_seen: bool
    missed_bytes: int
    dispersion_score: float | None
    retransmission_score: float | None
    rwnd_score: float | None
    rwnd_time_score: float | None
    burstiness_score: float | None
    limitation_siekkinen: str | None
    limitation: str | None
    cause: str | None
    confidence: str | None
    null_reason: str | None
    bufferbloat: bool | None
    share_application: float | None
    share_receiver_window: float | None
    share_network: float | None
    share_recovery: float | None
    headroom_bps: float | None
    next_limitation: str | None
    evidence: str | None
    remedy: str | None

    @property
    def pair(self) -> str:
        """Who sends to whom."""
        return f"{endpoint(self.src, self.src_port)} → {endpoint(self.dst, self.dst_port)}"

    @property
    def data_span_ns(self) -> float | None:
        """From the first to the last data packet, in which throughput is counted."""
        if not self.throughput_bps:
            return None
        return self.payload_bytes * 8e9 / self.throughput_bps

    @property
    def exceeds_capacity(self) -> bool:
        """Whether more went through than the estimated capacity, which is then too low."""
        if self.goodput_bps is None or self.capacity_bps is None:
            return False
        return self.goodput_bps > EXCESS * self.capacity_bps


EXCESS = 1.05
"""Goodput over an estimate of the capacity from which the latter is more than inexact."""


class Interval(NamedTuple):
    """A row of `intervals`; the names are its columns."""

    start_ns: int
    end_ns: int
    data_packets: int
    unique_bytes: int
    retransmitted_bytes: int
    rtt_mean_ns: int | None
    flight_size_max: int | None
    rwnd_min: int | None
    limitation: str | None
    cause: str | None
    confidence: str | None
    evidence: str | None


class Period(NamedTuple):
    """A row of `periods`; the names are its columns."""

    kind: str
    start_ns: int
    end_ns: int
    limitation_siekkinen: str | None
    dispersion_score: float | None
    retransmission_score: float | None
    rwnd_score: float | None
    rwnd_time_score: float | None
    burstiness_score: float | None


class Facts(NamedTuple):
    """What the tables have of one flow."""

    source: str
    in_store: bool
    halves: list[Half]
    """Both directions, the one that moved more bytes first."""
    intervals: dict[str, list[Interval]]
    """By direction, in the order of time."""
    periods: dict[str, list[Period]]
    chosen: str
    """How this flow was chosen among those of the source."""
    others: list[Candidate]
    """Other flows that one may want: the biggest, or those with the same Community ID."""
    damage: list[InputError]
    """What was wrong with the capture; the rows are those found before."""


def read(source: str | PathLike[str], flow: int | str | None, interval: Duration | None) -> Facts:
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
    return _of_capture(name, flow, interval)


def _of_store(name: str, flow: int | str | None) -> Facts:
    store = Store(name)
    with explained(store.path), store.connect() as connection:
        total, biggest = of_store(connection, flow)
        return _facts(name, True, connection, flow, total, biggest, [])


def _of_capture(name: str, flow: int | str | None, interval: Duration | None) -> Facts:
    total, wanted = 0, flow
    biggest: list[Candidate] = []
    if flow is None:
        if name == "-":
            raise UsageError("from standard input one flow is read: choose it with --flow")
        total, biggest, damage = of_capture(name)
        if not biggest:
            raise damage[0] if damage else UsageError(f"{name}: there is no TCP connection in it")
        wanted = biggest[0].flow_id
    result = analyze(name, table=TABLES, flow=wanted, interval=interval)
    with _collected(result) as connection:
        if flow is not None and not _ids(connection, flow):
            if result.damage:
                raise result.damage[0]
            biggest = [] if name == "-" else of_capture(name, flow)[1]
        return _facts(name, False, connection, flow, total, biggest, result.damage)


@contextmanager
def _collected(result: Result) -> Iterator["duckdb.DuckDBPyConnection"]:
    """Put the rows into tables; damage stays in the result."""
    import warnings

    with warnings.catch_warnings(action="ignore"), result.to_duckdb() as connection:
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
        same = f"the biggest of {len(ids)} flows with this Community ID"
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
        chosen=chosen,
        others=others,
        damage=list(damage),
    )


def _ids(connection: "duckdb.DuckDBPyConnection", flow: int | str) -> list[Candidate]:
    """Find the flows with a flow_id or a Community ID, the biggest first."""
    text = str(flow)
    column = "flow_id" if text.isdigit() else "community_id"
    query = f"""SELECT flow_id, arg_max((src, src_port, dst, dst_port, unique_bytes), unique_bytes)
        FROM flows WHERE {column} = ? GROUP BY flow_id ORDER BY max(unique_bytes) DESC, flow_id"""
    value = min(int(text), 2**64 - 1) if text.isdigit() else text
    found = connection.execute(query, [value]).fetchall()
    return [Candidate(flow_id, *half) for flow_id, half in found]


_Row = TypeVar("_Row", Half, Interval, Period)


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
