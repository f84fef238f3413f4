"""The sections of the page, each from the facts that it shows."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from tcpwhy.report import flowpage, studypage
from tcpwhy.report.contents import Contents, Figure
from tcpwhy.report.facts import Gain, Share, Talker
from tcpwhy.report.markup import Html, joined, table, tag
from tcpwhy.report.palette import known
from tcpwhy.report.pieces import confidence, limit, size, stacked, time
from tcpwhy.units import as_bytes, as_duration, as_rate, as_share

Draw = Callable[[Figure], Html]
Section = tuple[str, str, Html]
"""Its name in a link, its title, what it shows."""


def head(contents: Contents) -> Html:
    """Say what this is about, and the answer in a sentence."""
    span = contents.span
    judged = span.judged_bytes / span.payload_bytes if span.payload_bytes else None
    length = None if span.begin_ns is None or span.end_ns is None else span.end_ns - span.begin_ns
    tiles = (
        (f"{span.flows:,}", "connections"),
        (size(span.payload_bytes), "of payload"),
        (time(length), "from first to last packet"),
        (as_share(judged), "of the bytes have a verdict"),
        (as_share(_sure(contents)), "of these with high confidence"),
    )
    return tag(
        "header",
        tag("p", "What limits TCP connections", class_="soft"),
        tag("h1", contents.name),
        tag("p", _when(span.begin_ns, span.end_ns), class_="soft"),
        tag("p", answer(contents), class_="lead"),
        *(tag("p", f"Damage: {error}", class_="bad") for error in contents.damage),
        tag(
            "div",
            *(tag("div", tag("b", b), tag("span", s), class_="tile") for b, s in tiles),
            class_="tiles",
        ),
    )


def answer(contents: Contents) -> str:
    """Give the answer in a sentence."""
    times = by_limitation(contents.shares)
    total = sum(share.time_ns for share in times)
    if not total:
        return "No TCP connection moved data."
    first = [f"{known(s.limitation).plain} {as_share(s.time_ns / total)}" for s in times[:3]]
    return f"Of the time in which connections sent, these held them back most: {', '.join(first)}."


def all_of(contents: Contents, draw: Draw) -> list[Section]:
    """Give the sections that have something to show, in their order."""
    over_time = [drawn for drawn in contents.figures if drawn.name == "over-time"]
    others = [drawn for drawn in contents.figures if drawn.name != "over-time"]
    found: list[tuple[str, str, Html | None]] = [
        ("shares", "Where the time and the bytes went", shares(contents)),
        *((drawn.name, drawn.title, draw(drawn)) for drawn in over_time),
        ("gains", "What would gain most", gains(contents)),
        ("unknown", "What could not be judged", unknown(contents)),
        ("distributions", "Distributions", grid(others, draw)),
        ("talkers", "Who sent most", talkers(contents)),
        ("quality", "Quality of the data", quality(contents)),
    ]
    if contents.study:
        drawn = grid(contents.study_figures, draw)
        found.append(("study", "Case study", studypage.section(contents.study, drawn)))
    found.append(("flows", "Connections", flowpage.section(contents)))
    return [(name, title, shown) for name, title, shown in found if shown]


def by_limitation(shares: Sequence[Share]) -> list[Share]:
    """Join the causes of a limitation."""
    found: dict[str | None, Share] = {}
    for share in shares:
        one = found.get(share.limitation, Share(share.limitation, None, 0, 0, 0))
        found[share.limitation] = one._replace(
            time_ns=one.time_ns + share.time_ns,
            size_bytes=one.size_bytes + share.size_bytes,
            directions=one.directions + share.directions,
        )
    return sorted(found.values(), key=lambda share: -share.time_ns)


def saving(contents: Contents, share: Share) -> str:
    """Say what changes would save of the transfers that this limited, if that is known."""
    found = contents.savings.get((share.limitation or "", share.cause))
    if found is None or not (found.known or found.unknown):
        return "–"
    if not found.known:
        return "not known"
    more = f"; {found.unknown:,} not known" if found.unknown else ""
    return f"{as_duration(found.saved_ns)}{more}"


def shares(contents: Contents) -> Html:
    """Show what each limitation took of the time and of the bytes, and what changes would save."""
    rows = contents.shares
    times = by_limitation(rows)
    total_ns = sum(share.time_ns for share in rows) or 1
    total_bytes = sum(share.size_bytes for share in rows) or 1
    bars = (
        tag("div", "of the time", class_="soft"),
        stacked([(s.limitation, s.time_ns) for s in times], "Shares of the time"),
        tag("div", "of the bytes", class_="soft"),
        stacked([(s.limitation, s.size_bytes) for s in times], "Shares of the bytes"),
    )
    lines = [
        (
            limit(share.limitation, share.cause),
            as_duration(share.time_ns),
            as_share(share.time_ns / total_ns),
            as_bytes(share.size_bytes),
            as_share(share.size_bytes / total_bytes),
            f"{share.directions:,}",
            saving(contents, share),
        )
        for share in rows
    ]
    heads = ("limited by", "time", "", "bytes", "", "directions", "changes would save")
    right = range(1, len(heads))
    listing = table(heads, lines, caption="Time and bytes by limitation", numbers=right)
    told = (
        "Interval by interval; the time is that in which a direction of a connection sent. What"
        " changes would save is of transfers that it limited as a whole."
    )
    return joined((tag("p", told, class_="soft"), *bars, listing))


def gains(contents: Contents) -> Html:
    """List who would gain most, with what to change."""
    if not contents.gains:
        return tag("p", "No connection is known to gain anything by a change of its hosts or path.")
    told = "Ranked by the time that each would have saved; last, those whose gain is not known."
    paged = {flow.facts.halves[0].flow_id for flow in contents.flows}
    return joined(
        (
            tag("p", told, class_="soft"),
            *(_gain(one, one.flow_id in paged) for one in contents.gains),
        )
    )


def _gain(gain: Gain, has_page: bool) -> Html:
    pair = tag("a", gain.pair, href=f"#flow-{gain.flow_id}") if has_page else gain.pair
    now = f"{as_rate(gain.goodput_bps)} now"
    if gain.times is None:
        then = f"gain not known: {gain.no_gain}" if gain.no_gain else "gain not known"
    else:
        times = f"{gain.times:,.0f}" if gain.times >= 9.95 else f"{gain.times:.1f}"
        then = f"{as_rate(gain.headroom_bps)} then ({times} times)"
        then += f", {time(gain.saved_ns)} of {time(gain.span_ns)} saved"
    return tag(
        "div",
        tag(
            "div",
            tag("span", pair, class_="pair"),
            limit(gain.limitation, gain.cause),
            confidence(gain.confidence),
            tag("span", f"{as_bytes(gain.size_bytes)} · {now} · {then}", class_="soft"),
            class_="head",
        ),
        tag("p", gain.remedy, class_="do"),
        tag("p", gain.evidence or "", class_="why"),
        class_="gain",
    )


def unknown(contents: Contents) -> Html:
    """Say what has no verdict, and why."""
    span = contents.span
    rows = [(one.text, f"{one.directions:,}", size(one.size_bytes)) for one in contents.reasons]
    without = span.flows - span.judged_flows
    rest = span.payload_bytes - span.judged_bytes
    told = (
        f"{without:,} of {span.flows:,} connections and {as_bytes(rest)} of"
        f" {as_bytes(span.payload_bytes)} have no verdict."
    )
    if not rows:
        return tag("p", "Every direction that moved data has a verdict.")
    heads = ("because", "directions", "bytes")
    listing = table(heads, rows, caption="Reasons why there is no verdict", numbers=(1, 2))
    return joined((tag("p", told), listing))


def talkers(contents: Contents) -> Html | None:
    """List hosts and services."""
    if not contents.talkers:
        return None
    return tag(
        "div",
        tag("div", tag("h3", "Hosts"), _talkers(contents.talkers, "host")),
        tag("div", tag("h3", "Ports of services"), _talkers(contents.services, "port")),
        class_="grid",
    )


def _talkers(rows: Sequence[Talker], what: str) -> Html:
    lines = [
        (
            tag("span", row.name, class_="mono"),
            as_bytes(row.size_bytes),
            as_share(row.share),
            f"{row.connections:,}",
            limit(row.limitation),
        )
        for row in rows
    ]
    heads = (what, "sent", "", "connections", "most of its time")
    return table(heads, lines, caption=f"Most bytes by {what}", numbers=(1, 2, 3))


def quality(contents: Contents) -> Html:
    """List what the data itself leaves in doubt."""
    if not contents.notes:
        return tag("p", "Nothing was dropped, cut, damaged or missing.")
    rows = (
        tag(
            "tr",
            tag("td", tag("code", note.name)),
            tag("td", note.value, class_="n"),
            tag("td", note.meaning),
            class_="serious" if note.is_serious else None,
        )
        for note in contents.notes
    )
    heads = tag(
        "tr",
        tag("th", "what", scope="col"),
        tag("th", "how often", class_="n", scope="col"),
        tag("th", "meaning", scope="col"),
    )
    inner = tag("table", tag("thead", heads), tag("tbody", *rows))
    told = "Lines with an exclamation mark may hide connections or bend verdicts."
    box = tag("div", inner, class_="scroll", tabindex=0, role="region", aria_label="Quality")
    return joined((tag("p", told, class_="soft"), box))


def grid(figures: Sequence[Figure], draw: Draw) -> Html | None:
    """Set charts beside each other."""
    if not figures:
        return None
    boxes = (tag("div", tag("h3", drawn.title), draw(drawn)) for drawn in figures)
    return tag("div", *boxes, class_="grid")


def _sure(contents: Contents) -> float | None:
    total = sum(contents.confidence.values())
    return contents.confidence.get("high", 0) / total if total else None


def _when(begin_ns: int | None, end_ns: int | None) -> str:
    if begin_ns is None or end_ns is None:
        return "no packet of TCP"
    begin, end = (datetime.fromtimestamp(at // 10**9, UTC) for at in (begin_ns, end_ns))
    same_day = begin.date() == end.date()
    last = f"{end:%H:%M:%S}" if same_day else f"{end:%Y-%m-%d %H:%M:%S}"
    return f"{begin:%Y-%m-%d %H:%M:%S} to {last} UTC"
