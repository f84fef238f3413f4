"""The segments of one flow as columns of numbers, taken batch by batch from what the core filed."""

import itertools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tcpwhy._core import Batch, Rows
from tcpwhy.extras import require

if TYPE_CHECKING:
    import duckdb

KINDS = (
    "new",
    "fast_retransmission",
    "rto_retransmission",
    "tlp_retransmission",
    "spurious_retransmission",
    "retransmission",
    "reordered",
    "zero_window_probe",
    "keep_alive",
    "syn",
    "fin",
    "rst",
    "duplicate_ack",
    "ack",
)
"""Kinds of segments that a graph shows, by their codes; others, copies of mirror ports, are not."""

FLAGS = "SFREC"
"""TCP flags that a graph shows, by their bits from the lowest."""

BATCHES = 32
"""Batches that are converted at once: 262,144 segments."""

_BITS = " + ".join(f"{1 << bit} * contains(flags, '{flag}')::INT" for bit, flag in enumerate(FLAGS))
_QUERY = f"""SELECT (direction = 'resp')::UTINYINT AS side, frame::BIGINT AS frame, ts_ns,
    seq_start, seq_end - contains(flags, 'S')::INT - contains(flags, 'F')::INT AS seq_end,
    coalesce(ack, -2) AS ack, coalesce(rwnd, -1)::BIGINT AS rwnd,
    coalesce(flight_size, -1)::BIGINT AS flight, coalesce(rtt_ns, -1) AS rtt, rto_ns AS rto,
    (list_position({list(KINDS)!r}, kind) - 1)::UTINYINT AS kind,
    coalesce(proof_frame, 0)::BIGINT AS proof, ({_BITS})::UTINYINT AS flags, ecn::UTINYINT AS ecn
    FROM batch WHERE list_contains({list(KINDS)!r}, kind) ORDER BY frame"""
_BLOCKS = """SELECT (direction = 'resp')::UTINYINT AS side, frame::BIGINT AS frame, ts_ns, ack,
    regexp_extract(block, '^(-?\\d+)-', 1)::BIGINT AS "left",
    regexp_extract(block, '-(-?\\d+)$', 1)::BIGINT AS "right"
    FROM (SELECT *, string_split(sack, ' ')[1] AS block FROM batch
        WHERE sack IS NOT NULL AND ack IS NOT NULL AND kind <> 'duplicate_frame') ORDER BY frame"""


_SEGMENT = "side frame ts_ns seq_start seq_end ack rwnd flight rtt rto kind proof flags ecn".split()
_BLOCK = "side frame ts_ns ack left right".split()

Columns = dict[str, Any]
"""Columns of equal length by name: numpy arrays."""


def columns(batches: Iterable[Batch]) -> tuple[Columns, Columns]:
    """Give the segments, and the newest SACK block of each acknowledgement that has any."""
    import duckdb

    with duckdb.connect() as connection:
        segments: list[Columns] = []
        blocks: list[Columns] = []
        rest = iter(batches)
        while group := list(itertools.islice(rest, BATCHES)):
            connection.register("batch", Rows("segments", group))
            segments.append(_fetch(connection, _QUERY))
            blocks.append(_fetch(connection, _BLOCKS))
    return _joined(segments, _QUERY), _joined(blocks, _BLOCKS)


def stored(connection: "duckdb.DuckDBPyConnection", flow_id: int) -> tuple[Columns, Columns]:
    """Give the same of the table `segments` of a store."""
    table = f"(FROM segments WHERE flow_id = {flow_id:d})"
    queries = (query.replace("FROM batch", f"FROM {table}") for query in (_QUERY, _BLOCKS))
    segments, blocks = (_fetch(connection, query) for query in queries)
    return segments, blocks


def _fetch(connection: "duckdb.DuckDBPyConnection", query: str) -> Columns:
    require("numpy", extra="graph")
    found: Columns = connection.execute(query).fetchnumpy()
    return found


def _joined(parts: list[Columns], query: str) -> Columns:
    import numpy

    if not parts:
        names = _SEGMENT if query == _QUERY else _BLOCK
        return {name: numpy.zeros(0, dtype=numpy.int64) for name in names}
    # A column's parts go as soon as it is whole: of ten million segments they are 100 MB.
    return {
        name: numpy.concatenate([numpy.asarray(part.pop(name)) for part in parts])
        for name in list(parts[0])
    }
