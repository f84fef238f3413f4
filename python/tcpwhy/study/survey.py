"""The case study of the IM 2021 paper over many captures: read once, kept on disk, asked twice.

Each capture is a trace, a row of Table I. Distributions and shares are over all of them.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcpwhy._core import InputError, Rows
from tcpwhy.analysis import Result, analyze
from tcpwhy.archive.inputs import find, local_path
from tcpwhy.study import internet, roots
from tcpwhy.study.roots import Idle, Root

if TYPE_CHECKING:
    import duckdb

    from tcpwhy.explain.choice import Watch

KEPT = {
    "flows": "flow_id direction src_port dst_port start_ns end_ns packets data_packets wire_bytes"
    " unique_bytes handshake_seen capacity_bps limitation share_application",
    "intervals": "flow_id direction src_port dst_port start_ns end_ns data_packets unique_bytes"
    " throughput_bps capacity_bps dispersion_score retransmission_score rwnd_score"
    " burstiness_score retransmission_seed burstiness_seed limitation_siekkinen limitation",
    "periods": "flow_id direction kind start_ns end_ns",
}
"""Columns that the study asks for; nine traces of the paper would not fit into memory with all."""


@dataclass(kw_only=True)
class Trace:
    """One capture."""

    name: str
    counters: dict[str, int] = field(default_factory=dict)
    damage: list[InputError] = field(default_factory=list)
    cpu_s: float = 0.0
    """CPU time of reading and analysing it, all threads."""
    study: internet.Study | None = None

    @property
    def is_readable(self) -> bool:
        """Whether packets were found; damage may have ended it."""
        return self.counters.get("packets_read", 0) > 0


@dataclass
class Survey:
    """The study."""

    traces: list[Trace]
    whole: internet.Study
    counted: int
    """Intervals that the paper would count."""
    every: int
    """Intervals with data."""
    roots: list[Root]
    idle: list[Idle]


def survey(
    captures: Sequence[str],
    *,
    watch: Watch = nullcontext,
    stopped: Callable[[], bool] = lambda: False,
    **options: Any,
) -> Survey:
    """Analyse captures one after the other, and compute the study of all.

    Args:
        captures: paths, patterns, `@LIST` files and URLs (`tcpwhy.archive.find`).
        watch: makes a context for the run over each capture.
        stopped: asked between captures; those read so far are the study then.
        options: options of `tcpwhy.analyze`.

    Raises:
        InputError: where no capture can be read.

    """
    import duckdb

    with (
        tempfile.TemporaryDirectory(prefix="tcpwhy-study-") as folder,
        duckdb.connect(str(Path(folder, "rows.duckdb"))) as connection,
    ):
        for table in KEPT:
            connection.register("batch", Rows(table, []))
            connection.execute(f"CREATE TABLE every_{table} AS {_kept(table, 0)}")
        traces: list[Trace] = []
        for capture in find(captures):
            if stopped():
                break
            trace = Trace(name=Path(capture.name).name)
            try:
                with local_path(capture.name) as path:
                    _read(connection, len(traces), trace, path, watch, options)
            except InputError as error:
                trace.damage.append(error)
            traces.append(trace)
        if not any(trace.is_readable or not trace.damage for trace in traces):
            raise traces[0].damage[0] if traces else InputError("no capture was read")
        return _computed(connection, traces)


def _read(
    connection: duckdb.DuckDBPyConnection,
    number: int,
    trace: Trace,
    path: str,
    watch: Watch,
    options: dict[str, Any],
) -> None:
    before = time.process_time()
    result: Result = analyze(path, table=(*KEPT, "counters"), compat="seed", **options)
    with watch(result):
        for table, batch in result.batches():
            connection.register("batch", batch)
            if table == "counters":
                query = "SELECT name, value FROM batch"
                trace.counters = dict(connection.execute(query).fetchall())
                continue
            connection.execute(f"INSERT INTO every_{table} {_kept(table, number)}")
    trace.damage += result.damage
    trace.cpu_s = time.process_time() - before


def _kept(table: str, trace: int) -> str:
    return f"SELECT {trace} AS trace, {', '.join(KEPT[table].split())} FROM batch"


def _computed(connection: duckdb.DuckDBPyConnection, traces: list[Trace]) -> Survey:
    for number, trace in enumerate(traces):
        if trace.is_readable:
            _choose(connection, f"trace = {number}")
            trace.study = internet.study(connection, trace.counters)
    _choose(connection, "true")
    flows = sum(trace.counters.get("flows", 0) for trace in traces)
    whole = internet.study(connection, {"flows": flows})
    counted, every, found = roots.roots(connection)
    idle_time = roots.idle(connection)
    # What the paper says of scores and throughput, it says of the intervals that it counts.
    connection.execute("CREATE TABLE only_counted AS FROM counted; DROP VIEW counted")
    connection.execute("CREATE OR REPLACE VIEW intervals AS FROM only_counted")
    few = internet.study(connection, {})
    whole = whole._replace(checks=few.checks, distributions=few.distributions)
    return Survey(traces, whole, counted, every, found, idle_time)


def _choose(connection: duckdb.DuckDBPyConnection, which: str) -> None:
    """Let the tables that the study asks be the rows of one trace, or all."""
    for table in KEPT:
        connection.execute(f"CREATE OR REPLACE VIEW {table} AS FROM every_{table} WHERE {which}")
