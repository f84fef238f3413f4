"""The segments of one flow around a frame, and what they say about it."""

from collections import deque
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from tcpwhy import _core
from tcpwhy._core import Batch, UsageError
from tcpwhy.analysis import Result, analyze

MOST_BATCHES = 8
"""Batches of segments kept on either side of the frame: 65,536 segments of the flow."""


class Segment(NamedTuple):
    """A row of the segments table; sequence numbers as Wireshark shows them, from 1."""

    frame: int
    ts_ns: int
    direction: str
    start: int
    """Sequence number of the first byte."""
    end: int
    """Sequence number after the last byte, SYN and FIN counted."""
    ack: int | None
    rwnd: int | None
    window_raw: int
    flight_size: int | None
    kind: str
    rule: str | None
    proof_frame: int | None
    spurious_bytes: int
    rto_ns: int
    srtt_ns: int | None
    tsval: int | None
    tsecr: int | None
    ip_id: int
    sack: str | None
    flags: str

    @property
    def payload(self) -> int:
        """Bytes of payload."""
        return self.end - self.start - self.flags.count("S") - self.flags.count("F")

    @property
    def blocks(self) -> list[tuple[int, int]]:
        """SACK blocks: first byte, byte after the last."""
        pairs = (block.rpartition("-") for block in (self.sack or "").split())
        return [(int(left) + 1, int(right) + 1) for left, _, right in pairs]


_COLUMNS = """frame, ts_ns, direction, "start", "end", acked, rwnd, window_raw, flight_size, kind,
    rule, proof_frame, spurious_bytes, rto_ns, srtt_ns, tsval, tsecr, ip_id, sack, flags"""
_NUMBERED = """SELECT *, seq_start + 1 AS "start", seq_end + 1 AS "end", ack + 1 AS acked,
    seq_end - seq_start - contains(flags, 'S')::INT - contains(flags, 'F')::INT AS payload
    FROM rows_of_flow"""


class Flow(NamedTuple):
    """The flow that the frame belongs to."""

    flow_id: int
    community_id: str
    src: str
    src_port: int
    dst: str
    dst_port: int
    start_ns: int
    handshake_rtt_ns: int | None


class Trace:
    """The segments of a flow around a frame. `segment` is that of the frame."""

    def __init__(self, capture: str | PathLike[str], frame: int) -> None:
        """Read the capture twice: to learn which flow it is, then for the flow.

        Raises:
            UsageError: when there is no such frame, or no TCP in it.
            InputError: for a capture that cannot be read.

        """
        import duckdb

        if str(capture) == "-":
            raise UsageError("the capture is read twice: a file, not standard input")
        if Path(capture).is_dir():
            raise UsageError(f"{capture} is a store, which has no frames: name the capture")
        self._connection = duckdb.connect()
        flow_id = self._find(capture, frame)
        result = analyze(capture, table=("segments", "flows"), flow=flow_id)
        segments, flows = _around(result, self._connection, frame)
        self._connection.register("rows_of_flow", _core.Rows("segments", segments))
        self._connection.execute(f"CREATE TABLE numbered AS {_NUMBERED}")
        self._connection.register("flows", _core.Rows("flows", flows))
        (self.segment,) = self._select("frame = $frame", {"frame": frame})
        self.flow = self._flow(flow_id)

    def _find(self, capture: str | PathLike[str], frame: int) -> int:
        result = analyze(capture, table="segments", frame=frame)
        self._connection.register("found", result.rows("segments"))
        found = self._connection.execute("SELECT flow_id FROM found").fetchall()
        if not found:
            read = result.counters["packets_read"]
            if frame > read:
                raise UsageError(f"no frame {frame}: the capture has {read}")
            raise UsageError(f"frame {frame} has no TCP segment that can be followed")
        return int(found[0][0])

    def _flow(self, flow_id: int) -> Flow:
        query = f"SELECT {', '.join(Flow._fields)} FROM flows WHERE direction = $direction"
        parameters = {"direction": self.segment.direction}
        found = self._connection.execute(query, parameters).fetchall()
        if not found:
            raise UsageError(f"flow {flow_id} did not end: was the analysis interrupted?")
        return Flow(*found[0])

    def mine(self, where: str, **parameters: Any) -> list[Segment]:
        """Find segments of the same direction, mirror copies left out, in the order of capture.

        Conditions name the columns of the segments table, `"start"`, `"end"`, `acked` (as Wireshark
        numbers them) and `payload`; `$frame` is this frame, `$start` and `$end` are its bytes.
        """
        return self._query(f"direction = $direction AND ({where})", parameters)

    def theirs(self, where: str, **parameters: Any) -> list[Segment]:
        """Find segments of the other direction, likewise."""
        return self._query(f"direction <> $direction AND ({where})", parameters)

    def frames(self, frames: Sequence[int]) -> list[Segment]:
        """Find segments by their frames."""
        return self._select("list_contains($frames, frame)", {"frames": list(frames)})

    def copies_too(self, where: str, **parameters: Any) -> list[Segment]:
        """Find segments of both directions, copies of a mirror port included."""
        return self._query(where, parameters, copies=True)

    def ask(self, query: str, **parameters: Any) -> tuple[Any, ...]:
        """Ask for one row about `numbered`: all segments, with "start", "end" and acked."""
        found = self._connection.execute(query, self._used(query, parameters)).fetchall()
        return found[0] if found else ()

    def _query(
        self, where: str, parameters: dict[str, Any], *, copies: bool = False
    ) -> list[Segment]:
        used = self._used(where, parameters)
        return self._select(where if copies else f"kind <> 'duplicate_frame' AND {where}", used)

    def _used(self, text: str, parameters: dict[str, Any]) -> dict[str, Any]:
        segment = self.segment
        known = {
            "frame": segment.frame,
            "direction": segment.direction,
            "start": segment.start,
            "end": segment.end,
        } | parameters
        return {name: value for name, value in known.items() if f"${name}" in text}

    def _select(self, where: str, parameters: dict[str, Any]) -> list[Segment]:
        query = f"SELECT {_COLUMNS} FROM numbered WHERE {where} ORDER BY frame"
        rows = self._connection.execute(query, parameters).fetchall()
        return [Segment(*row) for row in rows]


def _around(result: Result, connection: Any, frame: int) -> tuple[list[Batch], list[Batch]]:
    """Keep the batches of segments around a frame, and those of the flow."""
    segments: deque[Batch] = deque()
    flows: list[Batch] = []
    ahead = 0
    for table, batch in result.batches():
        if table == "flows":
            flows.append(batch)
        elif table == "segments" and ahead <= MOST_BATCHES:
            segments.append(batch)
            connection.register("batch", batch)
            ((newest,),) = connection.execute("SELECT max(frame) FROM batch").fetchall()
            if newest >= frame:
                ahead += 1
            elif len(segments) > MOST_BATCHES:
                segments.popleft()
    return list(segments), flows
