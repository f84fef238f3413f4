"""Captures in, a stream of (table, batch) out."""

import glob
import os
import shutil
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from tempfile import NamedTemporaryFile
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeAlias, Unpack

from tcpwhy import _core
from tcpwhy._core import Batch, InputError, Rows, UsageError
from tcpwhy.extras import require
from tcpwhy.options import settled, takes_options
from tcpwhy.options.flows import check_flow, is_number, numbered
from tcpwhy.options.keywords import AnalyzeOptions

if TYPE_CHECKING:
    import duckdb
    import pandas
    import polars
    import pyarrow

TABLES = tuple(dict(_core.tables_by_maker())["analyze"])

Path: TypeAlias = str | PathLike[str]
Input: TypeAlias = str | PathLike[str] | IO[bytes]


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


@takes_options
def analyze(
    paths: Input | Iterable[Input],
    *,
    table: str | Iterable[str] = "flows",
    **options: Unpack[AnalyzeOptions],
) -> "Result":
    """Say for every TCP connection of a capture what limits it.

    Args:
        paths: one capture or several, read in time order: paths, patterns such as "*.pcap", files
            that are open in binary mode; "-" is standard input.
        table: the table or tables to produce, of flows, intervals, periods, stalls,
            segments, counters.
        **options: as above.

    Raises:
        UsageError: for an option that makes no sense, or a wrong filter.
        InputError: for an input that cannot be read at all. Damage found later is raised by the
            iteration after the last row, or becomes a DamagedInputWarning in a conversion.

    """
    inputs, copies = readable(paths)
    tables = [table] if isinstance(table, str) else list(table)
    if not inputs:
        raise UsageError("no capture given")
    if not tables:
        raise UsageError("no table chosen")
    given = settled("analyze", options)
    if "segments" in tables and not given.keys() & {"flow", "frame"}:
        raise UsageError("the segments table is of one flow: choose it with --flow or flow=")
    if "flow" in given:
        check_flow(given["flow"])
        if is_number(given["flow"]):
            given["flow"] = _ids(inputs, int(given["flow"]), given)
    result = Result(_core.analyze(inputs, tables=tables, options=given), tables, inputs)
    result.kept = copies
    return result


def readable(paths: Input | Iterable[Input]) -> tuple[list[Path], list[object]]:
    """Give the paths of captures, and the copies of open files that have to be kept meanwhile."""
    single = isinstance(paths, str | PathLike) or hasattr(paths, "read")
    several: Iterable[Any] = [paths] if single else paths  # type: ignore[assignment]
    found: list[Path] = []
    copies: list[object] = []
    for path in several:
        if not isinstance(path, str | PathLike):
            copy = NamedTemporaryFile(prefix="tcpwhy-", suffix=".pcap")  # noqa: SIM115
            shutil.copyfileobj(path, copy)
            copy.flush()
            copies.append(copy)
            found.append(copy.name)
        elif glob.has_magic(str(path)) and not os.path.exists(path):  # noqa: PTH110
            matching = sorted(glob.glob(str(path), recursive=True))  # noqa: PTH207
            if not matching:
                raise InputError(f"{path}: no file matches this pattern")
            found += matching
        else:
            found.append(path)
    return found, copies


def _ids(inputs: Sequence[Path], number: int, options: Mapping[str, Any]) -> str:
    """Give the flow_ids of the connection with this number, as the core takes them."""
    ids, count = numbered(inputs, number, options)
    if not ids:
        known = f"they are 0 to {count - 1}" if count else "there is no TCP connection"
        raise UsageError(f"no flow {number}: {known}")
    return ",".join(map(str, ids))


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
        self.kept: list[object] = []
        """Copies of inputs that were open files: they last as long as this."""

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

        if isinstance(connection, str):
            raise UsageError(f"to_duckdb takes a connection: to_duckdb().table({connection!r})")
        connection = connection or duckdb.connect()
        for name in dict.fromkeys((*self.tables, "counters")):
            connection.register("rows_of_tcpwhy", self.rows(name))
            connection.execute(f"CREATE TABLE {name} AS FROM rows_of_tcpwhy")
            connection.unregister("rows_of_tcpwhy")
        return connection

    def to_arrow(self, table: str | None = None) -> "pyarrow.Table":
        """Give one table as a pyarrow.Table."""
        return require("pyarrow", extra="arrow").table(self.rows(table))

    def to_polars(self, table: str | None = None) -> "polars.DataFrame":
        """Give one table as a polars.DataFrame."""
        made: polars.DataFrame = require("polars", extra="polars").DataFrame(self.rows(table))
        return made

    def to_pandas(self, table: str | None = None) -> "pandas.DataFrame":
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

    def __repr__(self) -> str:
        """Say what was analysed, and into which tables."""
        inputs = ", ".join(map(str, self._inputs)) or "a stream"
        return f"<tcpwhy.Result of {inputs}: {', '.join(self.tables)}>"

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
