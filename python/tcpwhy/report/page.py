"""The report as one HTML page that loads nothing and sends nothing."""

import base64
import hashlib
import json
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from tcpwhy import _core
from tcpwhy.extras import require
from tcpwhy.report import charts, sections
from tcpwhy.report.contents import Contents, Figure
from tcpwhy.report.markup import Html, joined, tag
from tcpwhy.report.palette import NONE, limits, style

HERE = Path(__file__).parent


def page(contents: Contents) -> str:
    """Write the page."""
    parts = sections.all_of(contents, figure)
    links = (tag("a", title, href=f"#{name}") for name, title, _ in parts)
    body = joined(
        (
            tag(
                "main",
                sections.head(contents),
                tag("nav", *links, class_="contents", aria_label="Contents"),
                *(_section(*part) for part in parts),
                _foot(),
            ),
        )
    )
    has_charts = bool(contents.figures or contents.study_figures)
    return document(f"{contents.name} · tcpwhy", body, has_charts=has_charts)


def document(title: str, body: Html, *, has_charts: bool) -> str:
    """Put a body into a page whose policy allows its own scripts and style, and nothing else."""
    sheet = stylesheet()
    scripts = [_bundle(), (HERE / "page.js").read_text("utf-8")] if has_charts else []
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src {' '.join(map(_hash, scripts))}" if scripts else "script-src 'none'",
            f"style-src {_hash(sheet)}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    head = joined(
        (
            tag("meta", charset="utf-8"),
            tag("meta", http_equiv="Content-Security-Policy", content=policy),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            tag("meta", name="generator", content=f"tcpwhy {_core.__version__}"),
            tag("title", title),
            tag("style", Html(sheet)),
        )
    )
    colours = tag("script", Html(json.dumps(variables())), type="application/json", id="colours")
    code = joined((colours, *(tag("script", Html(script)) for script in scripts)))
    end = code if scripts else ""
    whole = f"<head>{head}</head>\n<body>{body}\n{end}</body>"
    return f'<!doctype html>\n<html lang="en">\n{whole}</html>\n'


def figure(drawn: Figure) -> Html:
    """Show a chart: at once as a picture, then with what one can point at."""
    still = charts.svg(drawn.chart)
    for colour, name in variables().items():
        still = still.replace(f'"{colour}"', f'"var({name})"')
    specification = drawn.chart.to_json(indent=None).replace("<", "\\u003c")
    picture = tag("div", Html(still), class_="still", role="img", aria_label=drawn.told)
    data = tag("script", Html(specification), type="application/json")
    caption = tag("figcaption", drawn.told, class_="soft")
    return tag("figure", picture, data, caption, class_="chart", data_live="")


def variables() -> dict[str, str]:
    """Name the variables of the style that take the place of a chart's colours."""
    colours = {charts.INK: "--ink", charts.SOFT: "--soft", charts.GRID: "--grid"}
    return colours | {one.light: f"--l-{one.word}" for one in (*limits(), NONE)}


def stylesheet() -> str:
    """Give the style of the page."""
    base = HERE.parent / "web" / "static" / "base.css"
    return base.read_text("utf-8") + style() + (HERE / "page.css").read_text("utf-8")


@cache
def _bundle() -> str:
    """Give Vega with Vega-Lite as vl-convert brings them."""
    return str(require("vl_convert", extra="plot").javascript_bundle())


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _section(name: str, title: str, content: Html) -> Html:
    return tag("section", tag("h2", title), content, class_="card", id=name)


def _foot() -> Html:
    now = datetime.now(UTC)
    return tag(
        "footer",
        tag(
            "p",
            f"Made by tcpwhy {_core.__version__} on {now:%Y-%m-%d} at {now:%H:%M} UTC. ",
            "The method is that of M. Siekkinen and others (Computer Networks 52(9), 2008), "
            "refined; the words and columns are explained in docs/concepts.md.",
        ),
    )
