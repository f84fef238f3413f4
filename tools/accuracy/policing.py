"""The captures of the policing study (Flach et al., SIGCOMM 2016), whose names are their truth.

A file's name says what the path did, how large the chunks of the application were, and how long it
was silent between them. When a chunk was being sent is read from the sequence numbers: the chunk
ends at a multiple of its length. Rows of which three quarters lie in chunks must name what the path
did; rows of which three quarters lie in silence must say that the application was idle; the rest is
left out and counted.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import tcpwhy
from accuracy.judged import Judged

TABLES = ("intervals", "periods", "flows")
MOST = 0.75
"""Share of a row's time that must lie in chunks, or in silence."""
SHORTEST_S = 0.5
SERVER = "10.0.0.4"
FOREGROUND, BACKGROUND = (1234, 1235), 5001
"""The server's ports for chunks, and the client's of the iperf flow beside them."""

ALLOWED = {
    "policer": ("policer",),
    "policer, shared": ("policer", "shared_bottleneck"),
    "shaper": ("unshared_bottleneck",),
    "shaper, tiny buffer": ("unshared_bottleneck",),
    "shaper with a flow beside": ("shared_bottleneck",),
    "random loss": ("random_loss",),
}
BETWEEN = "between chunks"


class Capture(NamedTuple):
    """One file of the study."""

    path: Path
    number: int
    family: str
    chunk_bytes: int

    @property
    def part(self) -> str:
        """Thresholds are developed on one half; the other one is for reports."""
        return "report" if self.number % 2 else "development"


@dataclass
class Outcome:
    """What one capture gave, by table."""

    rows: dict[str, list[Judged]] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)


class Chunk(NamedTuple):
    """When a chunk was sent, and until when the receiver had not acknowledged it all."""

    start_ns: int
    sent_ns: int
    acked_ns: int


def captures(folder: Path) -> list[Capture]:
    """The captures of the study that are there."""
    with (folder / "manifest.csv").open(newline="") as manifest:
        rows = [row for row in csv.DictReader(manifest) if row["file"].startswith("policing/")]
    found = []
    for row in rows:
        path = folder / row["file"]
        name = Path(row["path"]).name
        number = re.match(r"b(\d+)", path.name)
        if path.exists() and number:
            found.append(Capture(path, int(number[1]), family(name), int(settings(name)["L"])))
    return found


def settings(name: str) -> dict[str, str]:
    """What a name says, by key."""
    return dict(re.findall(r"(\w+)=([\d.]+)", name))


def family(name: str) -> str:
    """What limits while a chunk is sent, as a key of ALLOWED."""
    said = settings(name)
    beside = said.get("XT") == "1"
    if "PCIR" in said:
        return "policer, shared" if beside or "CD2" in said else "policer"
    if float(said.get("LOSS", 0)) > 0:
        return "random loss"
    if beside:
        return "shaper with a flow beside"
    tiny = int(said.get("SBC", TINY_BYTES)) < TINY_BYTES
    return "shaper, tiny buffer" if tiny else "shaper"


def run_all(found: Iterable[Capture], workers: int | None = None) -> Iterator[Outcome]:
    """Analyse and judge captures on all cores."""
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from pool.map(outcome, found, chunksize=2)


def outcome(capture: Capture) -> Outcome:
    """Analyse one capture and judge the rows of its foreground halves."""
    result = tcpwhy.analyze(capture.path, table=TABLES, workers=1)
    rows = {table: result.to_arrow(table).to_pylist() for table in TABLES}
    found = Outcome({table: [] for table in TABLES})
    for flow in rows["flows"]:
        if not _is_judged(capture, flow):
            continue
        chunks = _chunks(capture, flow)
        for table in TABLES:
            mine = [row for row in rows[table] if _half(row) == _half(flow)]
            for row in filter(_is_long, mine):
                expected = expectation(capture.family, chunks, row["start_ns"], row["end_ns"])
                if expected is None:
                    found.left_out[table] += 1
                else:
                    found.rows[table].append(_judged(capture, row, flow, *expected))
    return found


def expectation(
    kind: str, chunks: list[Chunk], start_ns: int, end_ns: int
) -> tuple[str, tuple[str, ...]] | None:
    """What is right for a row: the family and its words, or that the application was idle."""

    def overlap(a: int, b: int) -> int:
        return max(0, min(b, end_ns) - max(a, start_ns))

    length = end_ns - start_ns
    sending = sum(overlap(chunk.start_ns, chunk.sent_ns) for chunk in chunks)
    silent = length - sum(overlap(chunk.start_ns, chunk.acked_ns) for chunk in chunks)
    if sending >= MOST * length:
        return kind, ALLOWED[kind]
    if silent >= MOST * length:
        return BETWEEN, ("application/idle",)
    return None


def chunks_of(rows: Iterable[dict[str, Any]], direction: str, chunk_bytes: int) -> list[Chunk]:
    """When chunks were sent, from the segments of a flow in the order of time."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    acked: dict[int, int] = {}
    for row in rows:
        now = row["ts_ns"]
        if row["direction"] != direction:
            for number in first.keys() - acked.keys():
                if row["ack"] is not None and row["ack"] >= (number + 1) * chunk_bytes:
                    acked[number] = now
        elif row["seq_end"] > max(row["seq_start"], 0):
            number = (row["seq_end"] - 1) // chunk_bytes
            first.setdefault(number, now)
            last[number] = now
    return [
        Chunk(start, last[number], max(last[number], acked.get(number, last[number])))
        for number, start in sorted(first.items())
    ]


def _chunks(capture: Capture, flow: dict[str, Any]) -> list[Chunk]:
    if flow["src_port"] not in FOREGROUND:
        return [Chunk(flow["start_ns"], flow["end_ns"], flow["end_ns"])]
    segments = tcpwhy.analyze(capture.path, table="segments", flow=flow["flow_id"], workers=1)
    columns = ["ts_ns", "direction", "seq_start", "seq_end", "ack"]
    rows = segments.to_arrow("segments").select(columns).to_pylist()
    return chunks_of(rows, flow["direction"], capture.chunk_bytes)


def _is_judged(capture: Capture, flow: dict[str, Any]) -> bool:
    if flow["src"] != SERVER or flow["data_packets"] < FEWEST_PACKETS:
        return False
    beside = capture.family == "shaper with a flow beside" and flow["dst_port"] == BACKGROUND
    return flow["src_port"] in FOREGROUND or beside


def _is_long(row: dict[str, Any]) -> bool:
    return bool(row["data_packets"]) and bool(row["end_ns"] - row["start_ns"] >= SHORTEST_S * 1e9)


def _half(row: dict[str, Any]) -> tuple[int, str]:
    return row["flow_id"], row["direction"]


def _judged(
    capture: Capture,
    row: dict[str, Any],
    flow: dict[str, Any],
    expected: str,
    words: tuple[str, ...],
) -> Judged:
    return Judged(
        group=capture.part,
        name=f"b{capture.number:04}",
        variant=capture.family,
        tap=str(flow["src_port"]),
        start_s=(row["start_ns"] - flow["start_ns"]) / 1e9,
        end_s=(row["end_ns"] - flow["start_ns"]) / 1e9,
        expected=expected,
        allowed=words,
        cause=row["cause"],
        paper=row["limitation_siekkinen"],
        confidence=row["confidence"],
        is_mixed=row["limitation"] == "mixed",
        evidence=row["evidence"] or "",
    )


TINY_BYTES = 100_000
FEWEST_PACKETS = 10
