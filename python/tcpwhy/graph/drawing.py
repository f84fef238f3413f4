"""The graph of one direction of a flow, or of two that are compared."""

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from tcpwhy._core import UsageError
from tcpwhy.explain.choice import Watch
from tcpwhy.extras import require
from tcpwhy.graph import svg
from tcpwhy.graph.layout import Spec, View
from tcpwhy.graph.legend import legend
from tcpwhy.graph.reading import Source, read
from tcpwhy.graph.scene import Mark, scene
from tcpwhy.graph.summary import description, heading, summary
from tcpwhy.graph.trace import Trace

WIDTH, HEIGHT = 1000, 620
"""Pixels of a picture, without title and legend."""

SMALL = (640, 300)
"""The same of one that stands beside a text."""


@cache
def specification() -> Spec:
    """Give what both renderers read: panels, series, marks, colours, geometry."""
    text = (files("tcpwhy.graph") / "static" / "spec.json").read_text("utf-8")
    spec: Spec = json.loads(text)
    return spec


class Graph:
    """What can be drawn of the directions of one or several flows.

    A notebook shows it as a picture.
    """

    def __init__(self, traces: Sequence[Trace], *, compare: int | None = None) -> None:
        """Take the directions; the first is looked at, `compare` numbers one drawn beside it."""
        if not traces:
            raise UsageError("there is nothing to draw")
        self.traces = list(traces)
        self.compare = compare

    @property
    def shown(self) -> list[Trace]:
        """The directions that a picture shows."""
        return [self.traces[0], *([self.traces[self.compare]] if self.compare else [])]

    def view(self, start_s: float | None = None, end_s: float | None = None) -> View:
        """Give a span of time in seconds since the start of the flow, or all of it."""
        whole = max(trace.span_ns for trace in self.shown)
        margin = specification()["geometry"]["margin"] * whole
        t0 = -margin if start_s is None else start_s * 1e9
        t1 = whole + margin if end_s is None else end_s * 1e9
        if not t0 < t1:
            raise UsageError(f"a graph ends after it starts, not from {t0 / 1e9} s to {t1 / 1e9} s")
        return View(t0, t1)

    def scene(
        self, view: View | None = None, width: float = WIDTH, height: float = HEIGHT
    ) -> list[Mark]:
        """Give the marks of a picture."""
        return scene(specification(), self.shown, view or self.view(), width, height)

    def svg(
        self,
        *,
        view: View | None = None,
        width: float = WIDTH,
        height: float = HEIGHT,
        theme: str = "light",
        titled: bool = True,
    ) -> str:
        """Give an SVG document; the theme is light, dark, or auto, which follows the reader's."""
        spec = specification()
        return svg.paint(
            spec,
            self.scene(view, width, height),
            width,
            height,
            theme=theme,
            title=heading(self.shown) if titled else "",
            summary=summary(self.shown[0]),
            legend=legend(spec, self.shown),
            description=description(spec, self.shown),
        )

    def small(self, theme: str = "auto") -> str:
        """Give a small SVG document without a title, to stand beside a text."""
        return self.svg(width=SMALL[0], height=SMALL[1], theme=theme, titled=False)

    def png(self, *, scale: float = 2, **options: Any) -> bytes:
        """Give the same picture as PNG, `scale` pixels for one of the SVG."""
        convert = require("vl_convert", extra="graph")
        image: bytes = convert.svg_to_png(self.svg(**options), scale=scale)
        return image

    def pdf(self, **options: Any) -> bytes:
        """Give the same picture as PDF."""
        document: bytes = require("vl_convert", extra="graph").svg_to_pdf(self.svg(**options))
        return document

    def html(self) -> str:
        """Give one page to zoom in, which needs nothing else."""
        from tcpwhy.graph.page import page

        return page(specification(), self.traces, self.compare)

    def xpl(self) -> str:
        """Give the time-sequence graph for xplot."""
        from tcpwhy.graph.xplot import xpl

        return xpl(self.traces[0])

    def write(self, path: str | Path, **options: Any) -> None:
        """Write a file in the format that its suffix names."""
        target = Path(path)
        suffix = target.suffix.lower()
        if suffix not in SUFFIXES:
            known = ", ".join(SUFFIXES)
            raise UsageError(f"{target}: a graph is written as {known}")
        if options and suffix in (".html", ".xpl"):
            raise UsageError(f"{target}: only a picture has {', '.join(options)}")
        made = getattr(self, suffix[1:])(**options)
        target.write_bytes(made if isinstance(made, bytes) else made.encode())

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"image/svg+xml": self.svg(theme="light"), "text/plain": heading(self.shown)}


SUFFIXES = (".html", ".svg", ".png", ".pdf", ".xpl")


def draw(
    source: Source,
    *,
    flow: int | str | Sequence[int | str] | None = None,
    direction: str | None = None,
    cwnd: str | Path | None = None,
    tap: str | None = None,
    watch: Watch | None = None,
) -> Graph:
    """Draw a flow of a capture, a store or a scenario, or two flows to compare.

    Args:
        source: a capture, a store, a scenario of the simulator, or samples of `measure`.
        flow: which flow, or two of them; the one that moved most bytes unless given.
        direction: the sender to look at, orig or resp; the one that sent more unless given.
        cwnd: the sender's own cwnd, to draw beside the estimate: the truth of a simulation or
            samples of the kernel's, as Parquet, CSV or JSON lines.
        tap: of a scenario, the tap whose packets are drawn; the one at the sender unless given.
        watch: what is around a run while it reads, such as a progress bar.

    Raises:
        UsageError: when there is no such flow, or an option makes no sense.
        InputError: for a source that cannot be read.

    """
    if direction not in (None, "orig", "resp"):
        raise UsageError(f"no direction {direction!r}: there are orig and resp")
    flows: list[int | str | None] = (
        [flow] if flow is None or isinstance(flow, int | str) else [*flow]
    )
    if len(flows) > 2:
        raise UsageError("a graph compares two flows at most")
    found = [read(source, one, cwnd=cwnd, tap=tap, watch=watch) for one in flows or [None]]
    first = _ordered(found[0], direction)
    others = _ordered(found[1], direction) if len(found) > 1 else []
    return Graph([*first, *others], compare=len(first) if others else None)


def _ordered(traces: list[Trace], direction: str | None) -> list[Trace]:
    """Put the direction that is wanted first."""
    return (
        sorted(traces, key=lambda trace: trace.half.direction != direction) if direction else traces
    )
