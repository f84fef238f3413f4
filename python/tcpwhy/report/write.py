"""Writes a report where it should go: one page, a text, or a folder with charts beside it."""

from pathlib import Path

from tcpwhy._core import UsageError
from tcpwhy.report import charts
from tcpwhy.report.contents import Contents
from tcpwhy.report.markdown import text
from tcpwhy.report.page import page
from tcpwhy.sinks import output

PAGES = (".html", ".htm")
TEXTS = (".md", ".markdown")

CHART_FILES = (".svg", ".png", ".pdf", ".json")
"""What a folder has of each chart; the last is its Vega-Lite specification."""


def check(target: str) -> None:
    """Refuse a target before anything is read."""
    path = Path(target)
    if target == "-" or path.suffix in (*PAGES, *TEXTS):
        return
    if path.suffix and not path.is_dir():
        known = ", ".join((*PAGES, *TEXTS))
        raise UsageError(f"no report for the file suffix {path.suffix!r}: known are {known}")
    if path.is_file():
        raise UsageError(f"{target} is a file: a folder for the report needs another name")
    if (path / "tcpwhy.json").exists():
        raise UsageError(f"{target} is a store: choose another folder for the report")


def write(contents: Contents, target: str) -> None:
    """Write the report."""
    path = Path(target)
    if target == "-" or path.suffix in TEXTS:
        _text(target, text(contents))
    elif path.suffix in PAGES:
        _text(target, page(contents))
    else:
        path.mkdir(parents=True, exist_ok=True)
        (path / "charts").mkdir(exist_ok=True)
        _text(str(path / "index.html"), page(contents))
        _text(str(path / "report.md"), text(contents))
        for figure in (*contents.figures, *contents.study_figures):
            for suffix in CHART_FILES:
                charts.save(figure.chart, path / "charts" / f"{figure.name}{suffix}")


def _text(target: str, content: str) -> None:
    with output(target) as out:
        out.write(content.encode())
