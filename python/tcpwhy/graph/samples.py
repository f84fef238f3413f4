"""The graph of what a kernel said of a connection of its own: samples of TCP_INFO, no packets."""

from pathlib import Path
from typing import Any

from tcpwhy._core import UsageError
from tcpwhy.explain.facts import Half
from tcpwhy.graph.segments import Columns
from tcpwhy.graph.trace import Trace, Verdict
from tcpwhy.graph.windows import connected

NOTE = "Drawn from samples of the kernel's own numbers: there are no segments in them."

_SAMPLES = """SELECT round((at_s - min(at_s) OVER ()) * 1e9)::BIGINT AS t, wall_ns,
    unacked * snd_mss AS flight, snd_wnd AS rwnd, snd_cwnd * snd_mss AS cwnd,
    rtt * 1000 AS rtt, nullif(min_rtt, 4294967295) * 1000 AS rtt_min, bytes_sent, bytes_acked,
    snd_mss FROM samples WHERE {chosen} AND snd_cwnd IS NOT NULL ORDER BY t"""
_VERDICTS = """SELECT start_s, end_s, limitation, cause, confidence, evidence FROM samples
    WHERE kind = 'interval' AND sends AND stream = {number} ORDER BY start_s"""


def sampled(path: Path, flow: int | str | None) -> list[Trace]:
    """Draw a stream of `tcpwhy measure --json`, or a flow of a lab's `tcp_info.jsonl`."""
    import numpy

    connection = connected(path)
    names = {column[0] for column in connection.execute("FROM samples LIMIT 0").description}
    if not {"at_s", "snd_cwnd", "snd_mss", "bytes_acked"} <= names:
        raise UsageError(
            f"{path}: not samples of TCP_INFO; tcpwhy measure --json and tcpwhy lab run write them"
        )
    key = "stream" if "stream" in names else "flow"
    numbers = [
        row[0]
        for row in connection.execute(
            f"SELECT DISTINCT {key} FROM samples WHERE snd_cwnd IS NOT NULL ORDER BY 1"
        ).fetchall()
    ]
    number = int(str(flow)) if flow is not None and str(flow).isdigit() else numbers[0]
    if number not in numbers:
        known = ", ".join(map(str, numbers))
        raise UsageError(f"{path}: no {key} {flow}: there are {known}")
    chosen = f"{key} = {number}" + (" AND side = 'forward'" if "side" in names else "")
    rows = connection.execute(_SAMPLES.format(chosen=chosen)).fetchnumpy()
    columns = {name: numpy.ma.filled(values, -1) for name, values in rows.items()}
    verdicts = []
    if "kind" in names:
        found = connection.execute(_VERDICTS.format(number=number)).fetchall()
        verdicts = [_verdict(*row) for row in found]
    half = _half(f"{key} {number} of {path.name}", columns, verdicts)
    span = max(1, int(columns["t"][-1]))
    return [Trace(half, half.src, span, _series(columns), {}, verdicts, notes=[NOTE])]


def _series(columns: Columns) -> dict[str, Columns]:
    t = columns["t"]
    series = {name: {"t": t, "v": columns[name]} for name in ("flight", "rwnd", "cwnd", "rtt")}
    series["rtt_min"] = {"t": t, "v": columns["rtt_min"]}
    series["throughput_mean"] = _rate(t, columns["bytes_sent"])
    series["goodput_mean"] = _rate(t, columns["bytes_acked"])
    return series


def _rate(t: Any, total: Any) -> Columns:
    """Hold the rate between two samples for that time."""
    import numpy

    rates = numpy.diff(total) * 8e9 / numpy.maximum(1, numpy.diff(t))
    return {"t": t, "v": numpy.append(rates, -1.0).round().astype(numpy.int64)}


def _verdict(
    start_s: float,
    end_s: float,
    limitation: str | None,
    cause: str | None,
    confidence: str | None,
    evidence: str | None,
) -> Verdict:
    start_ns, end_ns = round(start_s * 1e9), round(end_s * 1e9)
    return Verdict(start_ns, end_ns, limitation, cause, confidence, evidence)


def _half(name: str, columns: Columns, verdicts: list[Verdict]) -> Half:
    """Give the facts that samples have; the others are not known."""
    moved = int(columns["bytes_acked"][-1] - columns["bytes_acked"][0])
    span = max(1, int(columns["t"][-1]))
    held: dict[tuple[str | None, str | None], int] = {}
    for verdict in verdicts:
        key = (verdict.limitation, verdict.cause)
        held[key] = held.get(key, 0) + verdict.end - verdict.start
    limitation, cause = max(held, key=lambda key: held[key], default=(None, None))
    known = {
        "src": name,
        "direction": "orig",
        "start_ns": int(columns["wall_ns"][0]),
        "unique_bytes": moved,
        "goodput_bps": moved * 8e9 / span,
        "rtt_mean_ns": int(columns["rtt"].mean()),
        "rtt_min_ns": int(columns["rtt"].min()),
        "rtt_max_ns": int(columns["rtt"].max()),
        "effective_mss": int(columns["snd_mss"][-1]),
        "limitation": limitation,
        "cause": cause,
    }
    return Half(**{field: known.get(field) for field in Half._fields})  # type: ignore[arg-type]
