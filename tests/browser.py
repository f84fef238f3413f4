"""What tests in a browser share: Debian's Chromium, driven by playwright, and what it opens.

A plugin of pytest: `browser` is a fixture of every module, started when a test of it asks.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@contextmanager
def chromium() -> Iterator[Any]:
    """Start a browser; skip where there is none."""
    reason = "playwright drives the browser"
    api = pytest.importorskip("playwright.sync_api", reason=reason)
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("chromium is not installed (apt-get install chromium)")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture(scope="module", name="browser")
def _browser() -> Iterator[Any]:
    """Give a browser to the tests of a module: no longer, since it keeps an event loop running."""
    with chromium() as started:
        yield started


class Watched:
    """A page whose complaints and requests are noted."""

    def __init__(self, browser: Any, **options: Any) -> None:
        self.page = browser.new_page(**options)
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))


def opened(browser: Any, url: str, *, width: int = 1400, scheme: str = "light") -> Watched:
    """Open a page of its own, in a window of a width and with a colour scheme."""
    size = {"width": width, "height": 1000}
    seen = Watched(browser, viewport=size, color_scheme=scheme, accept_downloads=True)
    seen.page.goto(url)
    return seen


def graph_page(browser: Any, graph: Any, path: Path, **options: Any) -> Watched:
    """Write the page of a graph and open it; `shown` is then the page, to scripts of a test."""
    graph.write(path)
    seen = Watched(browser, **{"viewport": {"width": 1400, "height": 950}} | options)
    seen.page.goto(path.as_uri(), timeout=PATIENCE_MS)
    seen.page.wait_for_function("globalThis.tcpwhy", timeout=PATIENCE_MS)
    seen.page.evaluate("async () => { globalThis.shown = await tcpwhy }")
    return seen


PATIENCE_MS = 120_000
"""For a graph of a million segments."""


def analysed(path: Path, *captures: str) -> Path:
    """Make a store of captures of tests/data, by their names."""
    files = [f"tests/data/{name}.pcap" for name in captures]
    command = [sys.executable, "-m", "tcpwhy", "analyze", *files, "-o", f"{path}/"]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return path


@contextmanager
def served(*arguments: object) -> Iterator[str]:
    """Serve a store by the command; give the link that it tells."""
    command = [sys.executable, "-m", "tcpwhy", "serve", *map(str, arguments), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            link = None
            while link is None:
                line = process.stderr.readline() if process.stderr else ""
                assert line, "the server ended"
                link = re.search(r"https?://\S+", line)
            yield link[0]
        finally:
            process.terminate()
            _, said = process.communicate(timeout=20)
            assert "Traceback" not in said, said


CONTRAST = """() => {
    const parse = (text) => {
        const parts = text.match(/[\\d.]+/g).map(Number);
        return parts.length > 3 && parts[3] === 0 ? null : parts;
    };
    const light = (rgb) => {
        const [r, g, b] = rgb.slice(0, 3).map((v) => v / 255)
            .map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const low = [];
    for (const element of document.querySelectorAll("body *")) {
        const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
        const isDrawn = element.closest("svg, script, style, option");
        if (!own || isDrawn || !element.offsetParent) continue;
        let ground = null;
        for (let at = element; at && !ground; at = at.parentElement)
            ground = parse(getComputedStyle(at).backgroundColor);
        const ink = parse(getComputedStyle(element).color);
        const pair = [light(ink), light(ground ?? [255, 255, 255])].sort((a, b) => b - a);
        const ratio = (pair[0] + 0.05) / (pair[1] + 0.05);
        if (ratio < 4.5) low.push(`${ratio.toFixed(2)} ${element.outerHTML}`);
    }
    return low;
}"""
"""Texts whose contrast to their ground is below WCAG's 4.5."""
