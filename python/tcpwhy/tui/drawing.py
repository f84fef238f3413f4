"""Pieces of the screen as text: strips of limits over time, shares, rows of the list."""

from collections.abc import Mapping, Sequence
from typing import Literal

from rich.color import Color
from rich.style import Style
from rich.text import Text

from tcpwhy import vocabulary
from tcpwhy.terminal import colours
from tcpwhy.terminal.overview import LEAST_GAIN
from tcpwhy.tui.board import Moment, Row
from tcpwhy.units import as_bytes, as_duration, as_rate

SURE = {"high": "●●●", "medium": "●●○", "low": "●○○"}
"""Confidence, as it looks in a narrow column."""


class Brush:
    """Colours, or none of them: blocks differ in shape too."""

    def __init__(
        self, *, colour: bool, depth: colours.Depth = "16", ground: colours.Ground = "dark"
    ) -> None:
        """Draw with so many colours, on such a ground; with none of them without `colour`."""
        self.colour, self.depth, self.ground = colour and depth != "none", depth, ground

    def of(self, limitation: str | None) -> Style:
        """Give the colour of a limitation."""
        colour = colours.of(limitation, self.ground)
        if not (self.colour and colour):
            return Style()
        if self.depth == "true":
            return Style(color=Color.parse(colour))
        depth: Literal["16", "256"] = "16" if self.depth == "16" else "256"
        return Style(color=Color.from_ansi(colours.nearest(colour, depth)))

    def warn(self) -> Style:
        """Draw attention."""
        return Style(color="red", bold=True) if self.colour else Style(bold=True)

    def block(self, limitation: str | None, cells: int = 1) -> Text:
        """Draw a limitation."""
        return Text(vocabulary.block(limitation) * cells, self.of(limitation))


def strip(moments: Sequence[Moment], cells: int, step_ns: int, now_ns: int, brush: Brush) -> Text:
    """Draw what limited a half over the last `cells` steps, the newest to the right.

    A step without a row, in which nothing was sent, stays blank.
    """
    steps: dict[int, str | None] = {}
    for moment in moments:
        steps[(now_ns - moment.end_ns) // step_ns] = moment.limitation
    drawn = Text()
    for age in range(cells - 1, -1, -1):
        drawn.append_text(brush.block(steps[age]) if age in steps else Text(" "))
    return drawn


def chart(
    totals: Sequence[tuple[int, Mapping[str, int]]],
    size: tuple[int, int],
    step_ns: int,
    brush: Brush,
) -> list[Text]:
    """Draw the whole as stacked columns, one a step, scaled to the largest; the newest right.

    Args:
        totals: begin of each step, with its bytes by limitation.
        size: columns and lines to fill.
        step_ns: length of a step.
        brush: how blocks look.

    """
    columns, lines = size
    cells: list[list[str | None]] = []
    if totals:
        latest = totals[-1][0]
        by_age = {(latest - at) // step_ns: shares for at, shares in totals}
        largest = max((sum(by_age.get(age, {}).values()) for age in range(columns)), default=0)
        for age in range(columns - 1, -1, -1):
            cells.append(_stack(by_age.get(age, {}), lines, largest))
    drawn = []
    for line in range(lines - 1, -1, -1):
        text = Text()
        for column in cells:
            text.append_text(brush.block(column[line]) if line < len(column) else Text(" "))
        drawn.append(text)
    return drawn


def _stack(shares: Mapping[str, int], lines: int, largest: int) -> list[str | None]:
    """Divide a column among limitations by largest remainder, from the bottom in their order."""
    total = sum(shares.values())
    if not total:
        return []
    height = max(1, round(lines * total / largest))
    known = [
        name for name in (*(each.word for each in vocabulary.limitations()), "") if shares.get(name)
    ]
    exact = {name: height * shares[name] / total for name in known}
    whole = {name: int(part) for name, part in exact.items()}
    by_remainder = sorted(known, key=lambda name: exact[name] - whole[name], reverse=True)
    for name in by_remainder[: height - sum(whole.values())]:
        whole[name] += 1
    return [name or None for name in known for _ in range(whole[name])]


def legend(
    totals: Sequence[tuple[int, Mapping[str, int]]], width: int, step_ns: int, brush: Brush
) -> Text:
    """Name the limitations that are seen, each with its block and its share of bytes."""
    sums: dict[str, int] = {}
    for _, shares in totals:
        for name, size in shares.items():
            sums[name] = sums.get(name, 0) + size
    total = sum(sums.values())
    most = max((sum(shares.values()) for _, shares in totals), default=0)
    lines = [Text(f"most {as_rate(most * 8e9 / step_ns)}" if most else "", "dim")]
    for name, size in sorted(sums.items(), key=lambda item: -item[1]):
        share = f"{100 * size / total:.0f} %" if total else ""
        part = brush.block(name or None)
        part.append(f" {vocabulary.plain(name) if name else 'not known yet'} {share}", "default")
        if lines[-1].cell_len + part.cell_len + 3 > width:
            lines.append(part)
        else:
            lines[-1].append("   ").append_text(part)
    return Text("\n").join(lines[:LEGEND_LINES])


LEGEND_LINES = 2
"""Lines of the legend at most."""


class Layout:
    """Columns of the list, as many as fit."""

    def __init__(self, width: int) -> None:
        fitting = [(at, size) for at, size in _NUMBERS.items() if width >= _FROM[at]]
        self.numbers = dict(fitting)
        self.limit = 33 if width >= _WIDE else 19
        rest = width - sum(self.numbers.values()) - self.limit - _SURE
        self.pair = min(64, max(16, rest * 11 // 20 if width >= _WIDE else rest - 8))
        self.strip = max(6, rest - self.pair)

    def head(self) -> str:
        """Give the titles."""
        numbers = "".join(title.rjust(size) for title, size in self.numbers.items())
        verdict = "limited by".ljust(self.limit)
        over_time = ("over time" if self.strip > 9 else "time").rjust(self.strip)
        return f"{'src → dst'.ljust(self.pair)}{numbers} {verdict} sure{over_time}"

    def line(self, row: Row, step_ns: int, now_ns: int, brush: Brush) -> Text:
        """Draw a row."""
        last = row.whole or row.last
        silent = is_silent(row, step_ns, now_ns)
        values = {
            "rate": "silent" if silent else as_rate(last.throughput_bps),
            "RTT": as_duration(last.rtt_mean_ns) if last.rtt_mean_ns is not None else "–",
            "gain": gain(last),
            "bytes": as_bytes(row.unique_bytes),
        }
        dim = "dim" if row.ended or silent else ""
        text = Text(pair(row, self.pair).ljust(self.pair), dim)
        text.append("".join(values[name].rjust(size) for name, size in self.numbers.items()))
        limit = last.limit if len(last.limit) <= self.limit else last.limitation or ""
        text.append(f" {limit.ljust(self.limit)}", brush.of(last.limitation))
        text.append(f" {SURE.get(last.confidence or '', '   ')} ")
        text.append_text(strip(row.moments, self.strip, step_ns, now_ns, brush))
        return text


_NUMBERS = {"rate": 12, "RTT": 9, "gain": 8, "bytes": 9}
_WIDE = 130
_FROM = {"rate": 0, "RTT": 92, "gain": _WIDE, "bytes": _WIDE}
"""Columns of the screen from which a number is shown."""
_SURE = 6
"""Columns of the confidence, with the spaces beside it and before the limit."""


def is_silent(row: Row, step_ns: int, now_ns: int) -> bool:
    """Say whether a half has sent nothing for two steps; one that has ended is not silent."""
    return row.ended is None and now_ns - row.last.end_ns > 2 * step_ns


def times_faster(moment: Moment) -> float | None:
    """Give how many times as fast it could be; nothing where the application decides."""
    if not (moment.headroom_bps and moment.throughput_bps) or moment.limitation == "application":
        return None
    times = moment.headroom_bps / moment.throughput_bps
    return times if times > LEAST_GAIN else None


def gain(moment: Moment) -> str:
    """Show it."""
    times = times_faster(moment)
    return f"× {times:.3g}" if times else ""


def pair(row: Row, limit: int) -> str:
    """Write who sends to whom; what does not fit goes from the left of the longer addresses."""
    if len(row.pair) <= limit:
        return row.pair
    room = limit - len(" → ")
    left = max(room // 2, room - len(row.dst))
    return f"{_tail(row.src, left)} → {_tail(row.dst, room - min(left, len(row.src)))}"


def _tail(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"…{text[len(text) - limit + 1 :]}"
