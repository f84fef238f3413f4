"""What a live run has said lately, kept for whoever looks at it.

It is a sink: rows come in batches, and are chosen in SQL, so that of a million flows only the
heaviest get here. Whoever draws takes a snapshot.
"""

import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tcpwhy._core import Batch
from tcpwhy.sinks import Capabilities
from tcpwhy.terminal.overview import endpoint

HALVES = 512
"""Halves that are kept. Beyond, those go first that have ended, then those silent longest."""

PER_BATCH = 256
"""New halves that one batch may bring: more than anyone reads."""

MOMENTS = 240
"""Intervals that are kept of a half, and of the whole."""


class Moment(NamedTuple):
    """What one interval said about a half; the names are columns of `intervals`."""

    start_ns: int
    end_ns: int
    unique_bytes: int
    retransmitted_bytes: int
    throughput_bps: float | None
    rtt_mean_ns: int | None
    limitation: str | None
    cause: str | None
    confidence: str | None
    null_reason: str | None
    evidence: str | None
    remedy: str | None
    headroom_bps: float | None
    next_limitation: str | None
    share_application: float | None
    share_receiver_window: float | None
    share_network: float | None
    share_recovery: float | None

    @property
    def limit(self) -> str:
        """Name what limited it."""
        return self.cause or self.limitation or "–"


@dataclass
class Row:
    """A half that is followed."""

    key: tuple[int, str]
    """Flow and direction."""
    src: str
    dst: str
    moments: deque[Moment] = field(default_factory=lambda: deque(maxlen=MOMENTS))
    unique_bytes: int = 0
    """Payload since it is followed, or all of it when it has ended."""
    ended: str | None = None
    """Its `conn_state`, once the flow has ended."""
    whole: Moment | None = None
    """What was said about all of it, once it has ended."""

    @property
    def last(self) -> Moment:
        """What was said last."""
        return self.moments[-1]

    @property
    def pair(self) -> str:
        """Who sends to whom."""
        return f"{self.src} → {self.dst}"


@dataclass(frozen=True)
class Snapshot:
    """The board at one moment."""

    rows: list[Row]
    totals: list[tuple[int, dict[str, int]]]
    """Payload bytes by limitation (empty where none is known) of each step, oldest first."""
    now_ns: int
    """End of the newest interval."""
    halves: int
    """Halves with data in the last step, kept here or not."""


class Board:
    """Takes batches from one thread, gives snapshots to another."""

    capabilities = Capabilities(("intervals", "flows"))

    def __init__(self, step_ns: int) -> None:
        """Sum up the whole by steps of this length: the interval of the run."""
        self.step_ns = step_ns
        self._lock = threading.Lock()
        self._rows: dict[tuple[int, str], Row] = {}
        self._totals: dict[int, dict[str, int]] = {}
        self._halves: dict[int, int] = {}
        self._now_ns = 0
        self._connection: Any = None

    def write(self, table: str, batch: Batch) -> None:
        """Take a batch; always called from the same thread."""
        if not len(batch):
            return
        connection = self._connected()
        connection.register("batch", batch)
        with self._lock:
            followed = [flow for flow, _ in self._rows]
        heavy = f"{_HALF}, {', '.join(Moment._fields)}"
        if table == "flows":
            rows = connection.execute(_heaviest(f"{heavy}, conn_state"), [followed]).fetchall()
            with self._lock:
                for row in rows:
                    self._end(row)
            return
        sums = connection.execute(_SUMS, [self.step_ns]).fetchall()
        rows = connection.execute(_heaviest(heavy), [followed]).fetchall()
        with self._lock:
            self._add(sums)
            for row in rows:
                self._follow(row)
            self._forget()

    def flush(self) -> None:
        """Do nothing: snapshots are of what is there."""

    def close(self) -> None:
        """Finish; what is there stays."""

    def snapshot(self) -> Snapshot:
        """Copy what is there."""
        with self._lock:
            rows = [
                Row(row.key, row.src, row.dst, row.moments.copy(), row.unique_bytes, row.ended,
                    row.whole)
                for row in self._rows.values()
            ]  # fmt: skip
            totals = [(at * self.step_ns, dict(self._totals[at])) for at in sorted(self._totals)]
            # The newest step is still being filled.
            halves = max((self._halves[at] for at in sorted(self._halves)[-2:]), default=0)
            return Snapshot(rows, totals, self._now_ns, halves)

    def _connected(self) -> Any:
        if self._connection is None:
            import duckdb

            # One thread: the others are for packets.
            self._connection = duckdb.connect(config={"threads": 1})
        return self._connection

    def _add(self, sums: Iterable[tuple[int, str, int, int, int]]) -> None:
        for step, limitation, size, halves, end_ns in sums:
            at = self._totals.setdefault(step, {})
            at[limitation] = at.get(limitation, 0) + size
            self._halves[step] = self._halves.get(step, 0) + halves
            self._now_ns = max(self._now_ns, end_ns)
        for step in sorted(self._totals)[:-MOMENTS]:
            del self._totals[step], self._halves[step]

    def _row(self, found: tuple[Any, ...]) -> Row:
        flow, direction, src, src_port, dst, dst_port = found
        key = (flow, direction)
        if key not in self._rows:
            self._rows[key] = Row(key, endpoint(src, src_port), endpoint(dst, dst_port))
        return self._rows[key]

    def _follow(self, found: tuple[Any, ...]) -> None:
        row, moment = self._row(found[:6]), Moment(*found[6:])
        row.moments.append(moment)
        row.unique_bytes += moment.unique_bytes

    def _end(self, found: tuple[Any, ...]) -> None:
        row, moment = self._row(found[:6]), Moment(*found[6:-1])
        row.whole, row.ended, row.unique_bytes = moment, found[-1], moment.unique_bytes
        if not row.moments:
            row.moments.append(moment)
        self._now_ns = max(self._now_ns, moment.end_ns)

    def _forget(self) -> None:
        def worth(row: Row) -> tuple[bool, int, int]:
            return (row.ended is None, row.last.end_ns, row.unique_bytes)

        if len(self._rows) > HALVES:
            kept = sorted(self._rows.values(), key=worth, reverse=True)[:HALVES]
            self._rows = {row.key: row for row in kept}


_HALF = "flow_id, direction, src, src_port, dst, dst_port"
_SUMS = """SELECT end_ns // $1, coalesce(limitation, ''), sum(unique_bytes)::BIGINT,
    count(DISTINCT (flow_id, direction)), max(end_ns) FROM batch GROUP BY ALL"""


def _heaviest(columns: str) -> str:
    """Choose the halves that are followed, and the heaviest of the others."""
    return f"""SELECT {columns} FROM batch
        LEFT JOIN (SELECT DISTINCT unnest($1::UBIGINT[]) AS followed) ON followed = flow_id
        WHERE unique_bytes > 0
        QUALIFY followed IS NOT NULL
            OR row_number() OVER (PARTITION BY followed IS NULL ORDER BY unique_bytes DESC)
                <= {PER_BATCH}
        ORDER BY end_ns"""
