"""What a terminal shows: its width, whether it has colours, text in aligned columns."""

import re
import shutil
import textwrap
from collections.abc import Iterator, Sequence
from typing import TextIO

from tcpwhy.terminal import colours

WIDTH = 100
"""Columns of a sentence in a file or a pipe."""

MIN_WIDTH = 60

MAX_WIDTH = 120
"""Columns of a sentence: longer lines are hard to read, however wide the terminal is."""


def width(stream: TextIO | None) -> int:
    """Give the number of columns of a sentence on a stream; None stands for a file."""
    columns = room(stream)
    return WIDTH if columns is None else min(MAX_WIDTH, columns)


def room(stream: TextIO | None) -> int | None:
    """Give the number of columns of a table: those of a terminal, elsewhere as many as it needs."""
    if stream is None or not stream.isatty():
        return None
    return max(MIN_WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns)


UNLIMITED = 2**31
"""Columns of a table that nothing cuts."""

MIN_TEXT = 12
"""Columns to which a text is cut before other columns of a grid are left out."""


class Style:
    """Marks text for a terminal, or leaves it alone."""

    def __init__(
        self, *, colour: bool, depth: colours.Depth = "16", ground: colours.Ground = "dark"
    ) -> None:
        """Mark text with so many colours, on such a ground; with none of them without `colour`."""
        self._colour, self._depth, self._ground = colour, depth, ground

    @classmethod
    def of(cls, stream: TextIO) -> "Style":
        """Colours for a terminal, unless NO_COLOR (no-color.org) or TERM=dumb forbid them."""
        depth = colours.depth(stream)
        return cls(colour=depth != "none", depth=depth, ground=colours.ground())

    def bold(self, text: str) -> str:
        """Stress."""
        return self._marked("1", text)

    def dim(self, text: str) -> str:
        """Play down."""
        return self._marked("2", text)

    def warn(self, text: str) -> str:
        """Draw attention."""
        return self._marked("33", text)

    def limit(self, limitation: str | None, text: str) -> str:
        """Write in the colour of a limitation; as it is where there is none."""
        colour = colours.of(limitation, self._ground)
        return self._marked(colours.sgr(colour, self._depth), text) if colour else text

    def _marked(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._colour and text else text


def shorten(text: str, limit: int) -> str:
    """Cut at the end, with an ellipsis."""
    return text if len(text) <= limit else text[: max(0, limit - 1)] + "…"


def wrapped(text: str, limit: int) -> Iterator[str]:
    """Break a sentence into lines, but not between a number and its unit."""
    glued = re.sub(r"(?<=\d) (?=[^\W\d]|%)", "\N{NO-BREAK SPACE}", text)
    for line in textwrap.wrap(glued, limit):
        yield line.replace("\N{NO-BREAK SPACE}", " ")


def paragraph(head: str, text: str, limit: int) -> Iterator[str]:
    """Break a text into lines under its head, which stands beside the first; none if empty."""
    indent = head
    for line in wrapped(text, limit - len(head)):
        yield f"{indent}{line}"
        indent = " " * len(head)


def shown(value: object) -> str:
    """Show a cell: NULL is empty, a fraction has four significant digits or more."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.0f}" if 1000 <= abs(value) < 1e15 else f"{value:.4g}"
    return str(value).replace("\n", " ")


def fits(names: Sequence[str], rows: Sequence[Sequence[object]], limit: int | None) -> bool:
    """Whether a grid shows every column and every text whole."""
    if limit is None:
        return True
    columns = zip(names, *([shown(value) for value in row] for row in rows), strict=True)
    return sum(max(map(len, column)) + 2 for column in columns) - 2 <= limit


def records(names: Sequence[str], rows: Sequence[Sequence[object]], limit: int) -> Iterator[str]:
    """Write each row as a paragraph for each value that is not NULL."""
    widest = max(map(len, names), default=0)
    for number, row in enumerate(rows):
        if number:
            yield ""
        for name, value in zip(names, row, strict=True):
            if value is not None:
                yield from paragraph(f"{name.ljust(widest)}  ", shown(value), limit)


def grid(
    names: Sequence[str], rows: Sequence[Sequence[object]], limit: int | None
) -> Iterator[str]:
    """Align rows under their names: numbers to the right, text to the left and cut to fit.

    Columns that do not fit into `limit` are left out from the right; a last line names them. None
    cuts nothing.
    """
    limit = UNLIMITED if limit is None else limit
    cells = [[shown(value) for value in row] for row in rows]
    natural = [max(map(len, column)) for column in zip(names, *cells, strict=True)]
    is_text = [any(isinstance(row[column], str) for row in rows) for column in range(len(names))]
    widths = [
        min(size, max(len(name), MIN_TEXT)) if text else size
        for name, size, text in zip(names, natural, is_text, strict=True)
    ]
    fitting = len(names)
    while fitting > 1 and sum(widths[:fitting]) + 2 * (fitting - 1) > limit:
        fitting -= 1
    spare = limit - sum(widths[:fitting]) - 2 * (fitting - 1)
    # Those first that little makes whole.
    for column in sorted(range(fitting), key=lambda column: natural[column] - widths[column]):
        more = max(0, min(spare, natural[column] - widths[column]))
        widths[column] += more
        spare -= more
    for line in [names, *cells]:
        aligned = (
            shorten(cell, size).ljust(size) if text else cell.rjust(size)
            for cell, size, text in zip(line, widths[:fitting], is_text, strict=False)
        )
        yield "  ".join(aligned).rstrip()
    if fitting < len(names):
        yield shorten(f"(without {', '.join(names[fitting:])}: other formats have them)", limit)
