"""Paints a scene as SVG."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Any

from tcpwhy.graph.layout import Spec
from tcpwhy.graph.legend import Entry
from tcpwhy.graph.palette import THEMES, colours
from tcpwhy.graph.scene import Mark

FONT = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
HEAD = 46
"""Pixels for title and summary."""
LINE = 17
"""Pixels of a line of the legend."""
SAMPLE, GAP = 21, 14
"""Pixels before the words of an entry, and behind them."""
NARROW, BROAD = " ijlft.,:;'|!()[]", "mwMW%"


def paint(
    spec: Spec,
    marks: Iterable[Mark],
    width: float,
    height: float,
    *,
    theme: str,
    title: str,
    summary: str,
    legend: Sequence[Entry],
    description: str,
) -> str:
    """Give an SVG document; the theme `auto` follows what the reader's system prefers."""
    rows = _rows(legend, width)
    head = HEAD if title else 0
    total = height + head + len(rows) * LINE + (8 if rows else 0)
    body = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_n(width)} {_n(total)}"'
        f' width="{_n(width)}" height="{_n(total)}" role="img" aria-labelledby="t d">',
        f'<title id="t">{escape(title or summary)}</title>',
        f'<desc id="d">{escape(description)}</desc>',
        f"<style>{_style(spec, theme)}</style>",
        f'<rect class="f-paper" width="{_n(width)}" height="{_n(total)}"/>',
    ]
    if title:
        body.append(
            f'<text class="f-ink" x="10" y="20" font-size="15" font-weight="600">'
            f"{escape(title)}</text>"
        )
        body.append(f'<text class="f-quiet" x="10" y="38" font-size="12">{escape(summary)}</text>')
    body.append(f'<g transform="translate(0 {head})">')
    clips: dict[str, str] = {}
    for mark in marks:
        body.append(_mark(spec, mark, clips))
    body.append("</g>")
    body += _legend(spec, rows, head + height + 8)
    body.append("</svg>")
    return "\n".join(line for line in body if line) + "\n"


def _style(spec: Spec, theme: str) -> str:
    base = f"text{{font-family:{FONT};font-size:{spec['geometry']['font']}px}}"
    if theme != "auto":
        return base + _rules(spec, theme)
    light, dark = (_rules(spec, name) for name in THEMES)
    return f"{base}{light}@media (prefers-color-scheme:dark){{{dark}}}"


def _rules(spec: Spec, theme: str) -> str:
    return "".join(
        f".f-{_class(role)}{{fill:{colour}}}.s-{_class(role)}{{stroke:{colour};fill:none}}"
        for role, colour in colours(spec, theme).items()
    )


def _class(role: str) -> str:
    return re.sub(r"\W", "-", role)


def _mark(spec: Spec, mark: Mark, clips: dict[str, str]) -> str:
    clip = _clip(mark, clips)
    inside = f' clip-path="url(#{clip})"' if clip else ""
    define = clips.pop("new", "")
    painted = _PAINTERS[mark["op"]](spec, mark)
    name = f' data-series="{mark["what"]}"' if mark["op"] != "text" else ""
    return f"{define}<g{name}{inside}>{painted}</g>"


def _clip(mark: Mark, clips: dict[str, str]) -> str:
    """Name the clip of a panel; its ground comes first and defines it."""
    panel = mark["panel"]
    if mark["what"] == "ground":
        x, y, w, h = mark["data"]
        clips[panel] = f"clip-{panel}"
        clips["new"] = (
            f'<clipPath id="clip-{panel}"><rect x="{_n(x)}" y="{_n(y)}" width="{_n(w)}"'
            f' height="{_n(h)}"/></clipPath>'
        )
        return ""
    return "" if mark["op"] == "text" else clips.get(panel, "")


def _rects(spec: Spec, mark: Mark) -> str:
    faint = ' opacity="0.28"' if mark["op"] == "rects" else ""
    shapes = "".join(
        f'<rect x="{_n(x)}" y="{_n(y)}" width="{_n(w)}" height="{_n(h)}"/>'
        for x, y, w, h in _chunks(mark["data"], 4)
    )
    return f'<g class="f-{_class(mark["colour"])}"{faint}>{shapes}</g>'


def _bars(spec: Spec, mark: Mark) -> str:
    d = "".join(f"M{_n(x)} {_n(y0)}V{_n(y1)}" for x, y0, y1 in _chunks(mark["data"], 3))
    return _path(mark, d)


def _line(spec: Spec, mark: Mark) -> str:
    parts = []
    pen = "M"
    for x, y in _chunks(mark["data"], 2):
        if math.isnan(x):
            pen = "M"
            continue
        parts.append(f"{pen}{_n(x)} {_n(y)}")
        pen = "L"
    return _path(mark, "".join(parts))


def _path(mark: Mark, d: str) -> str:
    dash = f' stroke-dasharray="{" ".join(map(_n, mark["dash"]))}"' if mark.get("dash") else ""
    width = _n(mark.get("width", 1))
    colour = _class(mark["colour"])
    return f'<path class="s-{colour}" stroke-width="{width}"{dash} d="{d}"/>'


def _dots(spec: Spec, mark: Mark) -> str:
    r = mark["width"]
    d = "".join(
        f"M{_n(x - r)} {_n(y - r)}h{_n(2 * r)}v{_n(2 * r)}h{_n(-2 * r)}z"
        for x, y in _chunks(mark["data"], 2)
    )
    return f'<path class="f-{_class(mark["colour"])}" d="{d}"/>'


def _glyphs(spec: Spec, mark: Mark) -> str:
    shape = spec["glyphs"][mark["glyph"]]
    size = spec["geometry"]["glyph"]
    close = "z" if shape["fill"] or shape.get("close") else ""
    d = []
    for x, y in _chunks(mark["data"], 2):
        for line in shape["lines"]:
            points = [f"{_n(x + u * size)} {_n(y + v * size)}" for u, v in _chunks(line, 2)]
            d.append("M" + "L".join(points) + close)
    colour = _class(mark["colour"])
    if shape["fill"]:
        return f'<path class="f-{colour}" d="{"".join(d)}"/>'
    return f'<path class="s-{colour}" stroke-width="1.5" d="{"".join(d)}"/>'


def _text(spec: Spec, mark: Mark) -> str:
    x, y = mark["data"]
    return (
        f'<text class="f-{_class(mark["colour"])}" x="{_n(x)}" y="{_n(y)}"'
        f' text-anchor="{mark["anchor"]}">{escape(mark["text"])}</text>'
    )


_PAINTERS = {
    "rect": _rects,
    "rects": _rects,
    "bars": _bars,
    "path": _line,
    "dots": _dots,
    "glyphs": _glyphs,
    "text": _text,
}


def _rows(legend: Sequence[Entry], width: float) -> list[list[tuple[float, Entry]]]:
    """Break the legend into lines."""
    rows: list[list[tuple[float, Entry]]] = []
    x = width
    for entry in legend:
        needed = SAMPLE + _wide(entry.label) + GAP
        if x + needed > width - 10:
            rows.append([])
            x = 10.0
        rows[-1].append((x, entry))
        x += needed
    return rows


def _wide(text: str) -> float:
    """Give the pixels that a text takes at most: in DejaVu Sans, the widest of the usual fonts."""
    return sum(4.2 if letter in NARROW else 10.7 if letter in BROAD else 7.0 for letter in text)


def _legend(spec: Spec, rows: Sequence[Sequence[tuple[float, Entry]]], top: float) -> Iterator[str]:
    for number, row in enumerate(rows):
        y = top + number * LINE + 6
        for x, entry in row:
            sample: Mark = {"what": "legend", "panel": "legend", "colour": entry.colour}
            if entry.sample == "rect":
                sample |= {"op": "rect", "data": [x, y - 5, 16, 9]}
            elif entry.sample == "line":
                line = [x, y, x + 16, y]
                sample |= {"op": "path", "data": line, "width": 2, "dash": entry.dash}
            else:
                sample |= {"op": "glyphs", "glyph": entry.sample, "data": [x + 8, y]}
            yield f"<g>{_PAINTERS[sample['op']](spec, sample)}</g>"
            place = f'x="{_n(x + SAMPLE)}" y="{_n(y + 4)}"'
            yield f'<text class="f-quiet" {place}>{escape(entry.label)}</text>'


def _chunks(data: Sequence[float], size: int) -> Iterator[Any]:
    return zip(*(iter(data),) * size, strict=True)


def _n(value: float) -> str:
    """Write a coordinate, to a tenth of a pixel."""
    text = f"{value:.1f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
