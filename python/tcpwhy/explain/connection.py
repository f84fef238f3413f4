"""The whole argument for one connection: what limited it, when, by which numbers, what to do.

Every number is one of the tables, or follows from them by division.
"""

from contextlib import nullcontext
from datetime import UTC, datetime
from os import PathLike
from typing import Any, NamedTuple

from tcpwhy import vocabulary
from tcpwhy.explain import filters
from tcpwhy.explain.choice import Watch
from tcpwhy.explain.doubts import doubts
from tcpwhy.explain.facts import Facts, Half, Stall
from tcpwhy.explain.numbers import numbers
from tcpwhy.explain.reading import read
from tcpwhy.explain.timeline import Run, runs
from tcpwhy.explain.tree import compared
from tcpwhy.explain.words import (
    OWNERS,
    STATES,
    headline,
    listed,
    sentence,
    share_columns,
)
from tcpwhy.units import Duration, as_bytes, as_duration, as_rate, as_share


class Side(NamedTuple):
    """The argument for one direction."""

    half: Half
    headline: str
    """What limited it, and how sure that is."""
    moved: str
    """What was transferred, and how fast."""
    limit: list[str]
    """What decided, and what the confidence stands for."""
    runs: list[Run]
    """The timeline; empty when there are no intervals."""
    stalls: list[Stall]
    """The longest stalls, the longest first."""
    numbers: dict[str, str]
    """The numbers behind it, by what they are about."""
    against: list[str]
    """What speaks against it."""
    tree: list[str]
    """What the paper's decision tree says."""
    remedy: str | None
    gain: str | None
    """What the remedy would bring, and what would limit then."""
    filters: dict[str, str]
    """Display filters for Wireshark, by what they show."""


class Connection(NamedTuple):
    """The argument for one connection."""

    facts: Facts
    lasted: str
    """When it was, and how it ended."""
    sides: list[Side]
    """The directions that moved data, the one that moved more first."""

    def _repr_html_(self) -> str:
        """Show a notebook the argument, with the graph beside it where there is one."""
        from tcpwhy.report.argument import fragment

        return fragment(self)

    def record(self) -> dict[str, Any]:
        """Give the same facts as plain values: columns as in the tables, prose as texts."""
        facts, first = self.facts, self.facts.halves[0]
        return {
            "source": facts.source,
            "flow_id": first.flow_id,
            "community_id": first.community_id,
            "chosen": facts.chosen or None,
            "lasted": self.lasted,
            "filter": filters.of_flow(first),
            "others": [other._asdict() for other in facts.others],
            "directions": [_record(side) for side in self.sides],
        }


def explain_connection(
    source: str | PathLike[str],
    *,
    flow: int | str | None = None,
    interval: Duration | None = None,
    watch: Watch = nullcontext,
) -> Connection:
    """Argue what limited a connection of a capture or of a store.

    Args:
        source: a capture, or a store that has the flows, the intervals and the periods.
        flow: which one, by flow_id or Community ID; the one that moved most bytes unless given.
        interval: length of a periodic calculation of a capture, as in analyze.
        watch: what to put around each reading of a capture, such as a progress bar.

    Raises:
        UsageError: when there is no such flow.
        InputError: for a source that cannot be read.

    """
    return argue(read(source, flow, interval, watch))


def argue(facts: Facts) -> Connection:
    """Argue from the rows of a flow."""
    sides = [_side(facts, half) for half in facts.halves if half.unique_bytes > 0]
    return Connection(facts, _lasted(facts), sides)


def _side(facts: Facts, half: Half) -> Side:
    found = runs(facts.intervals[half.direction])
    beside = facts.beside.get(half.direction)
    return Side(
        half=half,
        headline=headline(half),
        moved=_moved(half),
        limit=[*_limit(half)],
        runs=found,
        stalls=facts.stalls[half.direction],
        numbers=numbers(half, beside),
        against=doubts(half, found, beside),
        tree=[*compared(half, facts.periods[half.direction])],
        remedy=sentence(half.remedy) if half.remedy else None,
        gain=_gain(half),
        filters=_filters(half, found),
    )


def _moved(half: Half) -> str:
    opened = "opened" if half.direction == "orig" else "accepted"
    # Without its beginning nobody knows.
    known = f", which {opened} the connection," if half.conn_state != "OTH" else ""
    who = f"{as_bytes(half.unique_bytes)} went from {half.src}{known}"
    span = half.data_span_ns
    if span is None or half.goodput_bps is None:
        return f"{who} to {half.dst} at once."
    again = half.throughput_bps or half.goodput_bps
    # Three digits are shown; what does not change them is not said.
    more = f" ({as_rate(again)} with what was sent again)"
    more = "" if as_rate(again) == as_rate(half.goodput_bps) else more
    time = as_duration(span)
    return f"{who} to {half.dst} in {time}: {as_rate(half.goodput_bps)}{more}."


def _limit(half: Half) -> list[str]:
    told = []
    if half.evidence:
        told.append(sentence(half.evidence))
    if half.speaks_for:
        told.append(sentence(f"Weighed most for it, in log-odds: {half.speaks_for}"))
    if confidence := vocabulary.confidence(half.confidence):
        told.append(f"The confidence is {confidence.word}: {confidence.meaning}.")
    shares = share_columns(half)
    if shares:
        known = {name: share for name, share in shares.items() if share >= LEAST_SHARE}
        parts = [f"{as_share(share)} {OWNERS[name]}" for name, share in known.items()]
        told.append(f"Whose time it was: {listed(parts)}.")
    return told


def _gain(half: Half) -> str | None:
    if half.limitation is None:
        return None
    if half.headroom_bps is None:
        reason = (
            vocabulary.meaning("gain_unknown", half.gain_unknown) or "the next limit is unknown"
        )
        return f"Cannot be predicted: {reason}."
    if half.exceeds_capacity and half.next_limitation == "unshared_bottleneck":
        return "Cannot be predicted: the capacity would be the limit, and its estimate is too low."
    now = half.goodput_bps
    rate = as_rate(half.headroom_bps)
    # What comes next may be more of the same.
    following = vocabulary.limitation(half.next_limitation or half.limitation)
    then = following.next if following else "something else"
    if not now:
        return f"{rate} is predicted without this limit; then {then} would be the next one."
    times = half.headroom_bps / now
    link = "or the link, whose speed this capture does not show"
    if half.limitation == "application":
        if half.capacity_bps is None:
            return (
                f"Path and hosts would take up to {rate}; then {then} would be the limit, {link}."
            )
        return f"Path and hosts would take {rate}; then {then} would be the limit."
    if times < LEAST_GAIN:
        return f"Hardly any: without this limit {then} would allow {rate}."
    factor = f"{times:,.0f}" if times >= 9.95 else f"{times:.1f}"
    if half.capacity_bps is None:
        predicted = f"Up to {rate} without this limit, {factor} times as much"
        return f"{predicted}; then {then} would be the limit, {link}."
    predicted = f"{rate} is predicted without this limit, {factor} times as much"
    return f"{predicted}; then {then} would be the limit."


LEAST_SHARE = 0.005
"""Share of the time that is worth a word."""

LEAST_GAIN = 1.05
"""A prediction is no better than to a few per cent."""


def _filters(half: Half, found: list[Run]) -> dict[str, str]:
    told = {"all": filters.of_flow(half)}
    if (telling := filters.telling(half)) is not None:
        told["telling"] = telling
    if (during := filters.during(half, found)) is not None:
        told["during"] = during[1]
    return told


def _lasted(facts: Facts) -> str:
    half = facts.halves[0]
    begin = datetime.fromtimestamp(half.start_ns // 10**9, UTC)
    ms = half.start_ns // 10**6 % 1000
    state = STATES.get(half.conn_state, half.conn_state)
    time = f"{begin:%Y-%m-%d %H:%M:%S}.{ms:03d} UTC"
    # In a store the frame may be that of another file.
    frame = "" if facts.in_store else f", from frame {half.first_frame:,} on"
    return f"{time}{frame}, {as_duration(half.end_ns - half.start_ns)} long; {state}"


def _record(side: Side) -> dict[str, Any]:
    told = side._asdict()
    columns: dict[str, Any] = told.pop("half")._asdict()
    # The column has the remedy already.
    del told["remedy"]
    timeline = [run._asdict() for run in told.pop("runs")]
    for run in timeline:
        low, high = run.pop("rtt_ns") or (None, None)
        run |= {"rtt_mean_least_ns": low, "rtt_mean_most_ns": high}
    found = [stall._asdict() for stall in told.pop("stalls")]
    return columns | told | {"timeline": timeline, "stalls": found}
