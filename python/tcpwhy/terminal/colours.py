"""The colours of limitations in a terminal: those of pages and pictures, or the nearest it has.

`vocabulary` has them, for light and for dark ground. A terminal that says so shows them as they are
(`COLORTERM=truecolor`); others have a palette of 256 or of 16.
"""

import math
import os
from collections.abc import Mapping
from functools import cache
from typing import Literal, TextIO

from tcpwhy import vocabulary

Depth = Literal["none", "16", "256", "true"]
"""How many colours a terminal shows."""

Ground = Literal["light", "dark"]

LIGHT_GROUNDS = ("7", "15")
"""Grounds that `COLORFGBG` calls light, white and bright white; any other is dark."""

BASE = (
    *("#000000", "#cd0000", "#00cd00", "#cdcd00", "#0000ee", "#cd00cd", "#00cdcd", "#e5e5e5"),
    *("#7f7f7f", "#ff0000", "#00ff00", "#ffff00", "#5c5cff", "#ff00ff", "#00ffff", "#ffffff"),
)
"""The first 16, as xterm has them; a theme may have others."""

LEVELS = (0, 95, 135, 175, 215, 255)
"""Shares of red, green and blue of the next 216; 24 greys follow."""


def depth(stream: TextIO, environment: Mapping[str, str] = os.environ) -> Depth:
    """Say how many colours a stream shows: none in a file, with NO_COLOR or TERM=dumb."""
    kind = environment.get("TERM", "")
    # https://no-color.org
    if environment.get("NO_COLOR") or kind == "dumb" or not stream.isatty():
        return "none"
    if environment.get("COLORTERM", "").lower() in ("truecolor", "24bit") or "-direct" in kind:
        return "true"
    return "256" if "256color" in kind else "16"


def ground(environment: Mapping[str, str] = os.environ) -> Ground:
    """Say whether a terminal's ground is light: as `COLORFGBG` has it, and dark without it."""
    number = environment.get("COLORFGBG", "").rpartition(";")[2]
    return "light" if number in LIGHT_GROUNDS else "dark"


def of(limitation: str | None, ground: Ground) -> str | None:
    """Give the colour of a limitation as `#rrggbb`; `None` for an unknown word or none."""
    found = vocabulary.limitation(limitation)
    return found and (found.colour_light if ground == "light" else found.colour_dark)


def sgr(colour: str, depth: Depth) -> str:
    """Give the parameters of the escape sequence that writes in a colour (ECMA-48, SGR).

    Args:
        colour: as `#rrggbb`.
        depth: what the terminal shows; `none` gives an empty text.

    """
    if depth == "none":
        return ""
    if depth == "true":
        return "38;2;{};{};{}".format(*_parts(colour))
    number = nearest(colour, depth)
    if depth == "256":
        return f"38;5;{number}"
    return str(30 + number if number < 8 else 82 + number)


@cache
def nearest(colour: str, depth: Literal["16", "256"]) -> int:
    """Find the number of the nearest colour of a palette; no grey for what is not grey.

    Of 256, the first 16 are left out: themes change them.
    """
    known = enumerate(BASE) if depth == "16" else enumerate(_fixed(), len(BASE))
    wanted = _seen(colour)
    apart = {
        number: math.dist(wanted, found)
        for number, found in ((number, _seen(each)) for number, each in known)
        if _is_grey(found) == _is_grey(wanted)
    }
    return min(apart, key=lambda number: apart[number])


@cache
def _fixed() -> tuple[str, ...]:
    """Give the 216 colours of the cube and the 24 greys."""
    cube = [(r, g, b) for r in LEVELS for g in LEVELS for b in LEVELS]
    greys = [(8 + 10 * step,) * 3 for step in range(24)]
    return tuple("#{:02x}{:02x}{:02x}".format(*parts) for parts in [*cube, *greys])


def _parts(colour: str) -> tuple[int, int, int]:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return red, green, blue


def _seen(colour: str) -> tuple[float, float, float]:
    """Give lightness and two hues, CIE L*a*b* (white D65): distances there are those of the eye."""
    r, g, b = (_linear(part / 255) for part in _parts(colour))
    x, y, z = (
        _root(part)
        for part in (
            (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505,
            0.2126 * r + 0.7152 * g + 0.0722 * b,
            (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089,
        )
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def _is_grey(seen: tuple[float, float, float]) -> bool:
    return math.hypot(*seen[1:]) < GREY


GREY = 10
"""Distance from the axis of greys up to which nobody would call it a colour."""


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else float(((part + 0.055) / 1.055) ** 2.4)


def _root(part: float) -> float:
    return float(part ** (1 / 3)) if part > 216 / 24389 else (24389 / 27 * part + 16) / 116
