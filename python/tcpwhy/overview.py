"""The default view of the flows of a run, for a person: the slowest big halves first."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tcpwhy import _core
from tcpwhy.terminal import Style, wrapped
from tcpwhy.units import as_bytes, as_duration, as_rate, as_share

HALVES_SHOWN = 20
"""What is looked at before one asks a question of one's own."""

WEIGHT = "unique_bytes::DOUBLE * (end_ns - start_ns)"
"""Slow and big: bytes times the time they took, in SQL."""

LEVELS = ("high", "medium", "low")
"""Values of `confidence`."""

LEAST_GAIN = 1.05
"""Below this the remedy gains nothing that could be measured."""

UNKNOWN_GAIN = "; what that would gain is not known: "
"""Between a remedy and the reason why its gain is not known, as the core writes it."""

_IN_FIRST_LINE = {
    "packets_read",
    "packets_tcp",
    "flows",
    "halves_with_data",
    "halves_with_verdict",
    "flows_with_verdict",
    "payload_bytes",
    "bytes_with_verdict",
    *(f"{what}_{level}_confidence" for what in ("halves", "bytes") for level in LEVELS),
}


class Half(NamedTuple):
    """What the view shows of a half; the names are columns of `flows`."""

    src: str
    src_port: int
    dst: str
    dst_port: int
    unique_bytes: int
    start_ns: int
    end_ns: int
    throughput_bps: float | None
    rtt_mean_ns: int | None
    limitation: str | None
    cause: str | None
    confidence: str | None
    evidence: str | None
    null_reason: str | None
    remedy: str | None
    headroom_bps: float | None
    next_limitation: str | None
    goodput_bps: float | None
    capacity_bps: float | None
    scores: dict[str, float | None]
    """Every score of the core, by its name without the ending."""

    @property
    def pair(self) -> str:
        """Who sends to whom."""
        return f"{endpoint(self.src, self.src_port)} → {endpoint(self.dst, self.dst_port)}"

    @property
    def numbers(self) -> tuple[str, str, str, str]:
        """Bytes, duration, throughput, round-trip time."""
        duration = as_duration(self.end_ns - self.start_ns)
        rate, rtt = as_rate(self.throughput_bps), as_duration(self.rtt_mean_ns)
        return as_bytes(self.unique_bytes), duration, rate, rtt

    @property
    def why(self) -> str:
        """Give the evidence: the sentence that decided, or the scores, or why there is none."""
        if self.limitation is None:
            return " · ".join(filter(None, [self.null_reason, self.measured]))
        detail = (self.cause or "").partition("/")[2].replace("_", " ")
        sure = self.confidence and f"{self.confidence} confidence"
        head = ", ".join(filter(None, [detail, sure]))
        return ": ".join(filter(None, [head, self.evidence or self.measured]))

    @property
    def fix(self) -> str | None:
        """Give what to change and what that would gain; nothing where the application decides."""
        remedy = None if self.remedy is None else split_remedy(self.remedy)[0]
        if remedy is None or self.limitation == "application" or self.goodput_bps is None:
            return None
        if self.headroom_bps is None:
            return f"→ {remedy}"
        if self.headroom_bps <= LEAST_GAIN * self.goodput_bps:
            return None
        # Where the link is not known it may be the next limit.
        most = "up to " if self.capacity_bps is None else ""
        text = f"→ {remedy}; then {most}{as_rate(self.headroom_bps)}"
        return f"{text}, next limit: {self.next_limitation}" if self.next_limitation else text

    @property
    def measured(self) -> str:
        """List the scores that are known, and the capacity they rest on."""
        known = {name: value for name, value in self.scores.items() if value is not None}
        parts = [f"{name.replace('_', ' ')} {value:.2g}" for name, value in known.items()]
        if self.capacity_bps is not None:
            parts.append(f"capacity {as_rate(self.capacity_bps)}")
        return " · ".join(parts)

    @classmethod
    def columns(cls) -> str:
        """List the columns in SQL, in the order of the fields."""
        names = (column[0] for column in dict(_core.schemas())["flows"])
        scores = (name for name in names if name.endswith("_score"))
        pack = ", ".join(f"{name.removesuffix('_score')} := {name}" for name in scores)
        return f"{', '.join(cls._fields[:-1])}, struct_pack({pack})"


def split_remedy(remedy: str) -> tuple[str, str | None]:
    """Part a remedy from the reason why its gain is not known."""
    advice, _, reason = remedy.partition(UNKNOWN_GAIN)
    return advice, reason or None


def endpoint(address: str, port: int) -> str:
    """Write an address and a port, the former in brackets when it is IPv6 (RFC 3986)."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def overview(
    halves: Sequence[Half], total: int, counters: Mapping[str, int], *, width: int, style: Style
) -> Iterator[str]:
    """Give the lines of the view.

    Args:
        halves: the heaviest halves that moved data, heaviest first.
        total: how many moved data in all.
        counters: the counters of the run, by name.
        width: columns at most; only a single address can exceed it.
        style: how to stress.

    """
    if not counters.get("packets_read"):
        yield "No packet was read."
        return
    if halves:
        yield from _table(halves, width, style)
    if total > len(halves):
        rest = f"{total - len(halves):,} smaller or faster halves are not shown"
        yield style.dim(f"{rest}: --format csv has them all")
    elif not halves:
        yield "No TCP connection moved data."
    yield ""
    yield from textwrap.wrap(_summary(counters), width)
    yield from filter(None, [_confidence(counters)])
    meaning = dict(_core.counters())
    for name, value in counters.items():
        # That the kernel takes the times is news only where the card was to.
        expected = name == "packets_kernel_time" and not counters.get("packets_hardware_time")
        if value and name not in _IN_FIRST_LINE and not expected:
            line = f"{name} {value:,}: {meaning.get(name, '').rstrip('.')}"
            yield from textwrap.wrap(line, width, subsequent_indent="  ")


def _table(halves: Sequence[Half], width: int, style: Style) -> Iterator[str]:
    titles = ("bytes", "duration", "throughput", "RTT")
    columns = zip(titles, *(half.numbers for half in halves), strict=True)
    sizes = [max(map(len, column)) for column in columns]
    verdict_size = max(len(text) for text in ("limited by", *(h.limitation or "" for h in halves)))
    room = width - sum(sizes) - 2 * len(sizes) - 2 - verdict_size
    first = max(len("src → dst"), *(len(half.pair) for half in halves if len(half.pair) <= room), 0)

    def line(pair: str, numbers: Sequence[str], verdict: str) -> str:
        cells = [number.rjust(size) for number, size in zip(numbers, sizes, strict=True)]
        return "  ".join([pair.ljust(first), *cells, verdict]).rstrip()

    yield style.dim(line("src → dst", titles, "limited by"))
    for half in halves:
        pair = half.pair
        if len(pair) > first:
            yield pair
            pair = ""
        yield line(pair, half.numbers, style.bold(half.limitation or "–"))
        for text in filter(None, (half.why, half.fix)):
            yield from (style.dim(f"  {part}") for part in wrapped(text, width - 2))


def _summary(counters: Mapping[str, int]) -> str:
    packets = counters.get("packets_read", 0)
    flows, judged = counters.get("flows", 0), counters.get("flows_with_verdict", 0)
    payload, explained = counters.get("payload_bytes", 0), counters.get("bytes_with_verdict", 0)
    parts = [
        f"{packets:,} packet{'s' * (packets != 1)}, {counters.get('packets_tcp', 0):,} of TCP",
        f"{flows:,} flow{'s' * (flows != 1)}",
    ]
    if flows:
        share = f"{as_share(judged / flows)} of flows"
        share_bytes = f", {as_share(explained / payload)} of bytes" if payload else ""
        parts.append(f"verdict for {share}{share_bytes}")
    return " · ".join(parts)


def _confidence(counters: Mapping[str, int]) -> str | None:
    """Say which share of the verdicts, and of the bytes behind them, is how sure."""
    count = {
        what: [counters.get(f"{what}_{level}_confidence", 0) for level in LEVELS]
        for what in ("halves", "bytes")
    }
    halves, size = sum(count["halves"]), sum(count["bytes"])
    if not halves or not size:
        return None
    shares = (
        f"{level} {as_share(number / halves)} ({as_share(amount / size)} of bytes)"
        for level, number, amount in zip(LEVELS, count["halves"], count["bytes"], strict=True)
        if number
    )
    return f"confidence {', '.join(shares)}"
