"""Numbers that were false of real captures, each in a capture that is made here."""

import itertools
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import packets
import pytest
from packets import ACK, SECOND, START, SYN

import tcpwhy

Frames = Iterable[tuple[int, bytes]]
IP_ID_AT = 14 + 4
ROUND_TRIP = SECOND // 50
APART = 5_000
"""Time between the copies of two interfaces, in ns."""


def row_of(path: Path, frames: Frames) -> dict[str, Any]:
    """Analyse frames; give the row of the half that moved most data."""
    path.write_bytes(packets.pcap(iter(frames)))
    rows = tcpwhy.analyze(path, workers=1).to_arrow("flows").to_pylist()
    return max(rows, key=lambda row: row["payload_bytes"])


def one_sided(segments: int, size: int) -> Iterator[tuple[int, bytes]]:
    """Send full segments; timestamps are offered by the receiver's SYN alone, and not used."""
    yield START, packets.frame(1, 40000, SYN, 4999, 0, 0, 65535, mss=1460, timestamps=True)
    yield START + ROUND_TRIP, packets.frame(0, 40000, SYN | ACK, 999, 5000, 0, 65535, mss=1460)
    time = START + ROUND_TRIP + 1000
    yield time, packets.frame(1, 40000, ACK, 5000, 1000, 0, 65535)
    for number in range(segments):
        time += 500_000
        seq = 1000 + number * size
        yield time, packets.frame(0, 40000, ACK, seq, 5000, size, 65535)
        if number % 2:
            yield time + 1000, packets.frame(1, 40000, ACK, 5000, seq + size, 0, 65535)


def test_timestamps_that_one_side_declined_take_nothing_off_a_segment(tmp_path: Path) -> None:
    row = row_of(tmp_path / "one_sided.pcap", one_sided(520, 1460))
    assert row["mss_option"] == row["effective_mss"] == 1460
    assert row["data_packets"] == 520
    assert not row["offload_seen"]


def numbered(frames: Frames, identifications: Iterable[int]) -> Iterator[tuple[int, bytes]]:
    """Give each frame its own identification."""
    for (time, data), number in zip(frames, identifications, strict=False):
        yield time, data[:IP_ID_AT] + struct.pack(">H", number) + data[IP_ID_AT + 2 :]


def copied(frames: Frames, copies: int, within: int) -> list[tuple[int, bytes]]:
    """Show frames several times, as a capture of several interfaces does.

    What comes within so many ns is handed over together, once for each interface.
    """
    batches: list[list[tuple[int, bytes]]] = []
    for time, data in sorted(frames, key=lambda frame: frame[0]):
        if not batches or time - batches[-1][-1][0] > within:
            batches.append([])
        batches[-1].append((time, data))
    return [
        (batch[-1][0] + copy * APART if copy else time, data)
        for batch in batches
        for copy in range(copies)
        for time, data in batch
    ]


@pytest.mark.parametrize("identified", [True, False], ids=["identified", "without_identification"])
@pytest.mark.parametrize("within", [0, 50_000], ids=["at_once", "in_batches"])
@pytest.mark.parametrize("copies", [2, 4])
def test_copies_of_a_frame_are_counted_and_left_out(
    tmp_path: Path, copies: int, within: int, identified: bool
) -> None:
    numbers = itertools.count(1) if identified else itertools.repeat(0)
    frames = list(numbered(packets.transfer(400), numbers))
    plain = row_of(tmp_path / "plain.pcap", frames)
    seen = copied(frames, copies, within)
    row = row_of(tmp_path / "copied.pcap", seen)
    assert row["retransmitted_bytes"] == row["loss_events"] == 0
    for column in ("data_packets", "payload_bytes", "unique_bytes", "duplicate_acks"):
        assert row[column] == plain[column], column
    assert row["limitation"] == plain["limitation"]
    # The handshake's bare acknowledgement may be too far behind for the few frames remembered.
    missed = row["packets"] - plain["packets"]
    assert 0 <= missed < copies
    assert row["duplicate_frames"] + missed == (copies - 1) * plain["packets"]
