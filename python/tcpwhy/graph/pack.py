"""Packs a trace for a page: differences between neighbours, byte by byte, gzip, base64.

Neighbouring times and sequence numbers differ by little and by much the same, so that a segment
takes two or three bytes. `static/unpack.js` reads it.
"""

import base64
import gzip
from dataclasses import asdict
from typing import Any

from tcpwhy.graph.layout import Spec
from tcpwhy.graph.segments import Columns
from tcpwhy.graph.summary import named, summary
from tcpwhy.graph.trace import Trace

MANY = 50_000
"""Round-trip times from which on they are rounded, to a thousandth or less."""

LEVEL = 6
"""Effort of gzip. More makes times of segments, most of a page, hardly smaller."""

Packed = dict[str, Any]


def packed(spec: Spec, trace: Trace) -> Packed:
    """Give a trace as JSON has it."""
    half = trace.half
    return {
        "label": trace.label,
        "flow": f"{half.flow_id} {half.direction}",
        "summary": summary(trace),
        "evidence": half.evidence,
        "remedy": half.remedy,
        "start_ns": str(half.start_ns),
        "span_ns": trace.span_ns,
        "bin_floor_ns": trace.bin_floor_ns,
        "verdicts": [
            asdict(verdict) | {"name": named(verdict.limitation, verdict.cause)}
            for verdict in trace.verdicts
        ],
        "notes": trace.notes,
        "series": _series(trace),
        "marks": {
            mark["id"]: _mark(trace.marks[mark["id"]])
            for mark in spec["marks"]
            if mark["id"] in trace.marks and len(trace.marks[mark["id"]]["t"])
        },
    }


def _series(trace: Trace) -> Packed:
    """Pack the series. Times that another series has are not repeated."""
    filled = {name: columns for name, columns in trace.series.items() if len(columns["t"])}
    done: Packed = {}
    for name, columns in filled.items():
        entry = _bars(columns) if "lo" in columns else _values(name, columns, filled)
        entry["t"] = _times(name, columns["t"], filled, done)
        done[name] = entry
    if "rtt" in done and "ack" in done:
        done["rtt"] = _along(filled["rtt"], filled["ack"]) or done["rtt"]
    return done


def _bars(columns: Columns) -> Packed:
    import numpy

    lo, hi = columns["lo"], columns["hi"]
    gap = lo - numpy.concatenate(([0], hi[:-1]))
    return {
        "gap": column(gap, "plain"),
        "len": column(hi - lo, "plain"),
        "frame": column(columns["frame"], "delta"),
    }


def _values(name: str, columns: Columns, filled: dict[str, Columns]) -> Packed:
    values = columns["v"]
    if name == "edge":
        # The edge is where the acknowledgement and the window end, which are there as well.
        return {"v": column(values - filled["rwnd"]["v"], "delta"), "plus": "rwnd"}
    if name == "rtt":
        values = _rounded(values)
    entry = {"v": column(values, "delta")}
    if name == "ack":
        entry["frame"] = column(columns["frame"], "delta")
    return entry


def _rounded(values: Any) -> Any:
    import numpy

    if len(values) < MANY:
        return values
    unit = 10 ** max(0, int(numpy.log10(max(1, int(values.min()) // 1000))))
    return (values + unit // 2) // unit * unit


def _times(name: str, t: Any, filled: dict[str, Columns], done: Packed) -> Packed:
    import numpy

    for other in done:
        if "same" not in done[other]["t"] and numpy.array_equal(t, filled[other]["t"]):
            return {"same": other}
    return column(t, "delta")


def _along(rtt: Columns, ack: Columns) -> Packed | None:
    """Pack round-trip times beside the acknowledgements that gave them; 0 stands for none."""
    import numpy

    at = numpy.searchsorted(ack["frame"], rtt["frame"])
    at = numpy.minimum(at, len(ack["frame"]) - 1)
    if not numpy.array_equal(ack["frame"][at], rtt["frame"]):
        return None
    values = numpy.zeros(len(ack["t"]), dtype=numpy.int64)
    values[at] = _rounded(rtt["v"]) + 1
    return {"v": column(values, "plain"), "along": "ack"}


def _mark(columns: Columns) -> Packed:
    entry = {
        "t": column(columns["t"], "delta"),
        "y0": column(columns["y0"], "delta"),
        "len": column(columns["y1"] - columns["y0"], "plain"),
        "frame": column(columns["frame"], "delta"),
    }
    if "t1" in columns:
        entry["span"] = column(columns["t1"] - columns["t"], "plain")
    if "proof" in columns and columns["proof"].any():
        entry["proof"] = column(columns["proof"], "delta")
    return entry


def column(values: Any, how: str) -> Packed:
    """Pack whole numbers: as they are (`plain`) or as differences (`delta`).

    What all of them are a multiple of is divided out, and the sign moved to the lowest bit. The
    bytes of all numbers are laid together by their weight: gzip finds little else to do.
    """
    import numpy

    numbers = values.astype(numpy.int64)
    if how == "delta":
        numbers = numpy.diff(numbers, prepend=numpy.int64(0))
    unit = max(1, int(numpy.gcd.reduce(numbers))) if len(numbers) else 1
    numbers //= unit
    folded = ((numbers << 1) ^ (numbers >> 63)).astype(numpy.uint64)
    planes = max(1, (int(folded.max()).bit_length() + 7) // 8) if len(folded) else 1
    by_weight = folded.astype("<u8").view(numpy.uint8).reshape(-1, 8)[:, :planes].T
    data = gzip.compress(numpy.ascontiguousarray(by_weight).tobytes(), LEVEL, mtime=0)
    text = base64.b64encode(data).decode()
    return {"n": len(numbers), "how": how, "unit": unit, "planes": planes, "data": text}
