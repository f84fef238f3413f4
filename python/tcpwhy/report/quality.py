"""What the data itself leaves in doubt: drops, offloads, cut packets, missing handshakes."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tcpwhy import _core
from tcpwhy.report.source import Source
from tcpwhy.units import as_share


class Note(NamedTuple):
    """Something that limits what the data can show."""

    name: str
    """A counter, or a column of `flows`."""
    value: str
    meaning: str
    is_serious: bool
    """Whether verdicts may be wrong, or connections missing, because of it."""


SERIOUS = (
    "kernel_drops",
    "rows_dropped",
    "table_evictions",
    "flows_forgotten",
    "undecodable_truncated",
    "capture_gaps",
    "outstanding_overflow",
    "packets_without_time",
    "packets_tag_hidden",
)
"""Counters after which one asks for a better capture."""

_PLAIN = ("packets_", "flows", "payload_bytes", "directions_", "bytes_with", "flows_with")
_LEVELS = ("_high_confidence", "_medium_confidence", "_low_confidence")


def notes(source: Source, counted: Mapping[str, int]) -> list[Note]:
    """List what the counters and the flows say about the data, the serious first."""
    found = [*_of_counters(counted), *_of_flows(source)]
    return sorted(found, key=lambda note: not note.is_serious)


def _of_counters(counted: Mapping[str, int]) -> Iterator[Note]:
    meanings = dict(_core.counters())
    for name, value in counted.items():
        is_plain = name.startswith(_PLAIN) or name.endswith(_LEVELS)
        if name in SERIOUS or not is_plain:
            meaning = meanings.get(name, "").rstrip(".")
            yield Note(name, f"{value:,}", meaning, name in SERIOUS)


def _of_flows(source: Source) -> Iterator[Note]:
    query = """SELECT count(*), count(*) FILTER (NOT handshake_seen),
            count(*) FILTER (offload_seen),
            count(*) FILTER (rtt_mean_ns IS NULL), count(*) FILTER (missed_bytes > 0),
            count(*) FILTER (window_scale_source = 'inferred'),
            count(*) FILTER (capacity_bps IS NULL)
        FROM flows WHERE data_packets > 0"""
    total, *counts = source.connection.execute(query).fetchall()[0]
    told = (
        ("handshake_seen", "whose handshake is not in the data: options are unknown", True),
        ("offload_seen", "with super-packets of segmentation offload: timing is coarser", False),
        ("rtt_mean_ns", "without a round-trip time: nothing acknowledged what was sent", False),
        ("missed_bytes", "with acknowledged bytes that the capture missed", True),
        ("window_scale_source", "whose window scale is inferred", False),
        ("capacity_bps", "without an estimate of the capacity of their path", False),
    )
    for count, (column, meaning, is_serious) in zip(counts, told, strict=True):
        if count:
            value = f"{count:,} of {total:,} ({as_share(count / total)})"
            is_much = is_serious and count > MUCH * total
            yield Note(column, value, f"Directions {meaning}", is_much)


MUCH = 0.1
"""Share of directions from which a gap in the data is serious."""
