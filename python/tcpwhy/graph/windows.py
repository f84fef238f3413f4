"""The sender's own cwnd beside what the packets show: from a simulation, or from the kernel."""

from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from tcpwhy._core import InputError, UsageError
from tcpwhy.graph.trace import Trace

READERS = {".parquet": "read_parquet", ".csv": "read_csv", ".jsonl": "read_json"}
"""Functions of DuckDB by the suffix of a file of rows."""


def with_cwnd(trace: Trace, path: str | PathLike[str]) -> Trace:
    """Add the sender's cwnd from a file of rows.

    Rows are those of `truth` (a simulation), of the lab's `cwnd` (the kernel's tracepoint), or of
    `tcp_info` (samples); those of other connections are passed over.
    """
    rows = connected(path)
    names = [column[0] for column in rows.execute("FROM samples LIMIT 0").description]
    where, given = _mine(trace, names, rows)
    value = values(names, path, trace.half.effective_mss)
    found = rows.execute(
        f"SELECT ({times(names)})::BIGINT AS t, ({value})::BIGINT AS v FROM samples"
        f" WHERE {where} AND ({value}) IS NOT NULL ORDER BY t",
        given,
    ).fetchnumpy()
    if not len(found["t"]):
        return replace(trace, notes=[*trace.notes, f"{path} has no row of this direction."])
    start = _origin(trace, found["t"])
    series = {"t": found["t"] - start, "v": found["v"]}
    return replace(trace, series=trace.series | {"cwnd": series})


def _mine(trace: Trace, names: list[str], rows: Any) -> tuple[str, list[Any]]:
    """Give the condition for the rows of this direction, and its parameters."""
    half = trace.half
    if {"src_port", "dst_port"} <= set(names):
        return "src_port = ? AND dst_port = ?", [half.src_port, half.dst_port]
    if {"flow", "side"} <= set(names):
        # The lab numbers its flows; the one that opens a flow is at its forward side.
        ((flow,),) = rows.execute("SELECT min(flow) FROM samples").fetchall()
        return "flow = ? AND side = ?", [
            flow,
            "forward" if half.direction == "orig" else "backward",
        ]
    return "true", []


def connected(path: str | PathLike[str]) -> Any:
    """Open the file as the table `samples`."""
    import duckdb

    suffix = Path(path).suffix
    if suffix not in READERS:
        raise UsageError(f"{path}: rows are read from {', '.join(READERS)}")
    if not Path(path).is_file():
        raise InputError(f"{path}: no such file; check the name")
    connection = duckdb.connect()
    try:
        connection.execute(
            f"CREATE TABLE samples AS FROM {READERS[suffix]}($path)", {"path": str(path)}
        )
    except duckdb.Error as error:
        raise InputError(f"{path}: not readable as {suffix[1:]}: {error}") from error
    return connection


def times(names: list[str]) -> str:
    """Give the column of the time in ns."""
    for name in ("start_ns", "ts_ns", "at_ns", "wall_ns"):
        if name in names:
            return name
    raise UsageError(f"the rows have no time in ns: their columns are {', '.join(names)}")


def values(names: list[str], path: str | PathLike[str], mss: int | None) -> str:
    """Give the expression for cwnd in bytes."""
    if "cwnd_bytes" in names:
        return "cwnd_bytes"
    if {"snd_cwnd", "snd_mss"} <= set(names):
        return "snd_cwnd * snd_mss"
    if "cwnd_segs" in names and mss:
        return f"cwnd_segs * {mss:d}"
    raise UsageError(f"{path} has no cwnd: it has {', '.join(names)}")


def _origin(trace: Trace, t: Any) -> int:
    """Say which time of the rows is the start of the flow.

    Samples of a kernel and a capture beside it have one clock. A simulation counts from its own
    start, which the capture shows as a fixed date.
    """
    start = trace.half.start_ns
    if len(t) and int(t[-1]) >= start:
        return start
    epoch = 1_767_225_600_000_000_000
    return start - epoch if start >= epoch else int(t[0])
