"""The terminal view as a program: what a person sees, and which keys do what."""

import re
import signal
import sys

import packets
import pytest
from screen import Screen

SECOND = 10**9
SIZES = [(80, 24), (200, 50)]


def on_the_list(text: str) -> bool:
    """Say whether no page is open.

    While a page is laid out, the list's foot shows through it. A key that follows Esc too
    soon would be Alt and that key.
    """
    return "1 listed" in text and "Esc back" not in text


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
    screen.wait(on_the_list)
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
    screen.wait(lambda text: text.split("\n")[49].startswith("Esc back"))
    screen.press("\x1b")
    screen.wait(on_the_list)
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
