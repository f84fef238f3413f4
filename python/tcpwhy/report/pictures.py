"""Time-sequence graphs beside the arguments: of a capture, or where a store kept segments."""

import base64
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tcpwhy._core import TcpwhyError
from tcpwhy.graph import draw
from tcpwhy.graph.drawing import specification
from tcpwhy.graph.summary import description
from tcpwhy.report.source import Source

SIZE = (860, 420)
"""Pixels of a picture, as wide as the text that it stands beside."""

NARROW = (380, 460)
"""The same on a telephone: a picture that is made smaller has letters that nobody can read."""

MOST_BYTES = 1_000_000
"""Of a picture; a graph that is larger is one to zoom in, by `tcpwhy graph`."""


class Picture(NamedTuple):
    """The graph of a flow."""

    svg: str
    told: str
    """The same in words."""
    narrow: str
    """The same graph, for a page less wide than `NARROW_BELOW`."""

    @property
    def address(self) -> str:
        """Give it as an address that holds the picture itself."""
        return _address(self.svg)

    @property
    def narrow_address(self) -> str:
        """Give the narrow one so."""
        return _address(self.narrow)


NARROW_BELOW = 700
"""Pixels of a page; the style sheets have the same."""


def _address(svg: str) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"


MOST_IN_ALL = 8_000_000
"""Bytes of all pictures of a page."""

FEWEST = 6
"""Flows that have a picture however large a capture is."""

READ_BYTES = 1_000_000_000
"""Of a capture that are read for pictures, in all; each reads it again."""


def affordable(source: Source) -> int:
    """Say for how many flows a capture may be read again."""
    if source.is_store or source.name == "-":
        return sys.maxsize
    return max(FEWEST, READ_BYTES // max(1, Path(source.name).stat().st_size))


def pictures(source: Source, flows: Iterable[int], most: int | None) -> dict[int, Picture]:
    """Draw the first of these flows that can be drawn; each reads a capture again."""
    found: dict[int, Picture] = {}
    if source.name == "-":
        return found
    most = affordable(source) if most is None else most
    for flow_id in flows:
        if (
            len(found) >= most
            or sum(len(done.svg + done.narrow) for done in found.values()) > MOST_IN_ALL
        ):
            break
        if source.is_store and not has_segments(source, flow_id):
            continue
        # What is damaged, or went from a store meanwhile, has an argument but no picture.
        with suppress(TcpwhyError):
            picture = drawn(source.name, flow_id)
            if len(picture.svg) <= MOST_BYTES:
                found[flow_id] = picture
    return found


def drawn(source: str, flow_id: int, theme: str = "auto") -> Picture:
    """Draw one flow; the theme is light, dark, or auto, which follows the reader's.

    Raises:
        TcpwhyError: when there is nothing to draw, or the extra `graph` is not installed.

    """
    graph = draw(source, flow=flow_id)
    shown, narrow = (
        graph.svg(width=width, height=height, theme=theme, titled=False)
        for width, height in (SIZE, NARROW)
    )
    return Picture(shown, description(specification(), graph.shown), narrow)


def has_segments(source: Source, flow_id: int) -> bool:
    """Say whether a store kept the segments of a flow."""
    query = f"SELECT count(*) FROM (FROM segments WHERE flow_id = {flow_id} LIMIT 1)"
    return bool(source.connection.execute(query).fetchall()[0][0])
