"""What other connections between the same hosts moved meanwhile: they pass the same path."""

from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

from tcpwhy import vocabulary
from tcpwhy.analysis import analyze
from tcpwhy.explain.choice import Candidate, Watch
from tcpwhy.explain.facts import Beside, Half

if TYPE_CHECKING:
    import duckdb


def of_tables(connection: "duckdb.DuckDBPyConnection", halves: Sequence[Half]) -> dict[str, Beside]:
    """Find them in a table `flows`, by direction, for the halves to which they matter."""
    found = {}
    for half in filter(matters, halves):
        asked = {name: getattr(half, name) for name in ASKED}
        connections, moved, biggest = connection.execute(QUERY, asked).fetchall()[0]
        if connections:
            found[half.direction] = Beside(connections, moved, Candidate(**biggest))
    return found


def of_capture(
    capture: str, halves: Sequence[Half], watch: Watch = nullcontext
) -> dict[str, Beside]:
    """Find them in a capture, whose rows are dropped as they come."""
    import duckdb

    found: dict[str, Beside] = {}
    if not any(map(matters, halves)):
        return found
    result = analyze(capture, table="flows")
    with duckdb.connect() as connection, watch(result):
        for table, batch in result.batches():
            if table == "flows":
                connection.register(table, batch)
                for direction, more in of_tables(connection, halves).items():
                    found[direction] = _both(found[direction], more) if direction in found else more
    return found


def matters(half: Half) -> bool:
    """Whether the path held this half back, so that it matters who else is on it."""
    limitation = vocabulary.limitation(half.limitation)
    return limitation is not None and "network" in limitation.owners and half.unique_bytes > 0


def _both(one: Beside, other: Beside) -> Beside:
    biggest = max(one.biggest, other.biggest, key=lambda each: each.unique_bytes)
    connections = one.connections + other.connections
    return Beside(connections, one.meanwhile_bytes + other.meanwhile_bytes, biggest)


ASKED = ("flow_id", "src", "dst", "tunnel", "start_ns", "end_ns")
QUERY = """
    WITH others AS (
        SELECT flow_id, src, src_port, dst, dst_port, unique_bytes::DOUBLE
            * (least(end_ns, $end_ns) - greatest(start_ns, $start_ns))
            / greatest(end_ns - start_ns, 1) AS meanwhile
        FROM flows
        WHERE src = $src AND dst = $dst AND tunnel IS NOT DISTINCT FROM $tunnel
            AND flow_id <> $flow_id AND unique_bytes > 0
            AND start_ns < $end_ns AND end_ns > $start_ns
    )
    SELECT count(*), sum(meanwhile), arg_max({
        flow_id: flow_id, src: src, src_port: src_port, dst: dst, dst_port: dst_port,
        unique_bytes: meanwhile::UBIGINT
    }, meanwhile) FROM others"""
