"""One direction of a flow as a graph shows it: series over time, marks, and the verdicts."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tcpwhy.explain.facts import Half, Interval
from tcpwhy.graph.segments import FLAGS, KINDS, Columns, Sides, wide

RETRANSMISSIONS = KINDS[1:6]
"""Kinds of segments that carry bytes again."""

PROBES = ("zero_window_probe", "keep_alive")

CWND_MARGIN = 3
"""Segments of room in the receiver window below which it may be what bounds the flight."""


@dataclass(frozen=True)
class Verdict:
    """What limited a direction for a while. Times in ns since the start of the flow."""

    start: int
    end: int
    limitation: str | None
    cause: str | None
    confidence: str | None
    evidence: str | None


@dataclass(frozen=True)
class Trace:
    """What a graph draws of one direction. Arrays of a series have equal lengths."""

    half: Half
    label: str
    span_ns: int
    """From the first packet of the flow to its last."""
    series: dict[str, Columns]
    """By the names of `static/spec.json`; `t` is in ns since the start of the flow, ascending."""
    marks: dict[str, Columns]
    """Rare events by kind: `t`, `y0`, `y1`, `frame`, `proof`, and for a span its end `t1`."""
    verdicts: list[Verdict]
    notes: list[str] = field(default_factory=list)
    """What is not drawn, and why."""

    @property
    def bin_floor_ns(self) -> float:
        """The shortest time over which a rate is taken: a fourth of a round trip, in bounds."""
        least = self.half.rtt_min_ns or 4e6
        return float(min(max(least / 4, 1e4), 1e8))


def trace(
    half: Half,
    intervals: Sequence[Interval],
    segments: Sides,
    blocks: Sides,
    start_ns: int,
    end_ns: int,
) -> Trace:
    """Give what is drawn of a direction, of a flow from `start_ns` to `end_ns`."""
    side = 0 if half.direction == "orig" else 1
    own, peer, sack = segments[side], segments[1 - side], blocks[1 - side]
    series = _sent(own) | _answered(peer)
    series |= _windows(own, series, half)
    return Trace(
        half=half,
        label=half.pair,
        span_ns=max(1, end_ns - start_ns),
        series=series,
        marks=_data_marks(own) | _ack_marks(peer, sack) | _stalls(own),
        verdicts=verdicts(intervals, start_ns),
    )


def verdicts(intervals: Sequence[Interval], start_ns: int) -> list[Verdict]:
    """Give what limited a direction in each of its intervals."""
    return [
        Verdict(
            row.start_ns - start_ns,
            row.end_ns - start_ns,
            row.limitation,
            row.cause,
            row.confidence,
            row.evidence,
        )
        for row in intervals
    ]


def _where(columns: Columns, chosen: Any) -> Columns:
    # Of most flows all are chosen: what is not copied is half of what a trace holds.
    return columns if chosen.all() else {name: v[chosen] for name, v in columns.items()}


def _sent(own: Columns) -> dict[str, Columns]:
    """Give new data, each with the flight size that it made."""
    wanted = ("t", "seq_start", "seq_end", "frame", "flight")
    new = _where({name: own[name] for name in wanted}, own["kind"] == KINDS.index("new"))
    lo, hi = wide(new["seq_start"]), wide(new["seq_end"])
    known = _where({"t": new["t"], "v": new["flight"]}, new["flight"] >= 0)
    return {
        "data": {"t": new["t"], "lo": lo, "hi": hi, "frame": new["frame"]},
        "flight": known | {"v": wide(known["v"])},
    }


def _answered(peer: Columns) -> dict[str, Columns]:
    """Give acknowledgements that moved ack or window, and the round-trip times that they gave."""
    import numpy

    reset = peer["flags"] & _bit("R") != 0
    acks = {name: peer[name] for name in ("t", "ack", "rwnd", "rtt", "frame")}
    acks = _where(acks, (peer["ack"] >= 0) & ~reset & (peer["kind"] != KINDS.index("keep_alive")))
    forward = numpy.maximum.accumulate(acks["ack"]) if len(acks["ack"]) else acks["ack"]
    # An acknowledgement that came late says nothing new of ack or window.
    acks = _where(acks, acks["ack"] == forward)
    ack, rwnd = acks["ack"], acks["rwnd"]
    moved = numpy.ones(len(ack), dtype=bool)
    moved[1:] = (ack[1:] != ack[:-1]) | (rwnd[1:] != rwnd[:-1])
    kept = _where(acks, moved | (acks["rtt"] >= 0))
    windows = _where({name: kept[name] for name in ("t", "ack", "rwnd")}, kept["rwnd"] >= 0)
    room = wide(windows["rwnd"])
    timed = _where({name: peer[name] for name in ("t", "rtt", "frame")}, peer["rtt"] >= 0)
    rtt = wide(timed["rtt"])
    least = numpy.minimum.accumulate(rtt) if len(rtt) else rtt
    lower = numpy.ones(len(least), dtype=bool)
    lower[1:] = least[1:] < least[:-1]
    return {
        "ack": {"t": kept["t"], "v": wide(kept["ack"]), "frame": kept["frame"]},
        "edge": {"t": windows["t"], "v": windows["ack"] + room},
        "rwnd": {"t": windows["t"], "v": room},
        "rtt": {"t": timed["t"], "v": rtt, "frame": timed["frame"]},
        "rtt_min": {"t": timed["t"][lower], "v": least[lower]},
    }


def _windows(own: Columns, series: dict[str, Columns], half: Half) -> dict[str, Columns]:
    """Estimate cwnd: the largest flight of each round trip, where the window left room for more.

    Rounds in which the receiver window left less than a few segments say nothing of cwnd.
    """
    import numpy

    flight, rwnd = series["flight"], series["rwnd"]
    round_ns = half.rtt_mean_ns or half.handshake_rtt_ns
    if not round_ns or not len(flight["t"]):
        return {}
    rounds = flight["t"] // max(1, round_ns)
    starts = numpy.flatnonzero(numpy.diff(rounds, prepend=rounds[0] - 1))
    largest = numpy.maximum.reduceat(flight["v"], starts)
    begin = rounds[starts] * round_ns
    keep = numpy.ones(len(starts), dtype=bool)
    if len(rwnd["t"]):
        at = numpy.maximum(0, numpy.searchsorted(rwnd["t"], begin + round_ns) - 1)
        keep = largest + CWND_MARGIN * (half.effective_mss or 0) < rwnd["v"][at]
    ends = begin + round_ns
    # A gap in the estimate is a value of -1: the line breaks there.
    after = numpy.append(begin[1:], ends[-1]) if len(begin) else begin
    values = numpy.where(keep, largest, -1)
    broken = after > ends + 4 * round_ns
    t = numpy.concatenate([begin, ends[broken]])
    v = numpy.concatenate([values, numpy.full(int(broken.sum()), -1)])
    order = numpy.argsort(t, kind="stable")
    return {"cwnd_estimate": {"t": t[order], "v": v[order]}}


def _data_marks(own: Columns) -> dict[str, Columns]:
    """Give what was not plain new data, and what opens and ends."""
    marks = {}
    for kind in (*RETRANSMISSIONS, "reordered", *PROBES):
        marks[kind] = _mark(own, own["kind"] == KINDS.index(kind))
    marks["syn"] = _mark(own, own["flags"] & _bit("S") != 0)
    marks["fin"] = _mark(own, own["flags"] & _bit("F") != 0)
    marks["rst"] = _mark(own, own["flags"] & _bit("R") != 0)
    marks["ce"] = _mark(own, own["ecn"] == 3)
    marks["cwr"] = _mark(own, own["flags"] & (_bit("C") | _bit("S")) == _bit("C"))
    return marks


def _ack_marks(peer: Columns, sack: Columns) -> dict[str, Columns]:
    import numpy

    acks = peer | {"seq_start": peer["ack"], "seq_end": peer["ack"]}
    congested = peer["flags"] & (_bit("E") | _bit("S")) == _bit("E")
    marks = {
        "duplicate_ack": _mark(acks, peer["kind"] == KINDS.index("duplicate_ack")),
        "ece": _mark(acks, congested & (peer["ack"] >= 0)),
    }
    if len(sack["t"]):
        # RFC 2883: a first block at or below the acknowledgement reports a duplicate.
        below = sack["right"] <= sack["ack"]
        blocks = sack | {"seq_start": sack["left"], "seq_end": sack["right"]}
        marks |= {"sack": _mark(blocks, ~below), "dsack": _mark(blocks, below)}
    told = numpy.flatnonzero((peer["rwnd"] >= 0) & (peer["ack"] >= 0))
    closed = peer["rwnd"][told] == 0
    begins = numpy.flatnonzero(closed & ~numpy.append(False, closed[:-1]))
    windows = _mark(acks, told[begins])
    opens = numpy.flatnonzero(~closed)
    later = numpy.searchsorted(opens, begins)
    last = len(told) - 1
    ends = [int(opens[at]) if at < len(opens) else last for at in later]
    windows["t1"] = peer["t"][told[numpy.asarray(ends, dtype=numpy.int64)]]
    return marks | {"zero_window": windows}


def _stalls(own: Columns) -> dict[str, Columns]:
    """Give the silences longer than the sender's retransmission timeout."""
    import numpy

    is_data = own["kind"] < KINDS.index("syn")
    data = _where({"t": own["t"], "rto": own["rto"]}, is_data)
    behind = numpy.flatnonzero(numpy.diff(data["t"]) > data["rto"][:-1])
    stalls = _mark(own, numpy.flatnonzero(is_data)[behind])
    stalls["t1"] = data["t"][behind + 1]
    return {"stall": stalls}


def _mark(columns: Columns, chosen: Any) -> Columns:
    names = {"t": "t", "y0": "seq_start", "y1": "seq_end", "frame": "frame", "proof": "proof"}
    return {name: wide(columns[of][chosen]) for name, of in names.items() if of in columns}


def _bit(flag: str) -> int:
    return 1 << FLAGS.index(flag)
