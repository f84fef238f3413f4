"""tshark: dissected fields per frame, summed up per half.

Packets, payload, bytes seen again (`seen_again_bytes`) and duplicate ACKs by RFC 5681
(`rfc5681_duplicate_acks`) are worked out here from the plain fields. They depend on tshark's
dissection and its choice of streams only; the rest is its own analysis.
"""

from __future__ import annotations

import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from . import captures
from .connection import Endpoint, Half, SequenceSpace, Value

FIELDS = (
    "tcp.stream",
    "frame.number",
    "frame.time_epoch",
    "_ws.col.Source",
    "_ws.col.Destination",
    "tcp.srcport",
    "tcp.dstport",
    "tcp.flags",
    "tcp.seq_raw",
    "tcp.ack_raw",
    "tcp.len",
    "tcp.window_size_value",
    "tcp.options.mss_val",
    "tcp.options.wscale.shift",
    "tcp.analysis.acks_frame",
    "tcp.analysis.ack_rtt",
    "tcp.analysis.initial_rtt",
    "tcp.analysis.retransmission",
    "tcp.analysis.duplicate_ack",
    "tcp.analysis.out_of_order",
)
# Each IP packet as captured: no reassembly, no checksums, no application protocols' requests for
# more data, which would show a frame's fields later than its place.
PREFERENCES = (
    "ip.defragment:FALSE",
    "ipv6.defragment:FALSE",
    "tcp.desegment_tcp_streams:FALSE",
    "tcp.reassemble_out_of_order:FALSE",
    "tcp.check_checksum:FALSE",
    "tcp.relative_sequence_numbers:FALSE",
)
# An ICMP error quotes the TCP header of the packet that caused it.
FILTER = "tcp and not icmp and not icmpv6"
FIN, SYN, RST, ACK = 0x01, 0x02, 0x04, 0x10


# Positions in a row of FIELDS.
COLUMN = {name: position for position, name in enumerate(FIELDS)}


@dataclass
class Side:
    """What is added up for one side of a stream."""

    begin_s: float
    packets: int = 0
    data_packets: int = 0
    payload_bytes: int = 0
    seen_again_bytes: int = 0
    retransmitted_bytes: int = 0
    out_of_order_bytes: int = 0
    duplicate_acks_sent: int = 0
    rfc5681_duplicate_acks_sent: int = 0
    zero_windows: int = 0
    window: int | None = None
    highest_ack: int | None = None
    end: int | None = None
    ack_rtts_s: list[float] = field(default_factory=list)
    initial_rtt_s: float | None = None
    mss_option: int | None = None
    window_scale: int | None = None
    syn_seen: bool = False
    syn_and_fin_segments: int = 0
    sequence: SequenceSpace = field(default_factory=SequenceSpace)
    # Frames with data: a round trip that ends with the ACK of a SYN or FIN alone is no data's.
    data_frames: set[str] = field(default_factory=set)


def available() -> bool:
    """Whether tshark is installed."""
    return shutil.which("tshark") is not None


def halves(path: Path) -> list[Half]:
    """Every half of every TCP stream of a capture."""
    streams: dict[str, dict[tuple[Endpoint, Endpoint], Side]] = defaultdict(dict)
    for row in rows(path):
        source, destination = row[COLUMN["_ws.col.Source"]], row[COLUMN["_ws.col.Destination"]]
        src = (source, int(row[COLUMN["tcp.srcport"]]))
        dst = (destination, int(row[COLUMN["tcp.dstport"]]))
        sides = streams[row[COLUMN["tcp.stream"]]]
        side = sides.get((src, dst))
        if side is None:
            side = sides[src, dst] = Side(begin_s=float(row[COLUMN["frame.time_epoch"]]))
        count(side, sides.get((dst, src)), row)
    return [
        half(src, dst, side, sides.get((dst, src)))
        for sides in streams.values()
        for (src, dst), side in sides.items()
    ]


def rows(path: Path) -> Iterator[list[str]]:
    """The fields of every TCP frame."""
    with captures.plain(path) as file:
        command = ["tshark", "-n", "-r", str(file), "-Y", FILTER, "-T", "fields"]
        command += ["-E", "separator=/t", "-E", "occurrence=l"]
        for name in FIELDS:
            command += ["-e", name]
        for preference in PREFERENCES:
            command += ["-o", preference]
        # A capture with a damaged end gives an error after its good frames: these count.
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        if done.returncode and not done.stdout:
            raise RuntimeError(f"tshark: {done.stderr.strip()}")
    for line in done.stdout.splitlines():
        row = line.split("\t")
        if row[COLUMN["tcp.stream"]] and row[COLUMN["tcp.srcport"]]:
            yield row


def count(side: Side, other: Side | None, row: list[str]) -> None:
    """Adds one frame to the side that sent it."""
    flags = int(row[COLUMN["tcp.flags"]], 16)
    seq, length = int(row[COLUMN["tcp.seq_raw"]]), int(row[COLUMN["tcp.len"]] or 0)
    side.packets += 1
    if length:
        side.data_packets += 1
        side.data_frames.add(row[COLUMN["frame.number"]])
        side.payload_bytes += length
        side.seen_again_bytes += side.sequence.add(seq + (flags & SYN != 0), length)
        if row[COLUMN["tcp.analysis.retransmission"]]:
            side.retransmitted_bytes += length
        if row[COLUMN["tcp.analysis.out_of_order"]]:
            side.out_of_order_bytes += length
    end = (seq + length + (flags & SYN != 0) + (flags & FIN != 0)) % (1 << 32)
    if side.end is None or after(end, side.end):
        side.end = end
    side.syn_and_fin_segments += flags & (SYN | FIN) != 0
    side.duplicate_acks_sent += bool(row[COLUMN["tcp.analysis.duplicate_ack"]])
    acknowledge(side, other, flags, length, row)
    rtt, acked = row[COLUMN["tcp.analysis.ack_rtt"]], row[COLUMN["tcp.analysis.acks_frame"]]
    if rtt and other and acked in other.data_frames:
        side.ack_rtts_s.append(float(rtt))
    if rtt := row[COLUMN["tcp.analysis.initial_rtt"]]:
        side.initial_rtt_s = float(rtt)
    if flags & SYN and not side.syn_seen:
        side.syn_seen = True
        mss, scale = row[COLUMN["tcp.options.mss_val"]], row[COLUMN["tcp.options.wscale.shift"]]
        side.mss_option = int(mss) if mss else None
        side.window_scale = int(scale) if scale else None


def acknowledge(side: Side, other: Side | None, flags: int, length: int, row: list[str]) -> None:
    """Looks at what a frame says about the other side's data: its acknowledgement and window."""
    ack, window = int(row[COLUMN["tcp.ack_raw"]]), int(row[COLUMN["tcp.window_size_value"]])
    plain = flags & ACK and not flags & (SYN | FIN | RST)
    outstanding = other is not None and other.end is not None and after(other.end, ack)
    if plain and not length and outstanding:
        same = ack == side.highest_ack and window == side.window
        side.rfc5681_duplicate_acks_sent += same
    if flags & ACK and (side.highest_ack is None or after(ack, side.highest_ack)):
        side.highest_ack = ack
    if not flags & (SYN | FIN | RST):
        side.zero_windows += window == 0 and side.window != 0
        side.window = window


def after(a: int, b: int) -> bool:
    """Whether a sequence number is after another one (RFC 9293 section 3.4)."""
    return a != b and (a - b) % (1 << 32) < 1 << 31


def half(src: Endpoint, dst: Endpoint, side: Side, other: Side | None) -> Half:
    """The facts about what `src` sent; `other` is the side that acknowledged it."""
    facts: dict[str, Value] = {
        "packets": side.packets,
        "data_packets": side.data_packets,
        "payload_bytes": side.payload_bytes,
        "unique_bytes": side.payload_bytes - side.seen_again_bytes,
        "retransmitted_bytes": side.retransmitted_bytes,
        "out_of_order_bytes": side.out_of_order_bytes,
        "seen_again_bytes": side.seen_again_bytes,
        "syn_and_fin_segments": side.syn_and_fin_segments,
        "zero_window_events": other.zero_windows if other else 0,
        "duplicate_acks": other.duplicate_acks_sent if other else 0,
        "rfc5681_duplicate_acks": other.rfc5681_duplicate_acks_sent if other else 0,
        "rtt_min_ms": 1e3 * min(other.ack_rtts_s) if other and other.ack_rtts_s else None,
        "mss_option": other.mss_option if other else None,
        "window_scale": scale_that_limits(side, other),
    }
    initial = (
        side.initial_rtt_s
        if side.initial_rtt_s is not None or other is None
        else (other.initial_rtt_s)
    )
    facts["handshake_rtt_ms"] = None if initial is None else 1e3 * initial
    begin_s = min(side.begin_s, other.begin_s) if other else side.begin_s
    return Half(src, dst, begin_s, facts)


def scale_that_limits(side: Side, other: Side | None) -> int | None:
    """The shift of the other side's window: 0 unless both offered one (RFC 7323 section 2.2)."""
    if other is None or not (side.syn_seen and other.syn_seen):
        return None
    if side.window_scale is None or other.window_scale is None:
        return 0
    return min(other.window_scale, 14)
