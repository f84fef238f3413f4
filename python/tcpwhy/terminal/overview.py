"""The default view of the flows of a run, for a person: what would gain most comes first."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from tcpwhy import _core
from tcpwhy.terminal import Style, wrapped
from tcpwhy.units import as_bytes, as_duration, as_rate, as_share

TOP = 20
"""Directions that are shown unless told otherwise."""

WEIGHT = "unique_bytes::DOUBLE * (end_ns - start_ns)"
"""Slow and big: bytes times the time they took, in SQL."""

SAVED = """(end_ns - start_ns) / 1e9 * CASE WHEN headroom_bps IS NULL THEN 0.5
    ELSE greatest(0, 1 - goodput_bps / nullif(headroom_bps, 0)) END"""
"""Seconds that the transfer would take less without its limit, in SQL; half of it if unknown."""

TRICKLE_BYTES = 10_000
"""Below this a direction that the application limits is shown only with --all."""

IN_FULL = 3
"""So many directions are shown with evidence and remedy; of more, only with -v."""

CAPTURES = 8
"""Captures that have a line of their own."""

LEVELS = ("high", "medium", "low")
"""Values of `confidence`."""

LEAST_GAIN = 1.05
"""Below this the remedy gains nothing that could be measured."""

MOST_GAIN = 1000
"""A bound beyond this, of a link that is not known, bounds nothing."""

_IN_FIRST_LINE = {
    "packets_read",
    "packets_tcp",
    "flows",
    "directions_with_data",
    "directions_with_verdict",
    "flows_with_verdict",
    "payload_bytes",
    "bytes_with_verdict",
    *(f"{what}_{level}_confidence" for what in ("directions", "bytes") for level in LEVELS),
}

_NO_TROUBLE = {"periods_settled", "rows_unordered", "packets_not_tcp", "packets_filtered"}
"""Counters of what is as it should be: shown with -v."""


class Choice(NamedTuple):
    """What of a run the view shows."""

    top: int = TOP
    sort: str | None = None
    """A column, the largest first, or with + before it the smallest; what could be gained unless
    given."""
    where: str | None = None
    """A condition over the columns of `flows`, in SQL."""
    verbose: bool = False
    """Evidence and remedy of all directions, and every counter."""
    everything: bool = False
    """Trickles as well."""


class Half(NamedTuple):
    """What the view shows of a direction; the names are columns of `flows`."""

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
    stream: int | None
    source: str | None
    scores: dict[str, float | None]
    """Every score of the core, by its name without the ending."""

    @property
    def pair(self) -> str:
        """Who sends to whom."""
        return f"{endpoint(self.src, self.src_port)} → {endpoint(self.dst, self.dst_port)}"

    @property
    def number(self) -> str:
        """The number of the connection in its capture."""
        return "" if self.stream is None else str(self.stream)

    @property
    def numbers(self) -> tuple[str, str, str, str]:
        """Bytes, duration, throughput, round-trip time."""
        duration = as_duration(self.end_ns - self.start_ns)
        rate, rtt = as_rate(self.throughput_bps), as_duration(self.rtt_mean_ns)
        return as_bytes(self.unique_bytes), duration, rate, rtt

    @property
    def verdict(self) -> tuple[str, str, str]:
        """Limit, gain, confidence."""
        return self.cause or self.limitation or "unknown", self.gain, self.confidence or ""

    @property
    def gain(self) -> str:
        """How many times as fast it could be; at most where the link is not known."""
        if self.limitation is None:
            return ""
        if self.headroom_bps is None or not self.goodput_bps:
            return "?"
        times = self.headroom_bps / self.goodput_bps
        if times < LEAST_GAIN:
            return "none"
        if times > MOST_GAIN and self.capacity_bps is None:
            return "?"
        factor = f"{times:,.0f}×" if times >= 9.95 else f"{times:.1f}×"
        return f"≤ {factor}" if self.capacity_bps is None else factor

    @property
    def why(self) -> str:
        """Give the evidence: the sentence that decided, or the scores, or why there is none."""
        if self.limitation is None:
            return " · ".join(filter(None, [self.null_reason, self.measured]))
        return self.evidence or self.measured

    @property
    def fix(self) -> str | None:
        """Give what to change and what that would gain; nothing where the application decides."""
        remedy = self.remedy
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


class Capture(NamedTuple):
    """What a file or an interface showed."""

    source: str | None
    start_ns: int
    end_ns: int
    packets: int
    payload_bytes: int
    connections: int
    refused: int
    unanswered: int


class Share(NamedTuple):
    """What one cause limited."""

    cause: str
    directions: int
    bytes: int
    time_ns: int


class Seen(NamedTuple):
    """What the view is made of."""

    halves: Sequence[Half]
    """The directions that are shown, in this order."""
    total: int
    """How many moved data and fulfil the condition."""
    trickles: int
    """How many of these are hidden because they are small."""
    captures: Sequence[Capture]
    shares: Sequence[Share]
    counters: Mapping[str, int]


def endpoint(address: str, port: int) -> str:
    """Write an address and a port, the former in brackets when it is IPv6 (RFC 3986)."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def overview(
    seen: Seen, choice: Choice, *, width: int, room: int | None, style: Style, live: bool = False
) -> Iterator[str]:
    """Give the lines of the view.

    Args:
        seen: what was found.
        choice: what of it is shown.
        width: columns of a sentence.
        room: columns of a table; None where it may be as wide as it needs.
        style: how to stress.
        live: whether the packets came from a link, which cannot be read again.

    """
    if not seen.counters.get("packets_read", sum(one.packets for one in seen.captures)):
        yield "No packet was read."
        return
    yield from _captures(seen, style)
    if len(seen.shares) > 1:
        yield ""
        yield from _shares(seen.shares, style)
    if seen.halves:
        yield ""
        in_full = choice.verbose or len(seen.halves) <= IN_FULL
        yield from _table(seen.halves, width, room, style, in_full=in_full)
    yield from _left_out(seen, style)
    if seen.halves and not live:
        yield from _ask(seen.halves[0], style, alone=len(seen.captures) == 1)
    yield from _counted(seen.counters, choice, width)


def _captures(seen: Seen, style: Style) -> Iterator[str]:
    read = seen.counters.get("packets_read")
    for one in seen.captures[:CAPTURES]:
        start = datetime.fromtimestamp(one.start_ns / 1e9, UTC)
        span = one.end_ns - one.start_ns
        alone = len(seen.captures) == 1 and read is not None
        packets = f"{read:,} packets" if alone else f"{one.packets:,} packets of TCP"
        rate = f" · {as_rate(one.payload_bytes * 8e9 / span)}" if span > 0 else ""
        plural = "s" * (one.connections != 1)
        failed = [
            f"{count:,} {what}"
            for what, count in (("refused", one.refused), ("unanswered", one.unanswered))
            if count
        ]
        trouble = f" ({', '.join(failed)})" if failed else ""
        name = style.bold(one.source) + " · " if one.source else ""
        yield (
            f"{name}{start:%Y-%m-%d %H:%M:%S} UTC · {as_duration(span)} · {packets}{rate}"
            f" · {one.connections:,} connection{plural}{trouble}"
        )
    if not seen.captures:
        yield f"{read or 0:,} packets · no TCP connection"
    if len(seen.captures) > CAPTURES:
        yield f"and {len(seen.captures) - CAPTURES:,} more captures"


def _shares(shares: Sequence[Share], style: Style) -> Iterator[str]:
    time = sum(share.time_ns for share in shares) or 1
    size = sum(share.bytes for share in shares) or 1
    rows = [
        (
            share.cause,
            as_share(share.time_ns / time),
            as_share(share.bytes / size),
            share.directions,
        )
        for share in shares
    ]
    titles = ("limited by", "time", "bytes", "directions")
    first = max(len(row[0]) for row in [titles, *rows])
    for number, (cause, *cells) in enumerate([titles, *rows]):
        line = cause.ljust(first) + "".join(f"{cell:>12}" for cell in cells)
        yield style.dim(line) if number == 0 else line


def _table(
    halves: Sequence[Half], width: int, room: int | None, style: Style, *, in_full: bool
) -> Iterator[str]:
    titles = ("bytes", "duration", "throughput", "RTT")
    ends = ("limited by", "gain", "sure")
    sizes = [max(map(len, c)) for c in zip(titles, *(h.numbers for h in halves), strict=True)]
    end_sizes = [max(map(len, c)) for c in zip(ends, *(h.verdict for h in halves), strict=True)]
    number_size = max(len(half.number) for half in halves)
    margin = number_size + 2 if number_size else 0
    rest = margin + sum(sizes) + sum(end_sizes) + 2 * (len(sizes) + len(end_sizes))
    fitting = [len(h.pair) for h in halves if room is None or len(h.pair) <= room - rest]
    first = max(len("src → dst"), *fitting, 0)

    def line(number: str, pair: str, numbers: Sequence[str], verdict: Sequence[str]) -> str:
        cells = [cell.rjust(size) for cell, size in zip(numbers, sizes, strict=True)]
        limit, gain, sure = verdict
        shown = [limit.ljust(end_sizes[0]), gain.rjust(end_sizes[1]), sure]
        text = "  ".join([pair.ljust(first), *cells, *shown]).rstrip()
        return f"{number.rjust(number_size)}  {text}" if margin else text

    yield style.dim(line("#", "src → dst", titles, ends))
    for half in halves:
        pair = half.pair
        if len(pair) > first:
            yield f"{half.number.rjust(number_size)}  {pair}" if margin else pair
            yield line("", "", half.numbers, half.verdict)
        else:
            yield line(half.number, pair, half.numbers, half.verdict)
        if in_full:
            indent = " " * (margin or 2)
            for text in filter(None, (half.why, half.fix)):
                for part in wrapped(text, width - len(indent)):
                    yield style.dim(f"{indent}{part}")


def _left_out(seen: Seen, style: Style) -> Iterator[str]:
    hidden = seen.total - len(seen.halves)
    if not seen.total:
        yield "No TCP connection moved data."
    elif hidden > 0:
        small = f", {seen.trickles:,} of them small"
        what = f"{hidden:,} more direction{'s' * (hidden != 1)} not shown"
        yield style.dim(f"{what}{small if seen.trickles else ''} (--all, --top)")


def _ask(half: Half, style: Style, *, alone: bool) -> Iterator[str]:
    """Say how to ask further; numbers are of all captures together, which were read as one."""
    if half.source in (None, "-"):
        return
    number = half.number if alone else ""
    flow = number or shlex.quote(half.pair.replace(" → ", "-"))
    yield ""
    yield style.dim(f"Ask further: tcpwhy explain {shlex.quote(str(half.source))} --flow {flow}")


def _counted(counters: Mapping[str, int], choice: Choice, width: int) -> Iterator[str]:
    """Name what a bound cut and what could not be read; with -v everything that was counted."""
    meaning = dict(_core.counters())
    lines: list[str] = []
    if choice.verbose:
        lines += filter(None, [_summary(counters), _confidence(counters)])
    for name, value in counters.items():
        # That the kernel takes the times is news only where the card was to.
        expected = name == "packets_kernel_time" and not counters.get("packets_hardware_time")
        quiet = not choice.verbose and name in _NO_TROUBLE
        if value and name not in _IN_FIRST_LINE and not expected and not quiet:
            lines.append(f"{name} {value:,}: {meaning.get(name, '').rstrip('.')}")
    if lines:
        yield ""
    for line in lines:
        first, *more = wrapped(line, width)
        yield first
        yield from (f"  {part}" for part in more)


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
        for what in ("directions", "bytes")
    }
    directions, size = sum(count["directions"]), sum(count["bytes"])
    if not directions or not size:
        return None
    shares = (
        f"{level} {as_share(number / directions)} ({as_share(amount / size)} of bytes)"
        for level, number, amount in zip(LEVELS, *count.values(), strict=True)
        if number
    )
    return f"confidence {', '.join(shares)}"
