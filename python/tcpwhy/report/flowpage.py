"""The page of a connection: the argument for each direction, with its timeline."""

from tcpwhy.explain.connection import Connection, Side
from tcpwhy.explain.facts import Half
from tcpwhy.explain.stalls import stalls
from tcpwhy.report.contents import Contents
from tcpwhy.report.markup import Html, joined, table, tag
from tcpwhy.report.palette import known
from tcpwhy.report.pictures import NARROW_BELOW, Picture
from tcpwhy.report.pieces import confidence, limit, timeline
from tcpwhy.terminal.overview import LEAST_GAIN
from tcpwhy.units import as_bytes, as_duration, as_rate

MOST_RUNS = 16
"""Rows of the table of limits over time; of more, the longest."""

FILTERS = {
    "all": "the connection",
    "telling": "the packets that tell",
    "during": "the longest span",
}


def section(contents: Contents) -> Html | None:
    """Show the connections that have pages, one below the other."""
    if not contents.flows:
        return None
    rest = contents.span.flows - len(contents.flows)
    told = "Those with most bytes in most time, and those that would gain most."
    if rest:
        told += f" {rest:,} others have no page here."
    ids = [flow.facts.halves[0].flow_id for flow in contents.flows]
    drawn = map(contents.pictures.get, ids)
    return joined((tag("p", told, class_="soft"), *map(_flow, contents.flows, drawn)))


def _flow(connection: Connection, picture: Picture | None) -> Html:
    first = connection.facts.halves[0]
    limited = connection.sides[0].half if connection.sides else first
    summary = tag(
        "summary",
        tag("span", first.pair, class_="pair"),
        limit(limited.limitation, limited.cause),
        confidence(limited.confidence),
        tag(
            "span",
            f"{as_bytes(first.unique_bytes)} · {as_rate(first.goodput_bps)}{could_be(limited)}",
            class_="soft",
        ),
    )
    identity = tag(
        "p",
        connection.lasted,
        " · flow ",
        tag("code", first.flow_id),
        " · ",
        tag("code", first.community_id),
        class_="soft",
    )
    sides = (side(one, connection) for one in connection.sides)
    return tag(
        "details",
        summary,
        tag("div", identity, graph(picture), *sides),
        class_="flow",
        id=f"flow-{first.flow_id}",
    )


def could_be(half: Half) -> str:
    """Say how fast it could be after a change; nothing where no change helps."""
    if half.limitation in (None, "application") or not (half.goodput_bps and half.headroom_bps):
        return ""
    if half.headroom_bps <= LEAST_GAIN * half.goodput_bps:
        return ""
    return f" · could be {as_rate(half.headroom_bps)}"


def graph(picture: Picture | None) -> Html | None:
    """Show the graph of a connection, or nothing where there is none."""
    if picture is None:
        return None
    # As an image, so that its style is its own and none of the page.
    media = f"screen and (max-width: {NARROW_BELOW}px)"
    narrow = tag("source", media=media, srcset=picture.narrow_address)
    shown = tag("img", src=picture.address, alt=picture.told)
    return tag("figure", tag("picture", narrow, shown), class_="graph")


def side(one: Side, connection: Connection) -> Html:
    """Give the argument for a direction."""
    half = one.half
    in_store = connection.facts.in_store
    rows = connection.facts.intervals[half.direction]
    numbers = (
        part for name, text in one.numbers.items() for part in (tag("dt", name), tag("dd", text))
    )
    return tag(
        "div",
        tag("h3", one.headline),
        tag("p", one.moved, " ", " ".join(one.limit)),
        timeline(rows, half.pair),
        _runs(one),
        _listed("Longest stalls", [*stalls(one.stalls, half.start_ns, in_store=in_store)]),
        _advice(one),
        _listed("What speaks against it", one.against),
        tag("dl", *numbers, class_="facts"),
        _listed("The paper's decision tree", one.tree),
        _filters(one),
        class_=f"side l-{known(half.limitation).word}",
    )


def _advice(one: Side) -> Html | None:
    if not (one.remedy or one.gain):
        return None
    parts = (tag("dt", "Change"), tag("dd", one.remedy)) if one.remedy else ()
    gain = (tag("dt", "Gain"), tag("dd", one.gain)) if one.gain else ()
    return tag("dl", *parts, *gain, class_="facts")


def _listed(title: str, sentences: list[str]) -> Html | None:
    if not sentences:
        return None
    return tag("p", tag("b", f"{title}: "), " ".join(sentences))


def _runs(one: Side) -> Html | None:
    if len(one.runs) < 2:
        return None
    begin = one.runs[0].start_ns
    longest = sorted(one.runs, key=lambda run: -run.length_ns)[:MOST_RUNS]
    lines = [
        (
            as_duration(run.start_ns - begin) if run.start_ns > begin else "0 s",
            as_duration(run.length_ns),
            limit(run.limitation, run.cause),
            confidence(run.confidence) or "",
            as_rate(run.goodput_bps),
            as_bytes(run.unique_bytes),
        )
        for run in sorted(longest, key=lambda run: run.start_ns)
    ]
    heads = ("from", "for", "limited by", "sure", "goodput", "bytes")
    listing = table(heads, lines, caption="Limits over time", numbers=(0, 1, 4, 5))
    more = len(one.runs) - len(longest)
    rest = tag("p", f"{more:,} shorter spans are not listed.", class_="soft") if more else None
    return joined((listing, rest))


def _filters(one: Side) -> Html | None:
    known_filters = [(FILTERS[name], text) for name, text in one.filters.items() if name in FILTERS]
    parts = (
        tag("div", f"{what}: ", tag("code", text)) for what, text in dict(known_filters).items()
    )
    return tag("div", tag("b", "In Wireshark"), *parts, class_="filters")
