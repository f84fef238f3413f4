"""The time-sequence graph in the language of xplot, which tcptrace made known."""

from collections.abc import Iterator
from typing import Any

from tcpwhy.graph.trace import RETRANSMISSIONS, Trace

LETTERS = dict.fromkeys(RETRANSMISSIONS, "R") | {"reordered": "O", "zero_window_probe": "P"}
"""What stands above a segment, as in tcptrace; `K` is a keep-alive, `CE` a mark of a router."""
LETTERS |= {"keep_alive": "K", "ce": "CE", "ece": "ECE", "cwr": "CWR"}
LETTERS |= {"syn": "SYN", "fin": "FIN", "rst": "RST_OUT"}

SPANS = {"zero_window": "Z"}


def xpl(trace: Trace) -> str:
    """Give an xplot file of a direction: times in s since the epoch, relative sequence numbers."""
    return "\n".join(_lines(trace)) + "\n"


def _lines(trace: Trace) -> Iterator[str]:
    start = trace.half.start_ns
    yield "timeval double"
    yield "title"
    yield f"{trace.label.replace('→', '==>')} (time sequence graph)"
    yield "xlabel"
    yield "time"
    yield "ylabel"
    yield "sequence offset"
    data = trace.series.get("data")
    if data is not None:
        yield "white"
        for t, low, high in _rows(data, "t", "lo", "hi"):
            at = _time(start + t)
            yield f"darrow {at} {low}"
            yield f"uarrow {at} {high}"
            yield f"line {at} {low} {at} {high}"
    yield from _held(trace, "ack", "green", start)
    yield from _held(trace, "edge", "yellow", start)
    for kind in ("sack", "dsack"):
        columns = trace.marks.get(kind)
        for t, low, high in _rows(columns, "t", "y0", "y1") if columns else ():
            at = _time(start + t)
            yield "purple"
            yield f"line {at} {max(0, low)} {at} {max(0, high)}"
            yield f"ctext {at} {max(0, high)}"
            yield "S" if kind == "sack" else "D"
    yield from _lettered(trace, start)
    yield "go"


def _held(trace: Trace, name: str, colour: str, start: int) -> Iterator[str]:
    """Draw a series whose values hold until the next."""
    columns = trace.series.get(name)
    if columns is None or not len(columns["t"]):
        return
    yield colour
    before: tuple[int, int] | None = None
    for t, value in _rows(columns, "t", "v"):
        at = _time(start + t)
        if before is not None:
            yield f"line {_time(before[0])} {before[1]} {at} {before[1]}"
            yield f"line {at} {before[1]} {at} {value}"
        before = (start + t, value)


def _lettered(trace: Trace, start: int) -> Iterator[str]:
    for kind, letter in (LETTERS | SPANS).items():
        columns = trace.marks.get(kind)
        if columns is None or not len(columns["t"]):
            continue
        yield "red" if kind in RETRANSMISSIONS else "white"
        for t, low, high in _rows(columns, "t", "y0", "y1"):
            at = _time(start + t)
            low, high = max(0, low), max(0, high)
            if high > low:
                yield f"line {at} {low} {at} {high}"
            yield f"atext {at} {high}"
            yield letter


def _rows(columns: dict[str, Any], *names: str) -> Iterator[tuple[int, ...]]:
    return zip(*(columns[name].tolist() for name in names), strict=True)


def _time(ns: int) -> str:
    """Write a time as xplot reads it: it keeps microseconds."""
    return f"{ns // 10**9}.{ns % 10**9 // 1000:06d}"
