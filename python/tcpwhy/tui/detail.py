"""One half in full: what limited it and when, the numbers, what to change."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.text import Text

from tcpwhy import vocabulary
from tcpwhy.explain.words import SHARES
from tcpwhy.terminal import paragraph
from tcpwhy.tui.board import Moment, Row
from tcpwhy.tui.drawing import Brush, gain, strip
from tcpwhy.units import as_bytes, as_duration, as_rate, as_share

HEAD = 11
"""Columns of the words before each paragraph."""

MOST_RUNS = 100


def lines(row: Row, width: int, step_ns: int, brush: Brush) -> list[Text]:
    """Give the lines of the page."""
    found = [Text(row.pair, "bold"), Text()]
    now = row.whole or row.last
    when = "all of it" if row.ended else f"last {as_duration(now.end_ns - now.start_ns)}"
    limit = Text(f"{'limited by'.ljust(HEAD)}")
    limit.append_text(brush.block(now.limitation, 2)).append(f" {now.limit}", "bold")
    sure = vocabulary.confidence(now.confidence)
    limit.append(f", {sure.word} confidence: {sure.meaning}" if sure else "").append(f" ({when})")
    found.append(limit)
    found += _paragraphs(row, now, width)
    found.append(Text())
    cells = max(10, min(width - HEAD - 12, len(row.moments) + 8))
    head = Text("timeline".ljust(HEAD))
    head.append_text(strip(row.moments, cells, step_ns, row.last.end_ns, brush))
    head.append(f" each {as_duration(step_ns)}", "dim")
    found += [head, *_runs(row.moments, brush)]
    return found


def _paragraphs(row: Row, now: Moment, width: int) -> Iterator[Text]:
    moved = f"{as_bytes(row.unique_bytes)} so far"
    if row.ended:
        moved = f"{as_bytes(row.unique_bytes)} in all, ended ({row.ended})"
    numbers = [
        f"throughput {as_rate(now.throughput_bps)}",
        f"RTT {as_duration(now.rtt_mean_ns)}",
        f"{as_bytes(now.retransmitted_bytes)} sent again",
        moved,
    ]
    known = [(name, getattr(now, f"share_{name}")) for name in SHARES]
    shares = [f"{SHARES[name]} {as_share(share)}" for name, share in known if share]
    potential = None
    if gain(now):
        potential = f"up to {as_rate(now.headroom_bps)} ({gain(now)})"
        potential += f", until {now.next_limitation} limits it" if now.next_limitation else ""
    texts = {
        "numbers": " · ".join(numbers),
        "evidence": now.evidence or now.null_reason,
        "remedy": now.remedy,
        "gain": potential,
        "time": " · ".join(shares),
        "flow": f"{row.key[0]} ({row.key[1]}): tcpwhy explain STORE --flow {row.key[0]}",
    }
    for name, text in texts.items():
        if text:
            yield from map(Text, paragraph(name.ljust(HEAD), text, width))


def _runs(moments: Sequence[Moment], brush: Brush) -> Iterator[Text]:
    """Join neighbours with the same limit, newest first."""
    if not moments:
        return
    begin = moments[0].start_ns
    groups = [list(same) for _, same in groupby(moments, key=lambda moment: moment.limit)]
    for same in reversed(groups[-MOST_RUNS:]):
        first, last = same[0], same[-1]
        spent = sum(moment.end_ns - moment.start_ns for moment in same)
        rate = sum(moment.unique_bytes for moment in same) * 8e9 / spent if spent else None
        times = (f"{(at - begin) / 1e9:8.1f}" for at in (first.start_ns, last.end_ns))
        line = Text(f"{' – '.join(times)} s  ")
        line.append_text(brush.block(last.limitation)).append(f" {last.limit.ljust(31)}")
        line.append(f" {as_rate(rate).rjust(11)} {last.confidence or ''}")
        yield line
