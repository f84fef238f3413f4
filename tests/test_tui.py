"""The terminal view: what a person sees, at two sizes, and which keys do what."""

from pathlib import Path

import pytest

from tcpwhy.tui.board import HALVES, Board
from tcpwhy.tui.drawing import Brush, Layout, chart, legend, pair, strip

SECOND = 10**9
DATA = Path(__file__).parent / "data"
SIZES = [(80, 24), (200, 50)]
PLAIN = Brush(colour=False)


def half(flow, start_s, limitation="application", **more):
    """Make a row of intervals, one second long."""
    ends = {"src": "10.0.0.1", "src_port": 40_000 + flow, "dst": "10.0.0.2", "dst_port": 443}
    times = {"start_ns": start_s * SECOND, "end_ns": (start_s + 1) * SECOND}
    said = {"limitation": limitation, "cause": f"{limitation}/x", "confidence": "high"}
    sizes = {"unique_bytes": 125_000, "throughput_bps": 1e6}
    return {"flow_id": flow, "direction": "orig", **ends, **times, **said, **sizes, **more}


@pytest.fixture
def board(batch_of):
    """Make a board of two flows in three seconds; the second one ends."""
    made = Board(SECOND)
    for at, limitation in enumerate(("transport", "receiver_window", "receiver_window")):
        made.write("intervals", batch_of("intervals", half(1, at, limitation)))
    made.write("intervals", batch_of("intervals", half(2, 0, None, unique_bytes=250_000)))
    ended = half(2, 0, "policer", unique_bytes=250_000) | {"conn_state": "SF"}
    made.write("flows", batch_of("flows", ended))
    return made


def test_what_was_said_of_a_flow_is_kept(board):
    first, second = sorted(board.snapshot().rows, key=lambda row: row.key)
    limits = [moment.limitation for moment in first.moments]
    assert limits == ["transport", "receiver_window", "receiver_window"]
    assert (first.unique_bytes, first.ended) == (375_000, None)
    assert (second.ended, second.whole.limitation) == ("SF", "policer")


def test_the_whole_is_drawn_to_scale(board):
    shown = board.snapshot()
    lines = [text.plain for text in chart(shown.totals, (5, 3), SECOND, PLAIN)]
    # The first second had three times the bytes: two thirds of them of an unknown limit.
    assert lines == ["  ·  ", "  ·  ", "  ▄▒▒"]
    said = legend(shown.totals, 200, SECOND, PLAIN).plain
    assert said.startswith("most 3.00 Mbit/s   ")
    assert "▒ the receiver's window 40 %" in said
    assert "· not known yet 40 %" in said


def test_a_strip_shows_time_without_data_as_blank(board, batch_of):
    board.write("intervals", batch_of("intervals", half(1, 5, "random_loss")))
    shown = board.snapshot()
    row = next(row for row in shown.rows if row.key[0] == 1)
    drawn = strip(row.moments, 8, SECOND, shown.now_ns, PLAIN)
    assert drawn.plain == "  ▄▒▒  ▞"


def test_only_the_heaviest_of_many_are_kept(batch_of):
    board = Board(SECOND)
    for second in range(3):
        rows = (half(flow, second, unique_bytes=flow + 1) for flow in range(2000))
        board.write("intervals", batch_of("intervals", *rows))
    shown = board.snapshot()
    assert len(shown.rows) <= HALVES
    assert shown.halves == 2000
    assert sum(shown.totals[0][1].values()) == sum(range(1, 2001)), "the whole counts all"
    heaviest = max(shown.rows, key=lambda row: row.unique_bytes)
    assert heaviest.key[0] == 1999
    assert len(heaviest.moments) == 3, "a flow that is followed stays"


@pytest.mark.parametrize("width", [60, 80, 92, 119, 130, 200, 300])
def test_lines_are_as_wide_as_the_screen(board, width):
    shown = board.snapshot()
    layout = Layout(width)
    assert len(layout.head()) == width
    for row in shown.rows:
        assert layout.line(row, SECOND, shown.now_ns, PLAIN).cell_len == width


def test_long_addresses_are_cut_where_they_differ_least(board):
    row = board.snapshot().rows[0]
    row.src, row.dst = "[2001:db8:1:2:3:4:5:6]:40000", "[2001:db8::1]:443"
    assert pair(row, 60) == row.pair
    assert pair(row, 34) == "…3:4:5:6]:40000 → …001:db8::1]:443"
