"""A test as text: one line a second, totals, and the answer."""

from collections.abc import Iterator, Sequence

from tcpwhy import vocabulary
from tcpwhy.active.advice import Advice
from tcpwhy.active.rows import Row
from tcpwhy.terminal import Style, paragraph, shorten
from tcpwhy.units import as_rate, as_share


class Column:
    """A column: its name, its width, how it shows a row, and when it has to go."""

    def __init__(self, name: str, width: int, show: str, rank: int = 0) -> None:
        self.name = name
        self.width = width
        self.show = show
        self.rank = rank


# What is left out first where the line is too short has the highest rank.
COLUMNS = (
    Column("Time (s)", 8, "time"),
    Column("B/s", 6, "throughput", rank=3),
    Column("bit/s", 6, "bitrate"),
    Column("Cwnd", 6, "cwnd"),
    Column("Rwnd", 6, "rwnd"),
    Column("sndbuf", 6, "sndbuf"),
    Column("ssthresh", 8, "ssthresh"),
    Column("rtt/var ms", 10, "rtt"),
    Column("Retr", 5, "retr"),
    Column("Flight", 6, "flight"),
    Column("deliv.", 6, "delivery", rank=1),
    Column("pacing", 6, "pacing", rank=2),
)
RECEIVER_COLUMNS = (
    Column("Time (s)", 8, "time"),
    Column("B/s", 6, "throughput"),
    Column("bit/s", 6, "bitrate"),
    Column("rcvbuf", 6, "rcvbuf"),
    Column("rcv_space", 9, "rcv_space"),
    Column("unread", 6, "unread"),
    Column("rcv_rtt ms", 10, "rcv_rtt"),
    Column("out of order", 12, "ooo"),
)
LIMIT_WIDTH = 30
HEAD = 10
"""Columns of the words before the parts of an answer."""


def columns(width: int, *, sends: bool = True) -> tuple[Column, ...]:
    """Choose the columns that fit beside the limit."""
    chosen = list(COLUMNS if sends else RECEIVER_COLUMNS)
    while sum(c.width + 1 for c in chosen) + LIMIT_WIDTH > width:
        droppable = [c for c in chosen if c.rank]
        if not droppable:
            break
        chosen.remove(max(droppable, key=lambda c: c.rank))
    return tuple(chosen)


def header(chosen: Sequence[Column], *, streams: bool) -> str:
    """Name the columns."""
    names = " ".join(column.name.rjust(column.width) for column in chosen)
    return f"{'  # ' if streams else ''}{names} limit"


def line(row: Row, chosen: Sequence[Column], *, streams: bool) -> str:
    """Show a row."""
    cells = _cells(row)
    text = " ".join(shorten(cells[c.show], c.width).rjust(c.width) for c in chosen)
    limit = row.limit.word if row.limit else "known to the sender only"
    return f"{f'{row.stream:3} ' if streams else ''}{text} {limit}"


def _cells(row: Row) -> dict[str, str]:
    return {
        "time": f"{row.end_s:.2f}",
        "throughput": _si(row.throughput_bps / 8),
        "bitrate": _si(row.throughput_bps),
        "cwnd": _iec(row.cwnd_bytes),
        "rwnd": _iec(row.rwnd_bytes),
        "sndbuf": _iec(row.sndbuf_bytes),
        "ssthresh": "" if row.cwnd_bytes is None else _iec(row.ssthresh_bytes) or "∞",
        # An end that only receives knows no more than the trip of its handshake.
        "rtt": f"{_ms(row.rtt_us)}/{_ms(row.rttvar_us)}" if row.cwnd_bytes is not None else "",
        "retr": str(row.retransmits) if row.retransmits else "0",
        "flight": _iec(row.flight_bytes),
        "delivery": _si(row.delivery_bps),
        "pacing": _si(row.pacing_bps),
        "rcvbuf": _iec(row.rcvbuf_bytes),
        "rcv_space": _iec(row.rcv_space_bytes),
        "unread": _iec(row.unread_bytes),
        "rcv_rtt": "" if row.rcv_rtt_us is None else _ms(row.rcv_rtt_us),
        "ooo": "" if row.out_of_order_packets is None else str(row.out_of_order_packets),
    }


def _ms(us: float) -> str:
    ms = us / 1e3
    return f"{ms:.0f}" if ms >= 99.95 else f"{ms:.1f}" if ms >= 0.95 else f"{ms:.2g}"


def _si(value: float | None) -> str:
    """Three digits and a decimal prefix; nothing for what is not known."""
    return "" if value is None else _scaled(value, 1000, " kMGT")


def _iec(value: float | None) -> str:
    """Three digits and a binary prefix."""
    return "" if value is None else _scaled(value, 1024, " KMGT", mark="i")


def _scaled(value: float, base: int, prefixes: str, mark: str = "") -> str:
    for prefix in prefixes:
        if value < 999.5 or prefix == prefixes[-1]:
            digits = 0 if value >= 99.95 or prefix == " " else 1
            unit = "" if prefix == " " else prefix + mark
            return f"{value:.{digits}f}{unit}"
        value /= base
    raise AssertionError("the last prefix ends the loop")


def totals(moved: int, seconds: float, calls: int, written: int, verb: str) -> str:
    """Show what was moved in all, and how many system calls that took."""
    each = f"{written / calls:.1f} bytes/syscall" if calls else "no syscall"
    rate = as_rate(moved * 8 / seconds) if seconds else "?"
    return f"{verb} {moved:,} bytes in {seconds:.3f} s, {rate}, {calls} syscalls, {each}"


def sum_of(moved: Sequence[int], seconds: float) -> str:
    """Show what all streams of a direction moved."""
    rate = as_rate(sum(moved) * 8 / seconds) if seconds else "?"
    return f"In all: {sum(moved):,} bytes over {len(moved)} streams, {rate}"


def answer(advice: Advice, style: Style, width: int) -> Iterator[str]:
    """Show the verdict with its evidence, the remedy and the gain."""

    def part(head: str, text: str) -> Iterator[str]:
        first, *rest = paragraph(head.ljust(HEAD), text, width)
        yield style.dim(head) + first.removeprefix(head)
        yield from rest

    held = [f"{word} {as_share(share)}" for word, share in advice.shares.items()]
    text = style.bold(held[0].removesuffix(" 100 %")) if held else f"{advice.word}, no data"
    sure = f" ({advice.confidence} confidence)" if advice.confidence else ""
    yield f"{style.bold('limit')}     {', '.join([text, *held[1:]])}{sure}"
    yield from part("evidence", advice.evidence)
    if advice.remedy:
        yield from part("remedy", advice.remedy)
    if advice.headroom_bps is not None:
        gain = f"up to {as_rate(advice.headroom_bps)}, next limit: {advice.next_limitation}"
        yield from part("gain", gain)
    elif advice.gain_unknown:
        reason = vocabulary.meaning("gain_unknown", advice.gain_unknown)
        yield from part("gain", f"unknown: {reason}")
