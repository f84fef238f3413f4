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

BATCHES = 8
"""Batches that are converted at once: 65,536 segments."""

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


_SEGMENT = "frame ts_ns seq_start seq_end ack rwnd flight rtt rto kind proof flags ecn".split()
_BLOCK = "frame ts_ns ack left right".split()

Columns = dict[str, Any]
"""Columns of equal length by name: numpy arrays."""

Sides = tuple[Columns, Columns]
"""What the one that opened the connection sent, and what the other one sent, in order of time.

Numbers are as narrow as they can be: whoever computes with them makes them wide first.
"""


def columns(batches: Iterable[Batch]) -> tuple[Sides, Sides]:
    """Give the segments, and the newest SACK block of each acknowledgement that has any."""
    import duckdb

    segments, blocks = _Growing(_SEGMENT), _Growing(_BLOCK)
    with duckdb.connect() as connection:
        rest = iter(batches)
        while group := list(itertools.islice(rest, BATCHES)):
            connection.register("batch", Rows("segments", group))
            segments.add(_fetch(connection, _QUERY))
            blocks.add(_fetch(connection, _BLOCKS))
    return segments.sides(), blocks.sides()


def stored(connection: "duckdb.DuckDBPyConnection", flow_id: int) -> tuple[Sides, Sides]:
    """Give the same of the table `segments` of a store."""
    table = f"(FROM segments WHERE flow_id = {flow_id:d})"
    queries = (query.replace("FROM batch", f"FROM {table}") for query in (_QUERY, _BLOCKS))
    segments, blocks = (_in_time(_fetch(connection, query)) for query in queries)
    return segments, blocks


def wide(values: Any) -> Any:
    """Give numbers with all the room that a sum or a difference needs."""
    import numpy

    return values.astype(numpy.int64, copy=False)


def _fetch(connection: "duckdb.DuckDBPyConnection", query: str) -> Sides:
    require("numpy", extra="graph")
    found: Columns = connection.execute(query).fetchnumpy()
    is_resp = found.pop("side") == 1
    orig, resp = Columns(), Columns()
    for name in list(found):
        values = found.pop(name)
        orig[name], resp[name] = _narrow(values[~is_resp]), _narrow(values[is_resp])
    return orig, resp


def _narrow(values: Any) -> Any:
    """Give numbers in as few bytes as hold the least and the largest of them."""
    import numpy

    values = numpy.asarray(values)
    least, most = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    kinds = (numpy.int8, numpy.int16, numpy.int32, numpy.int64)
    fit = (k for k in kinds if numpy.iinfo(k).min <= least and most <= numpy.iinfo(k).max)
    return values.astype(next(fit), copy=False)


class _Growing:
    """Columns of both sides that grow where they are: parts to join would be in memory twice."""

    def __init__(self, names: list[str]) -> None:
        import numpy

        self._sides: Sides = (
            {name: numpy.zeros(0, dtype=numpy.int8) for name in names},
            {name: numpy.zeros(0, dtype=numpy.int8) for name in names},
        )

    def add(self, more: Sides) -> None:
        import numpy

        for columns, part in zip(self._sides, more, strict=True):
            for name, values in part.items():
                kind = numpy.promote_types(columns[name].dtype, values.dtype)
                grown = columns.pop(name).astype(kind, copy=False)
                rows = len(grown)
                grown.resize(rows + len(values), refcheck=False)
                grown[rows:] = values
                columns[name] = grown

    def sides(self) -> Sides:
        return _in_time(self._sides)


def _in_time(sides: Sides) -> Sides:
    """Sort by time where it is needed, and keep the order of frames."""
    import numpy

    for columns in sides:
        if (columns["ts_ns"][1:] < columns["ts_ns"][:-1]).any():
            order = numpy.argsort(columns["ts_ns"], kind="stable")
            for name in list(columns):
                columns[name] = columns[name][order]
    return sides
