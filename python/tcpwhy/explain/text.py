"""The argument for a connection as a text of a terminal's width."""

import re
from collections.abc import Iterator

from tcpwhy import vocabulary
from tcpwhy.explain import filters
from tcpwhy.explain.connection import Connection, Side
from tcpwhy.explain.stalls import stalls
from tcpwhy.explain.timeline import Run, bar, shown, time_by_cause
from tcpwhy.explain.words import limit as limit_word
from tcpwhy.explain.words import sentence
from tcpwhy.terminal import Style, grid, paragraph, wrapped
from tcpwhy.units import as_bytes, as_duration, as_rate

SMALL = 0.1
"""A direction with less than this share of the other's bytes gets a paragraph only,"""

FEW = 10
"""and so does one of no more data packets than an initial window (RFC 6928)."""

HEAD = 10
"""Columns of the words before each paragraph."""


def told(connection: Connection, limit: int, style: Style) -> Iterator[str]:
    """Give the lines of the argument, none longer than `limit` but for a single long word."""
    facts, sides = connection.facts, connection.sides
    if not sides:
        half = facts.halves[0]
        yield style.bold("No payload was sent.")
        yield from _who(connection, limit, style)
        yield ""
        yield from _part("Wireshark", _glued(filters.of_flow(half)), limit)
        return
    first, *others = sides
    yield from map(style.bold, wrapped(first.headline, limit))
    yield from _who(connection, limit, style)
    yield from _argument(first, facts.in_store, limit, style)
    for side in others:
        yield ""
        is_small = side.half.unique_bytes < SMALL * first.half.unique_bytes
        if is_small or side.half.data_packets <= FEW:
            text = " ".join([side.moved, side.headline, *side.limit[:1]])
            yield from _part("Other way", text, limit)
        else:
            yield from map(style.bold, wrapped(f"The other way. {side.headline}", limit))
            yield from _argument(side, facts.in_store, limit, style)
    yield ""
    yield from _show(first, limit)
    if facts.others:
        yield ""
        which = "Flows that this names too" if facts.is_named else "Next flows with data"
        listed = "; ".join(other.line for other in facts.others)
        yield from _part("Others", f"{which}: {listed}.", limit)


def _who(connection: Connection, limit: int, style: Style) -> Iterator[str]:
    facts = connection.facts
    half = facts.halves[0]
    tunnel = f" in {half.tunnel}" if half.tunnel else ""
    chosen = f", {facts.chosen}" if facts.chosen else ""
    place = "the store" if facts.in_store else "the capture"
    text = f"{half.pair}{tunnel}, flow {half.flow_id}{f'{chosen} of {place}' if chosen else ''}"
    for line in [*paragraph("", text, limit), *paragraph("", connection.lasted, limit)]:
        yield style.dim(line)


def _argument(side: Side, in_store: bool, limit: int, style: Style) -> Iterator[str]:
    yield ""
    yield from _part("Moved", side.moved, limit)
    yield ""
    yield from _part("Why", " ".join(side.limit), limit)
    yield ""
    yield from _timeline(side, limit, style)
    yield ""
    told = [*stalls(side.stalls, side.half.start_ns, in_store=in_store)]
    for number, text in enumerate(told):
        yield from _part("" if number else "Stalls", text, limit)
    if told:
        yield ""
    for name, text in side.numbers.items():
        yield from _part(name, text, limit)
    yield ""
    against = side.against or ["No counter-evidence."]
    for number, text in enumerate(against):
        yield from _part("" if number else "Against", text, limit)
    yield from _part("The paper", " ".join(side.tree), limit)
    if side.remedy:
        yield ""
        yield from _part("Remedy", side.remedy, limit)
    if side.gain:
        yield from _part("Gain", side.gain, limit)


def _part(head: str, text: str, limit: int) -> Iterator[str]:
    return paragraph(f"{head.ljust(HEAD)} ", text, limit)


def _timeline(side: Side, limit: int, style: Style) -> Iterator[str]:
    found = side.runs
    if not found:
        yield from _part("Timeline", "The store has no intervals of this direction.", limit)
        return
    if all(run.limitation is None for run in found):
        yield from _part(
            "Timeline", "Everything was sent at once: there is no time to divide.", limit
        )
        return
    start = side.half.start_ns
    begin, end = _at(found[0].start_ns - start), _at(found[-1].end_ns - start)
    head = f"{'Timeline'.ljust(HEAD)} {begin} "
    cells = limit - len(head) - len(end) - 1
    drawn = "".join(
        style.limit(name, vocabulary.block(name) * many) for name, many in bar(found, cells)
    )
    yield f"{head}{drawn} {end}"
    kept, left = shown(found)
    if len(found) == 1:
        only = found[0]
        many = f" of {only.intervals:,} intervals" if only.intervals > 1 else ""
        text = f"{limit_name(only)} in all{many}"
        yield f"{' ' * HEAD} {text}" if many else f"{' ' * HEAD} {limit_name(only)} throughout"
        return
    kept, left = shown(found)
    # As wide as its longest name: grid would rather cut it than leave a column out.
    limited_by = "limited by".ljust(max(len(limit_name(run)) for run in kept))
    names = ["  from", "    to", "", limited_by, "sure", "goodput", "RTT", "sent again"]
    names += ["flight ≤", "window ≥"]
    columns = zip(names, *(_row(run, start) for run in kept), strict=True)
    # The block has no name; other columns without a value in any row have nothing to say.
    filled = [column for column in columns if any(column[1:])]
    names, *rows = map(list, zip(*filled, strict=True))
    lines = [*grid(names, rows, limit)]
    yield style.dim(lines[0])
    for line, run in zip(lines[1:], kept, strict=False):
        block = vocabulary.block(run.limitation)
        yield line.replace(block, style.limit(run.limitation, block), 1)
    yield from map(style.dim, lines[1 + len(kept) :])
    if left:
        yield from paragraph("", sentence(_rest(left)), limit)


def _row(run: Run, start: int) -> list[str]:
    return [
        _at(run.start_ns - start).rjust(6),
        _at(run.end_ns - start).rjust(6),
        vocabulary.block(run.limitation),
        limit_name(run),
        run.confidence or "",
        as_rate(run.goodput_bps).rjust(10) if run.unique_bytes else "",
        _range(run.rtt_ns),
        as_bytes(run.retransmitted_bytes).rjust(7) if run.retransmitted_bytes else "",
        as_bytes(run.flight_size_max) if run.flight_size_max is not None else "",
        as_bytes(run.rwnd_min) if run.rwnd_min is not None else "",
    ]


def _range(span_ns: tuple[int, int] | None) -> str:
    """Write a range of times, its unit only once."""
    if span_ns is None:
        return ""
    low, high = (as_duration(ns) for ns in span_ns)
    if low == high:
        return low
    (first, unit), (last, same) = low.split(), high.split()
    return f"{first}–{last} {unit}" if unit == same else f"{low} – {high}"


def limit_name(run: Run) -> str:
    """Name what limited a run."""
    return limit_word(run.limitation, run.cause)


def _rest(left: list[Run]) -> str:
    parts = [f"{limit_word(*key)} {as_duration(time)}" for key, time in time_by_cause(left).items()]
    longest = as_duration(max(run.length_ns for run in left))
    return f"and {len(left):,} runs of at most {longest} in between: {', '.join(parts)}"


def _at(ns: int) -> str:
    return "0 s" if ns == 0 else as_duration(ns)


def _show(side: Side, limit: int) -> Iterator[str]:
    """Give the display filters: all packets, and what to add for those that tell."""
    whole = side.filters["all"]
    yield from _part("Wireshark", _glued(whole), limit)
    if "telling" in side.filters:
        added = side.filters["telling"].removeprefix(f"{whole} ")
        yield from _part("", f"for the telling packets only, append: {_glued(added)}", limit)
    if (during := filters.during(side.half, side.runs)) is not None:
        run, span = during
        times = [_at(ns - side.half.start_ns) for ns in (run.start_ns, run.end_ns)]
        added = _glued(span.removeprefix(f"{whole} "))
        yield from _part("", f"for the longest run, {' to '.join(times)}, append: {added}", limit)


def _glued(text: str) -> str:
    """Keep a comparison of a display filter on one line."""
    return re.sub(r" (==|>=|<=|>|<) ", "\N{NO-BREAK SPACE}\\1\N{NO-BREAK SPACE}", text)
