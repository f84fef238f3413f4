"""The colours of limitations: a terminal shows those of the pages, or the nearest that it has."""

import io
import re

import pytest

from tcpwhy import vocabulary
from tcpwhy.terminal import Style, colours


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, "true"),
        ({"TERM": "xterm", "COLORTERM": "24bit"}, "true"),
        ({"TERM": "xterm-direct"}, "true"),
        ({"TERM": "screen-256color"}, "256"),
        ({"TERM": "linux"}, "16"),
        ({}, "16"),
        ({"TERM": "dumb", "COLORTERM": "truecolor"}, "none"),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, "none"),
    ],
)
def test_a_terminal_says_what_it_shows(environment, expected):
    assert colours.depth(Terminal(), environment) == expected
    assert colours.depth(io.StringIO(), environment) == "none"


@pytest.mark.parametrize(
    ("value", "expected"),
    [("15;0", "dark"), ("0;15", "light"), ("0;default;7", "light"), ("12;8", "dark"), ("", "dark")],
)
def test_the_ground_is_what_the_terminal_says(value, expected):
    assert colours.ground({"COLORFGBG": value}) == expected
    assert colours.ground({}) == "dark"


@pytest.mark.parametrize("ground", ["light", "dark"])
def test_colours_are_those_of_the_pages(ground):
    """With all colours exactly, and with 256 so near that nobody takes one for another."""
    nearest = {}
    for one in vocabulary.limitations():
        colour = one.colour_light if ground == "light" else one.colour_dark
        red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
        written = Style(colour=True, depth="true", ground=ground).limit(one.word, "x")
        assert written == f"\x1b[38;2;{red};{green};{blue}mx\x1b[0m"
        found = re.fullmatch(
            r"\x1b\[38;5;(\d+)mx\x1b\[0m",
            Style(colour=True, depth="256", ground=ground).limit(one.word, "x"),
        )
        nearest[one.word] = int(found[1])
    assert len(set(nearest.values())) == len(nearest)


def test_the_nearest_of_few_colours_is_a_colour():
    assert colours.nearest("#ff1111", "16") == 9
    assert colours.nearest("#bbbbbb", "16") == 7
    greys = {0, 7, 8, 15}
    for one in vocabulary.limitations():
        for colour in (one.colour_light, one.colour_dark):
            assert (colours.nearest(colour, "16") in greys) == (one.word == "mixed")
    assert colours.sgr("#ff1111", "16") == "91"
    assert colours.sgr("#cc0505", "16") == "31"
    assert colours.sgr("#5f87ff", "256") == "38;5;69"


def test_nothing_is_marked_without_a_verdict_or_without_colours():
    for style in (Style(colour=False), Style(colour=False, depth="true")):
        assert style.limit("policer", "x") == "x"
    assert Style(colour=True).limit(None, "x") == "x"
    assert Style(colour=True).limit("no such word", "x") == "x"
    assert colours.sgr("#ff1111", "none") == ""


def test_the_screen_has_the_same(monkeypatch):
    drawing = pytest.importorskip("tcpwhy.tui.drawing", reason="the screen needs the extra tui")
    one = vocabulary.limitations()[0]
    for ground, colour in (("light", one.colour_light), ("dark", one.colour_dark)):
        true = drawing.Brush(colour=True, depth="true", ground=ground).of(one.word)
        assert true.color.triplet.hex == colour
        for depth in ("256", "16"):
            few = drawing.Brush(colour=True, depth=depth, ground=ground).of(one.word)
            assert few.color.number == colours.nearest(colour, depth)
    assert drawing.Brush(colour=True, depth="none").of(one.word).color is None
    assert drawing.Brush(colour=False, depth="true").of(one.word).color is None
