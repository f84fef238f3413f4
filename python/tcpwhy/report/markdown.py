"""The report as Markdown, for a ticket."""

import re
from collections.abc import Iterable, Iterator, Sequence

from tcpwhy.report.contents import Contents
from tcpwhy.report.facts import Gain, Share
from tcpwhy.report.palette import known
from tcpwhy.report.sections import answer, saving
from tcpwhy.report.studypage import TABLE_I, trace_row
from tcpwhy.study.internet import Study
from tcpwhy.units import as_bytes, as_duration, as_rate, as_share


def text(contents: Contents) -> str:
    """Write the text."""
    parts = [*_head(contents), *_shares(contents), *_gains(contents), *_data(contents)]
    if contents.study:
        parts += _study(contents.study)
    return "\n".join([*parts, *_flows(contents)]) + "\n"


def _head(contents: Contents) -> Iterator[str]:
    span = contents.span
    judged = span.judged_bytes / span.payload_bytes if span.payload_bytes else None
    yield f"# What limits {escaped(contents.name)}"
    yield ""
    yield escaped(answer(contents))
    yield ""
    yield (
        f"{span.flows:,} connections, {as_bytes(span.payload_bytes)} of payload;"
        f" {as_share(judged)} of the bytes have a verdict."
    )
    for error in contents.damage:
        yield f"\n**Damage:** {escaped(str(error))}"


def _shares(contents: Contents) -> Iterator[str]:
    yield "\n## Where the time and the bytes went\n"
    rows = contents.shares
    time = sum(row.time_ns for row in rows) or 1
    size = sum(row.size_bytes for row in rows) or 1
    yield from table(
        ("limited by", "time", "share", "bytes", "share", "changes would save"),
        (
            (
                _named(row),
                as_duration(row.time_ns),
                as_share(row.time_ns / time),
                as_bytes(row.size_bytes),
                as_share(row.size_bytes / size),
                saving(contents, row),
            )
            for row in rows
        ),
    )


def _named(row: Share) -> str:
    detail = (row.cause or "").partition("/")[2].replace("_", " ")
    return f"{known(row.limitation).plain}, {detail}" if detail else known(row.limitation).plain


def _gains(contents: Contents) -> Iterator[str]:
    yield "\n## What would gain most\n"
    if not contents.gains:
        yield "No connection is known to gain anything by a change of its hosts or path."
    for number, gain in enumerate(contents.gains, 1):
        yield f"{number}. {_gain(gain)}"


def _gain(gain: Gain) -> str:
    sure = f", {gain.confidence} confidence" if gain.confidence else ""
    then = f"gain not known: {gain.no_gain}" if gain.no_gain else "gain not known"
    if gain.times is not None:
        then = f"{as_rate(gain.headroom_bps)} then, {gain.times:.1f} times"
    lines = [
        f"`{gain.pair}`: **{gain.cause or gain.limitation}**{sure};"
        f" {as_bytes(gain.size_bytes)}, {as_rate(gain.goodput_bps)} now, {then}",
        f"   - Change: {escaped(gain.remedy)}",
    ]
    if gain.evidence:
        lines.append(f"   - Evidence: {escaped(gain.evidence)}")
    return "\n".join(lines)


def _data(contents: Contents) -> Iterator[str]:
    if contents.reasons:
        yield "\n## What could not be judged\n"
        rows = ((r.text, f"{r.directions:,}", as_bytes(r.size_bytes)) for r in contents.reasons)
        yield from table(("because", "directions", "bytes"), rows)
    yield "\n## Who sent most\n"
    yield from table(
        ("host", "sent", "share", "connections", "most of its time"),
        (
            (
                row.name,
                as_bytes(row.size_bytes),
                as_share(row.share),
                f"{row.connections:,}",
                known(row.limitation).plain,
            )
            for row in contents.talkers
        ),
    )
    if contents.notes:
        yield "\n## Quality of the data\n"
        marked = ((note.is_serious, note) for note in contents.notes)
        rows = (
            (f"{'! ' if serious else ''}{note.name}", note.value, note.meaning)
            for serious, note in marked
        )
        yield from table(("what", "how often", "meaning"), rows)


def _study(study: Study) -> Iterator[str]:
    yield "\n## Case study\n"
    yield from table(TABLE_I, [trace_row(study)])
    yield ""
    yield from table(
        ("of flows have at most", "packets"),
        ((f"{point:g} %", f"{value:,.0f}") for point, value in study.percentiles.items()),
    )
    yield ""
    yield from table(
        ("answer of the paper's tree", "intervals", "here", "paper"),
        (
            (row.limitation, f"{row.intervals:,}", as_share(row.share), _paper(row.paper))
            for row in study.causes
        ),
    )
    yield ""
    rows = ((check.what, check.here, check.paper) for check in study.checks)
    yield from table(("share of", "here", "paper"), rows)


def _paper(share: float | None) -> str:
    return "–" if share is None else as_share(share)


def _flows(contents: Contents) -> Iterator[str]:
    yield "\n## Connections\n"
    for flow in contents.flows:
        for side in flow.sides:
            half = side.half
            yield f"### `{half.pair}` (flow {half.flow_id})\n"
            yield escaped(f"{side.headline} {side.moved} {' '.join(side.limit)}")
            if side.remedy:
                yield f"\n- Change: {escaped(side.remedy)}"
            if side.gain:
                yield f"- Gain: {escaped(side.gain)}"
            yield ""


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Write a table; what would end a cell is escaped."""
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    for row in rows:
        yield f"| {' | '.join(map(escaped, row))} |"


def escaped(text: str) -> str:
    """Keep a text from being read as markup."""
    return re.sub(r"([\\|*_`<>\[\]])", r"\\\1", text).replace("\n", " ")
