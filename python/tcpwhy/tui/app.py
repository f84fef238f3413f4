"""The terminal view of a live run. Keys are in `KEYS`; drawing never waits for the capture."""

import sys
import time
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any, ClassVar, Protocol

from rich.text import Text
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.reactive import reactive
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Input, Static

from tcpwhy import vocabulary
from tcpwhy.terminal import colours, paragraph, wrapped
from tcpwhy.tui.board import Board, Row, Snapshot
from tcpwhy.tui.detail import lines as detail_lines
from tcpwhy.tui.drawing import Brush, Layout, chart, is_silent, legend, times_faster

KEYS = (
    ("↑ ↓ PgUp PgDn Home End", "choose a flow"),
    ("Enter", "open it: evidence, remedy, timeline of limits; Esc comes back"),
    ("s, S", "sort by the next, the previous order"),
    ("/", "show only lines with these words: address, port, limit; Esc shows all"),
    ("p, Space", "pause what is shown; the capture goes on"),
    ("c", "counters of the run, with what they count"),
    ("?", "this help"),
    ("q, Ctrl-C", "end the run"),
)

REFRESH_S = 0.5
"""Rows come every few seconds; rates and losses should not look frozen."""

ORDERS: dict[str, Callable[[Row], Any]] = {
    "rate": lambda row: row.last.throughput_bps or 0,
    "bytes": lambda row: row.unique_bytes,
    "gain": lambda row: times_faster(row.last) or 0,
    "RTT": lambda row: row.last.rtt_mean_ns or 0,
    "newest": lambda row: row.moments[0].start_ns,
    "limit": lambda row: row.last.limit,
}
"""What the list can be sorted by, largest first."""


class Vitals(Protocol):
    """How a run does: what stands in the head of the screen."""

    def line(self) -> str:
        """Say what comes and what it takes."""

    def troubles(self) -> list[str]:
        """Say what was lost and what fails."""

    def counters(self) -> list[tuple[str, int, str]]:
        """Name counters with values and meanings."""

    def is_over(self) -> bool:
        """Say whether the run has ended."""


class View(App[None]):
    """The whole screen."""

    CSS = """
    Screen { background: ansi_default; color: ansi_default; }
    #head, #chart, #legend, #foot { height: auto; background: ansi_default; }
    #list { height: 1fr; background: ansi_default; }
    #filter { border: none; height: 1; padding: 0; display: none; background: ansi_default; }
    #filter.open { display: block; }
    Page { align: center middle; background: ansi_default; }
    Page > #text { background: ansi_default; height: 1fr; overflow-y: auto; }
    """
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c,ctrl+q", "leave", show=False, priority=True),
        Binding("q", "leave", show=False),
        Binding("question_mark,h", "help", show=False),
        Binding("c", "counters", show=False),
        Binding("s", "sort(1)", show=False),
        Binding("S,shift+s", "sort(-1)", show=False),
        Binding("p,space", "pause", show=False),
        Binding("slash", "filter", show=False),
        Binding("escape", "all", show=False),
        Binding("enter", "open", show=False),
    ]

    def __init__(self, board: Board, vitals: Vitals, *, ended: Callable[[], bool]) -> None:
        """Show a board; the view closes by itself once `ended` says so."""
        super().__init__(ansi_color=True)
        self.theme = "ansi-dark"
        depth = colours.depth(sys.__stderr__ or sys.stderr)
        self.brush = Brush(colour=not self.no_color, depth=depth, ground=colours.ground())
        self.board, self.vitals, self._ended = board, vitals, ended
        self.shown: Snapshot = board.snapshot()
        self.order = next(iter(ORDERS))
        self.words = ""
        self.paused = False
        self.drawn_s = 0.0
        """Time that drawing took, to be seen in tests of its cost."""

    def compose(self) -> ComposeResult:
        """Lay the pieces out from the top down."""
        yield Static(id="head")
        yield Static(id="chart")
        yield Static(id="legend")
        yield Flows(id="list")
        yield Input(id="filter", placeholder="words that a line must have", compact=True)
        yield Static(id="foot")

    def on_mount(self) -> None:
        """Begin to draw."""
        self.query_one(Flows).focus()
        self.refresh_all()
        self.set_interval(REFRESH_S, self.refresh_all)

    def on_resize(self, event: events.Resize) -> None:
        """Draw for the new size."""
        self.call_after_refresh(self.refresh_all)

    def refresh_all(self) -> None:
        """Draw what there is now."""
        if self._ended():
            self.exit()
            return
        began = time.thread_time()
        if not self.paused:
            self.shown = self.board.snapshot()
        main = self.screen_stack[0]
        width, height = self.size
        main.query_one("#head", Static).update(self._head(width))
        lines = max(2, (height - 12) // 4)
        size, step = (width, lines), self.board.step_ns
        drawn = chart(self.shown.totals, size, step, self.brush)
        main.query_one("#chart", Static).update(Text("\n").join(drawn))
        main.query_one("#legend", Static).update(
            legend(self.shown.totals[-width:], width, step, self.brush)
        )
        main.query_one(Flows).rows = self.chosen_rows()
        main.query_one("#foot", Static).update(self._foot(width))
        if isinstance(self.screen, Page):
            self.screen.draw()
        self.drawn_s += time.thread_time() - began

    def chosen_rows(self) -> list[Row]:
        """Give the rows of the list, filtered and sorted."""
        words = self.words.lower().split()

        def has(row: Row) -> bool:
            last = row.whole or row.last
            text = f"{row.pair} {last.limitation} {last.cause} {last.confidence}".lower()
            return all(word in text for word in words)

        def sends(row: Row) -> bool:
            return not (row.ended or is_silent(row, self.board.step_ns, self.shown.now_ns))

        rows = [row for row in self.shown.rows if has(row)]
        rows.sort(key=lambda row: row.key)
        order = ORDERS[self.order]
        # What is over stands below what goes on, but for its bytes.
        rows.sort(key=lambda row: (self.order == "bytes" or sends(row), order(row)), reverse=True)
        return rows

    def _head(self, width: int) -> Text:
        text = Text(self.vitals.line()[:width], "bold")
        troubles = self.vitals.troubles()
        paused = "PAUSED, the capture goes on · " if self.paused else ""
        over = "the run is over, q leaves · " if self.vitals.is_over() else ""
        said = " · ".join(troubles) or "nothing lost"
        line = f"{paused}{over}{said}"
        style = self.brush.warn() if troubles or self.paused else "dim"
        text.append("\n")
        text.append(line[:width], style)
        return text

    def _foot(self, width: int) -> Text:
        few = f"{len(self.query_one(Flows).rows):,} listed, {self.shown.halves:,} sending"
        words = f" · with “{self.words}”" if self.words else ""
        state = f"{few} · by {self.order}{words}"
        room = width - len(state) - 2
        every = ("Enter open  s sort  / filter  p pause  ? help  q quit", "? help  q quit", "")
        keys = next(keys for keys in every if len(keys) <= max(room, 0))
        return Text(f"{state}  {keys.rjust(room)}"[:width], "dim")

    def action_leave(self) -> None:
        """End the run."""
        self.exit()

    def action_help(self) -> None:
        """Show the keys and the blocks."""
        self.push_screen(Page(lambda width: _help(width, self.brush)))

    def action_counters(self) -> None:
        """Show what was counted."""

        def drawn(width: int) -> Sequence[Text]:
            rows = [row for row in self.vitals.counters() if row[1]]
            size = max((len(name) for name, *_ in rows), default=0)
            lines = [f"{name.ljust(size)} {value:>15,}  {doc}" for name, value, doc in rows]
            return [Text("Counters", "bold"), Text(), *(Text(line) for line in lines)]

        self.push_screen(Page(drawn))

    def action_sort(self, by: int) -> None:
        """Sort by the next order."""
        names = list(ORDERS)
        self.order = names[(names.index(self.order) + by) % len(names)]
        self.refresh_all()

    def action_pause(self) -> None:
        """Freeze what is shown, or let it go on."""
        self.paused = not self.paused
        self.refresh_all()

    def action_filter(self) -> None:
        """Ask for words."""
        box = self.query_one("#filter", Input)
        box.add_class("open")
        box.focus()

    def action_all(self) -> None:
        """Show everything again."""
        self.query_one("#filter", Input).value = ""
        self._close_filter()

    def action_open(self) -> None:
        """Open the flow that the cursor is on."""
        chosen = self.query_one(Flows).chosen
        if chosen is None:
            return

        def drawn(width: int) -> Sequence[Text]:
            found = [row for row in self.shown.rows if row.key == chosen.key]
            row = found[0] if found else chosen
            return detail_lines(row, width, self.board.step_ns, self.brush)

        self.push_screen(Page(drawn))

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter while words are typed."""
        self.words = event.value
        self.refresh_all()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Go back to the list, filtered."""
        self._close_filter()

    def _close_filter(self) -> None:
        self.query_one("#filter", Input).remove_class("open")
        self.query_one(Flows).focus()
        self.refresh_all()


class Flows(Widget, can_focus=True):
    """The list: a head, and lines of which one is chosen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", show=False),
        Binding("down,j", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("home,g", "move(-1000000)", show=False),
        Binding("end,G", "move(1000000)", show=False),
    ]
    rows: reactive[list[Row]] = reactive(list, always_update=True)
    chosen: reactive[Row | None] = reactive(None)
    _top = 0
    _moved = False

    def render(self) -> Text:
        """Draw the lines that fit."""
        app = self.app
        assert isinstance(app, View)
        layout, lines = Layout(self.size.width), max(1, self.size.height - 1)
        drawn = [Text(layout.head(), "dim")]
        if not self.rows:
            words = "no line has these words" if app.words else "no TCP data yet"
            return Text("\n").join([*drawn, Text(words)])
        at = self._place()
        self._top = min(max(self._top, at - lines + 1), at, max(0, len(self.rows) - lines))
        for number, row in enumerate(self.rows[self._top : self._top + lines], self._top):
            line = layout.line(row, app.board.step_ns, app.shown.now_ns, app.brush)
            if number == at:
                line.stylize("reverse")
            drawn.append(line)
        return Text("\n").join(drawn)

    def on_click(self, event: events.Click) -> None:
        """Choose the line that is clicked on."""
        at = self._top + event.y - 1
        if event.y >= 1 and at < len(self.rows):
            self._moved = True
            self.chosen = self.rows[at]

    def watch_rows(self) -> None:
        """Keep the cursor on its flow, wherever that goes; until it is moved, on the first."""
        keys = {row.key: row for row in self.rows}
        if self.chosen is None or self.chosen.key not in keys or not self._moved:
            self.chosen = self.rows[0] if self.rows else None
        else:
            self.chosen = keys[self.chosen.key]

    def action_move(self, by: int) -> None:
        """Move the cursor."""
        if self.rows:
            self._moved = True
            self.chosen = self.rows[min(max(self._place() + by, 0), len(self.rows) - 1)]

    def action_page(self, by: int) -> None:
        """Move the cursor by a screen."""
        self.action_move(by * max(1, self.size.height - 2))

    def _place(self) -> int:
        keys = [row.key for row in self.rows]
        return keys.index(self.chosen.key) if self.chosen and self.chosen.key in keys else 0


class Page(ModalScreen[None]):
    """A page of text over the list; it is drawn anew while it is open."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter,backspace,left", "dismiss", show=False),
        Binding("q", "app.leave", show=False),
        Binding("up,k", "scroll(-1)", show=False),
        Binding("down,j", "scroll(1)", show=False),
        Binding("pageup", "scroll(-10)", show=False),
        Binding("pagedown", "scroll(10)", show=False),
    ]

    def __init__(self, lines: Callable[[int], Sequence[Text]]) -> None:
        """Show what `lines` gives for a width."""
        super().__init__()
        self._lines = lines

    def compose(self) -> ComposeResult:
        """Lay out text and a foot."""
        yield Static(id="text")
        yield Static(Text("Esc back  ↑ ↓ scroll  q quit", "dim"), id="foot")

    def on_mount(self) -> None:
        """Draw at once."""
        self.call_after_refresh(self.draw)

    def draw(self) -> None:
        """Draw for the present width."""
        text = self.query_one("#text", Static)
        text.update(Text("\n").join(self._lines(max(40, self.app.size.width - 1))))

    def action_scroll(self, by: int) -> None:
        """Scroll by lines."""
        self.query_one("#text", Static).scroll_relative(y=by, animate=False)


def _help(width: int, brush: Brush) -> list[Text]:
    size = max(len(key) for key, _ in KEYS) + 2
    lines = [Text("Keys", "bold")]
    for key, does in KEYS:
        lines += map(Text, paragraph(key.ljust(size), does, width))
    lines += [Text(), Text("Blocks: what limited a flow, or by bytes the whole", "bold")]
    cells = [
        brush.block(each.word, 3).append(f"  {each.plain}", "default")
        for each in vocabulary.limitations()
    ]
    cells.append(Text(f"{vocabulary.UNKNOWN_BLOCK * 3}  not known yet; blank: nothing sent"))
    for left, right in zip_longest(cells[::2], cells[1::2], fillvalue=Text()):
        left.pad_right(36 - left.cell_len)
        lines.append(left.append_text(right))
    rest = "sure: ●●● high, ●●○ medium, ●○○ low confidence. gain: how many times as fast it could"
    rest += " be without this limit. Dim: ended, or silent for two intervals."
    return [*lines, Text(), *map(Text, wrapped(rest, width))]
