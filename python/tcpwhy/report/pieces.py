"""Parts of a page that several sections have: bars of shares, timelines, names of limits."""

from collections.abc import Sequence

from tcpwhy.explain.facts import Interval
from tcpwhy.report.markup import Html, tag
from tcpwhy.report.palette import known
from tcpwhy.units import as_bytes, as_duration, as_rate, as_share

BAR_UNITS = 1000
"""Width of a bar in units of its picture."""


def limit(word: str | None, cause: str | None = None) -> Html:
    """Name a limitation, with its colour and the rest of its cause."""
    found = known(word)
    detail = (cause or "").partition("/")[2].replace("_", " ")
    more = tag("span", f" · {detail}", class_="soft") if detail else None
    return tag("span", swatch(word), found.plain, more, class_="limit")


def swatch(word: str | None) -> Html:
    """Draw the colour of a limitation."""
    square = tag("rect", width=10, height=10, rx=2)
    return tag(
        "svg",
        square,
        class_=f"swatch l-{known(word).word}",
        viewBox="0 0 10 10",
        aria_hidden="true",
    )


def stacked(parts: Sequence[tuple[str | None, float]], label: str) -> Html:
    """Draw shares of a whole as a bar."""
    total = sum(size for _, size in parts) or 1
    rectangles, at = [], 0.0
    for word, size in parts:
        width = size / total * BAR_UNITS
        title = tag("title", f"{known(word).plain}: {as_share(size / total)}")
        drawn = max(width - GAP, 0.5)
        class_ = f"l-{known(word).word}"
        place = {"x": f"{at:.1f}", "width": f"{drawn:.1f}"}
        rectangles.append(tag("rect", title, class_=class_, y=0, height=28, **place))
        at += width
    told = ", ".join(f"{known(word).plain} {as_share(size / total)}" for word, size in parts[:6])
    return tag(
        "svg",
        *rectangles,
        class_="stack",
        viewBox=f"0 0 {BAR_UNITS} 28",
        preserveAspectRatio="none",
        role="img",
        aria_label=f"{label}: {told}",
    )


GAP = 2
"""Between the parts of a bar, so that neighbours of like colours part."""


def timeline(rows: Sequence[Interval], label: str) -> Html | None:
    """Draw the goodput of intervals as columns in the colour of what limited each."""
    shown = thinned([row for row in rows if row.end_ns > row.start_ns])
    if not shown:
        return None
    begin, end = shown[0].start_ns, max(row.end_ns for row in shown)
    rates = [row.unique_bytes * 8e9 / (row.end_ns - row.start_ns) for row in shown]
    top = max(rates) or 1
    columns = []
    for row, rate in zip(shown, rates, strict=True):
        left = (row.start_ns - begin) / (end - begin) * BAR_UNITS
        width = (row.end_ns - row.start_ns) / (end - begin) * BAR_UNITS
        height = max(rate / top * TALL, 1.5)
        title = (
            f"{as_duration(row.start_ns - begin)}: {as_rate(rate)}, {known(row.limitation).plain}"
        )
        place = {"x": f"{left:.2f}", "width": f"{max(width - 0.6, 0.6):.2f}"}
        size = {"y": f"{TALL - height:.2f}", "height": f"{height + RIBBON:.2f}"}
        class_ = f"l-{known(row.limitation).word}"
        columns.append(tag("rect", tag("title", title), class_=class_, **place, **size))
    picture = tag(
        "svg",
        *columns,
        class_="timeline",
        viewBox=f"0 0 {BAR_UNITS} {TALL + RIBBON}",
        preserveAspectRatio="none",
        role="img",
        aria_label=f"{label}: goodput over {as_duration(end - begin)}, at most {as_rate(top)}",
    )
    axis = tag(
        "div",
        tag("span", "0 s"),
        tag("span", f"at most {as_rate(top)}"),
        tag("span", as_duration(end - begin)),
        class_="axis",
    )
    return tag("div", picture, axis, class_="timeline-box")


def thinned(rows: Sequence[Interval], most: int = 400) -> list[Interval]:
    """Join neighbours so that no more than `most` remain; each shows what held longest."""
    step = -(-len(rows) // most)
    if step <= 1:
        return list(rows)
    groups = (rows[at : at + step] for at in range(0, len(rows), step))
    return [_joined(group) for group in groups]


def _joined(group: Sequence[Interval]) -> Interval:
    longest = max(group, key=lambda row: row.end_ns - row.start_ns)
    size = sum(row.unique_bytes for row in group)
    end = max(row.end_ns for row in group)
    return longest._replace(start_ns=group[0].start_ns, end_ns=end, unique_bytes=size)


TALL, RIBBON = 90, 8
"""Height of the columns, and of the band under them that is there without any rate too."""


def confidence(level: str | None) -> Html | None:
    """Draw how sure a verdict is."""
    dots = {"high": 3, "medium": 2, "low": 1}.get(level or "")
    if dots is None:
        return None
    circles = (
        tag("circle", cx=5 + 11 * at, cy=5, r=4, class_="on" if at < dots else "off")
        for at in range(3)
    )
    name = f"{level} confidence"
    return tag(
        "svg",
        tag("title", name),
        *circles,
        class_="sure",
        viewBox="0 0 32 10",
        role="img",
        aria_label=name,
    )


def rate(bps: float | None) -> str:
    """Show a rate, or that it is not known."""
    return "–" if bps is None else as_rate(bps)


def size(amount: float | None) -> str:
    """Show a size, or that it is not known."""
    return "–" if amount is None else as_bytes(amount)


def time(ns: float | None) -> str:
    """Show a duration, or that it is not known."""
    return "–" if ns is None else as_duration(ns)
