"""Captures in, a stream of (table, batch) out."""

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from tcpwhy import _core
from tcpwhy._core import Batch, InputError, Rows, UsageError
from tcpwhy.extras import require
from tcpwhy.units import Duration, nanoseconds

if TYPE_CHECKING:
    import duckdb

TABLES = tuple(dict(_core.tables_by_maker())["analyze"])

Path: TypeAlias = str | PathLike[str]


class DamagedInputWarning(UserWarning):
    """An input was damaged; what was found before the damage is there."""


class Progress(NamedTuple):
    """How far a run is."""

    bytes_read: int
    bytes_total: int | None
    """None when an input is a pipe."""
    packets: int


class Lost(NamedTuple):
    """What a live or paced run could not keep up with."""

    packets: int
    """Packets that the kernel dropped."""
    rows: int
    """Rows that nobody took in time."""


class Standing(NamedTuple):
    """What the workers of a live or paced run last said, every few seconds."""

    flows: int
    """Flows that are followed."""
    counters: dict[str, int]
    """What was counted so far, by name."""


def analyze(
    paths: Path | Iterable[Path],
    *,
    table: str | Iterable[str] = "flows",
    interval: Duration | None = None,
    idle_timeout: Duration | None = None,
    half_open_timeout: Duration | None = None,
    closed_timeout: Duration | None = None,
    min_packets: int | None = None,
    filter: str | None = None,
    flow: int | str | None = None,
    frame: int | None = None,
    workers: int | None = None,
    compat: Literal["seed"] | None = None,
    pace: float | None = None,
    max_flows: int | None = None,
) -> "Result":
    """Say for every TCP connection of a capture what limits it.

    Args:
        paths: one capture or several, read in time order; "-" is standard input.
        table: the table or tables to produce, of flows, intervals, periods, segments, counters.
        interval: length of a periodic calculation, 3 s unless given.
        idle_timeout: a flow without a packet for this long has ended; 180 s unless given.
        half_open_timeout: one of which only SYNs were seen; 60 s unless given.
        closed_timeout: one that both sides have closed, or one has reset; 10 s unless given.
        min_packets: data packets below which capacity-based scores are not computed, 300
            unless given.
        filter: a capture filter in the syntax of tcpdump.
        flow: only this flow, by flow_id or Community ID.
        frame: of the segments table only the row of this frame, whatever its flow.
        workers: threads; as many as there are cores unless given.
        compat: "seed" also computes the formulas of the published prototype.
        pace: read as fast as the packets came, times this factor, as from a live link: rows come
            every interval, and those that are not taken in time are dropped and counted. One
            thread does all work.
        max_flows: flows that a worker holds at the same time, ten million unless given; beyond,
            closed and half-open ones go first, then short ones.

    Raises:
        UsageError: for an option that makes no sense, or a wrong filter.
        InputError: for an input that cannot be read at all. Damage found later is raised by the
            iteration after the last row, or becomes a DamagedInputWarning in a conversion.

    """
    inputs = [paths] if isinstance(paths, str | PathLike) else list(paths)
    tables = [table] if isinstance(table, str) else list(table)
    if not inputs:
        raise UsageError("no capture given")
    if not tables:
        raise UsageError("no table chosen")
    if "segments" in tables and flow is None and frame is None:
        raise UsageError("the segments table is of one flow: choose it with --flow or flow=")
    numbers = {"min_packets": min_packets, "frame": frame, "workers": workers}
    check(compat, flow, numbers | {"max_flows": max_flows})
    if pace is not None and not pace > 0:
        raise UsageError(f"pace must be above 0, not {pace}")
    stream = _core.analyze(
        inputs,
        tables=tables,
        interval_ns=None if interval is None else nanoseconds(interval),
        timeouts_ns=timeouts_ns(idle_timeout, half_open_timeout, closed_timeout),
        min_packets=min_packets,
        filter=filter,
        flow=None if flow is None else str(flow),
        frame=frame,
        workers=workers,
        compat_seed=compat == "seed",
        pace=pace,
        max_flows=max_flows,
    )
    return Result(stream, tables, inputs)


def timeouts_ns(
    idle: Duration | None, half_open: Duration | None, closed: Duration | None
) -> tuple[int | None, int | None, int | None]:
    """Give in nanoseconds after how much silence flows end."""
    idle_ns, half_open_ns, closed_ns = (
        None if given is None else nanoseconds(given) for given in (idle, half_open, closed)
    )
    return idle_ns, half_open_ns, closed_ns


def check(
    compat: str | None,
    flow: int | str | None,
    numbers: Mapping[str, int | None],
    least: Mapping[str, int] | None = None,
) -> None:
    """Raise a UsageError for an option that makes no sense in any run.

    Numbers are at least 1 where `least` says nothing else.
    """
    if compat not in (None, "seed"):
        raise UsageError(f"no compatibility mode {compat!r}: there is 'seed'")
    if flow is not None:
        check_flow(flow)
    for name, value in numbers.items():
        bound = (least or {}).get(name, 1)
        if value is not None and value < bound:
            raise UsageError(f"{name} must be at least {bound}, not {value}")


def check_flow(flow: int | str) -> None:
    """Raise a UsageError for what cannot name a flow."""
    if not re.fullmatch(r"\d+|1:[\w+/]{27}=", str(flow)):
        raise UsageError(f"{flow!r} is neither a flow_id, a number, nor a Community ID, 1:…=")


class Result:
    """The rows of a run: either iterated over once as they come, or collected and converted."""

    def __init__(
        self, stream: _core.Stream, tables: Iterable[str], inputs: Iterable[Path] = ()
    ) -> None:
        self._stream = stream
        self._batches: dict[str, list[Batch]] | None = None
        self._iterated = False
        self.tables = tuple(tables)
        """The tables that were asked for; `counters` comes in any case."""
        self.damage: list[InputError] = []
        """What was wrong with the inputs, complete once the rows are read."""
        self._inputs = tuple(inputs)

    def __iter__(self) -> Iterator[tuple[str, Batch]]:
        """Give the batches as they come, then raise the first damage of an input, if any."""
        yield from self.batches()
        if self.damage:
            raise self.damage[0]

    def batches(self) -> Iterator[tuple[str, Batch]]:
        """Give the batches as they come; damage is only noted in `damage`."""
        if self._iterated:
            raise UsageError("the rows were read before: collect them first, or analyse again")
        self._iterated = True
        while True:
            try:
                item = next(self._stream, None)
            except InputError as error:
                self.damage.append(error)
                continue
            if item is None:
                return
            yield item

    def progress(self) -> Progress:
        """Say how far the run is; from any thread."""
        return Progress(*self._stream.progress())

    def lost(self) -> Lost:
        """Say what a live or paced run lost so far; from any thread."""
        return Lost(*self._stream.dropped())

    def standing(self) -> Standing:
        """Say how a live or paced run stands; from any thread."""
        flows, counters = self._stream.standing()
        return Standing(flows, dict(counters))

    def stop(self) -> None:
        """End the run early; the rows found so far still come. From any thread."""
        self._stream.stop()

    def rows(self, table: str | None = None) -> Rows:
        """Collect one table; it has the Arrow stream interface. The first one unless named."""
        name = self.tables[0] if table is None else table
        if name not in (*self.tables, "counters"):
            raise UsageError(f"the table {name!r} was not asked for: analyze(…, table=…)")
        return Rows(name, self._collected().get(name, []))

    def batches_of(self, table: str) -> list[Batch]:
        """Collect one table as the batches that came."""
        return self._collected().get(table, [])

    @property
    def counters(self) -> dict[str, int]:
        """What was counted in the run, by name."""
        import duckdb

        with duckdb.connect() as connection:
            connection.register("counters", self.rows("counters"))
            return dict(connection.execute("SELECT name, value FROM counters").fetchall())

    def to_duckdb(
        self, connection: "duckdb.DuckDBPyConnection | None" = None
    ) -> "duckdb.DuckDBPyConnection":
        """Create a DuckDB table for each table, in memory or in the connection given."""
        import duckdb

        connection = connection or duckdb.connect()
        for name in dict.fromkeys((*self.tables, "counters")):
            connection.register("rows_of_tcpwhy", self.rows(name))
            connection.execute(f"CREATE TABLE {name} AS FROM rows_of_tcpwhy")
            connection.unregister("rows_of_tcpwhy")
        return connection

    def to_arrow(self, table: str | None = None) -> Any:
        """Give one table as a pyarrow.Table."""
        return require("pyarrow", extra="arrow").table(self.rows(table))

    def to_polars(self, table: str | None = None) -> Any:
        """Give one table as a polars.DataFrame."""
        return require("polars", extra="polars").DataFrame(self.rows(table))

    def to_pandas(self, table: str | None = None) -> Any:
        """Give one table as a pandas.DataFrame with Arrow types, so that NULL stays NULL."""
        pandas = require("pandas", extra="pandas")
        arrow = require("pyarrow", extra="pandas").table(self.rows(table))
        return arrow.to_pandas(types_mapper=pandas.ArrowDtype)

    def graph(self, flow: int | str | None = None, **options: Any) -> Any:
        """Draw a flow of the capture, the biggest unless given; a notebook shows the picture.

        Options are those of `tcpwhy.graph.draw`.
        """
        from tcpwhy.graph import draw

        if len(self._inputs) != 1:
            raise UsageError("a graph is of one capture: tcpwhy.graph.draw(PATH) draws it")
        return draw(self._inputs[0], flow=flow, **options)

    def _repr_html_(self) -> str | None:
        """Show a notebook the flows, charts of them, and the graph of the biggest one."""
        if not self._inputs or (self._iterated and self._batches is None):
            # What is live has no end, and what was read before is gone.
            return None
        from tcpwhy.report.notebook import shown

        is_one = len(self._inputs) == 1 and str(self._inputs[0]) != "-"
        with self.to_duckdb() as connection:
            return shown(connection, self.tables, str(self._inputs[0]) if is_one else "")

    def _has_read_nothing(self) -> bool:
        return self.progress().packets == 0

    def _collected(self) -> dict[str, list[Batch]]:
        if self._batches is None:
            collected: dict[str, list[Batch]] = {}
            for name, batch in self.batches():
                collected.setdefault(name, []).append(batch)
            if self.damage and self._has_read_nothing():
                raise self.damage[0]
            self._batches = collected
            for error in self.damage:
                warnings.warn(str(error), DamagedInputWarning, stacklevel=4)
        return self._batches
