"""One page that needs nothing else: data, style and script in it, and no request to anywhere."""

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib.resources import files

from tcpwhy.graph.layout import Spec
from tcpwhy.graph.pack import packed
from tcpwhy.graph.palette import THEMES, colours
from tcpwhy.graph.summary import description, heading, summary
from tcpwhy.graph.trace import Trace

ENTRY = "app.js"
"""The module that starts the page."""


def page(spec: Spec, traces: Sequence[Trace], compare: int | None = None) -> str:
    """Give the page of some directions; the first is looked at, beside it `compare`."""
    shown = [traces[0], *([traces[compare]] if compare else [])]
    data = {
        "spec": spec,
        "palette": {theme: colours(spec, theme) for theme in THEMES},
        "traces": [packed(spec, trace) for trace in traces],
        "compare": compare,
    }
    style, script = _static("page.css"), bundle(ENTRY) + "\nglobalThis.tcpwhy = start();\n"
    policy = [
        "default-src 'none'",
        f"script-src '{_hash(script)}'",
        f"style-src '{_hash(style)}'",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    parts = {
        "csp": "; ".join(policy),
        "title": escape(heading(shown)),
        "summary": escape(summary(traces[0])),
        "description": escape(description(spec, shown)),
        "style": style,
        # A script of data ends at the first "</": JSON may write the slash with a backslash.
        "data": json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/"),
        "script": script,
    }
    return re.sub(r"\{(\w+)\}", lambda found: parts[found[1]], _static("page.html"))


@cache
def bundle(entry: str) -> str:
    """Join a module with those that it imports, each once and before its first use.

    The modules import by name from each other only, and no two have a top-level name in common.
    """
    text: list[str] = []
    done: set[str] = set()

    def add(name: str) -> None:
        if name in done:
            return
        done.add(name)
        source = _static(name)
        for needed in _IMPORT.findall(source):
            add(needed)
        text.append(re.sub(r"^export (?=\w)", "", _IMPORT.sub("", source), flags=re.MULTILINE))

    add(entry)
    return "\n".join(text)


_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([\w.]+)";\n', re.MULTILINE)


def _static(name: str) -> str:
    return (files("tcpwhy.graph") / "static" / name).read_text("utf-8")


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"sha256-{digest}"
