"""The terminal view: what a person sees, at two sizes, and which keys do what."""

import re
import signal
import sys
from pathlib import Path

import packets
import pytest
from screen import Screen

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


@pytest.fixture
def run(tmp_path):
    """Show a paced capture; it goes on for as long as a test needs."""
    file = tmp_path / "transfer.pcap"
    file.write_bytes(packets.pcap(packets.transfer(20_000, rtt=SECOND // 20)))
    open_screens = []

    def start(size=(80, 24), *arguments, interval="200ms", **environment):
        command = [sys.executable, "-m", "tcpwhy", "analyze", str(file), "--pace", "1"]
        options = [*(("--interval", interval) if interval else ()), "--tui", *arguments]
        open_screens.append(Screen([*command, *options], size, **environment))
        return open_screens[-1]

    yield start
    for screen in open_screens:
        screen.close()


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_a_person_sees_flows_with_their_limits(run, size):
    screen = run(size)
    text = screen.wait("1 listed")
    lines = text.split("\n")
    assert lines[0].startswith("tcpwhy transfer.pcap · ")
    assert "packets/s" in lines[0]
    assert lines[1] == "nothing lost"
    flow = next(line for line in lines if "10.0.0.1:40000" in line)
    assert re.search(r"[kM]bit/s .*(receiver_window|sender_window|transport)", flow), text
    assert lines[-1].endswith("q quit")


def test_without_an_interval_it_is_the_default(run):
    screen = run(interval=None)
    screen.wait("1 listed")
    screen.press("\r")
    screen.wait("each 3.00 s")


def test_keys(run):
    screen = run()
    screen.wait("10.0.0.1:40000")
    screen.press("?")
    screen.wait("pause what is shown")
    screen.press("\x1b")
    screen.wait("1 listed")
    screen.press("s")
    screen.wait("by bytes")
    screen.press("S")
    screen.wait("by rate")
    screen.press("/")
    screen.wait("words that a line must have")
    screen.press("quite")
    screen.wait(lambda text: "no line has these words" in text and "with “quite”" in text)
    screen.press("\x1b")
    screen.wait("1 listed")
    screen.press("p")
    screen.wait("PAUSED")
    screen.press("p")
    screen.press("\r")
    text = screen.wait("timeline")
    assert "evidence" in text
    screen.resize(200, 50)
    screen.wait(lambda text: len(text.split("\n")) == 50 and "timeline" in text)
    screen.press("\x1b")
    screen.wait("1 listed")
    screen.press("c")
    screen.wait("packets_read")
    screen.press("q")
    assert screen.end() == 0
    assert "10.0.0.1:40000" in screen.text(), "the overview is what is left on the terminal"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_end_it_and_give_the_terminal_back(run, number, tmp_path):
    target = tmp_path / "store"
    screen = run((80, 24), "-o", str(target))
    screen.wait("10.0.0.1:40000")
    screen.process.send_signal(number)
    assert screen.end() == 130
    assert b"\x1b[?1049l" in screen.written, "the screen is the shell's again"
    assert list(target.glob("flows/date=2*/*.parquet"))


COLOUR = re.compile(rb"\x1b\[(?:\d+;)*(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])[;m]")
"""Sets a colour; 39 and 49 are the terminal's own."""


def test_no_color_is_honoured(run):
    for environment, wanted in (({"NO_COLOR": "1"}, False), ({}, True)):
        screen = run((80, 24), **environment)
        screen.wait(lambda text: re.search(r"(receiver_window|sender_window|transport) ", text))
        assert bool(COLOUR.search(screen.written)) is wanted


def test_without_a_terminal_it_says_so(tcpwhy, tmp_path):
    file = packets.write_transfer(tmp_path / "t.pcap", 10)
    done = tcpwhy("analyze", file, "--pace", "1", "--tui")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--tui needs a terminal" in done.stderr
    assert tcpwhy("analyze", file, "--tui").returncode == 2
