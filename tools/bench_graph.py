"""Measure graphs of a flow of many segments in Chromium, beside plotly and tshark's export.

    python tools/bench_graph.py --segments 1000000

Writes a table; nothing that is timed is a test. plotly is measured where it is installed.
"""

import argparse
import importlib.util
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tcpwhy.graph import Graph, draw
from tcpwhy.simulation import simulate

SCENARIO = """
title = "{segments} segments, one of them lost"
seed = 7
duration_s = {seconds}
[hosts.S]
[hosts.D]
[links.wan]
forward = [
    {{ drop_list = {{ packets = [{lost}], wire_bytes_min = 500 }} }},
    {{ rate = {{ rate_bps = 1_000_000_000, queue.drop_tail.limit_packets = 20000 }} }},
    {{ jitter = {{ jitter_ms = 0.02 }} }},
    {{ delay.delay_ms = 5 }},
]
backward = [{{ jitter = {{ jitter_ms = 0.02 }} }}, {{ delay.delay_ms = 5 }}]
[[flows]]
from = "S"
to = "D"
path = ["wan"]
workload.bulk = {{}}
tcp = {{ controller = "cubic" }}
"""

SEGMENTS_PER_S = 82_500
"""Full segments a second over 1 Gbit/s."""

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
SPANS_S = (5.0, 1.0, 0.1, 0.02, 0.001)

ZOOM = """async spans => {
    const page = await tcpwhy, found = {};
    const median = view => {
        const times = [];
        for (let k = 0; k < 5; k++) {
            view(k);
            const before = performance.now();
            page.paint();
            times.push(performance.now() - before);
        }
        return times.sort((a, b) => a - b)[2];
    };
    found.whole = median(() => page.whole());
    for (const span of spans) {
        const middle = page.span * 0.56;
        found[span] = median(k => page.lookAt(middle - span * 5e8 + k, middle + span * 5e8 + k));
    }
    return { first: page.firstPaintMs, zoom: found, heap: performance.memory?.usedJSHeapSize };
}"""

PLOTLY_ZOOM = """async spans => {
    const plot = document.querySelector(".plotly-graph-div"), found = {};
    const whole = plot._fullLayout.xaxis.range[1];
    for (const span of spans) {
        const middle = whole * 0.56;
        const before = performance.now();
        await Plotly.relayout(plot, {"xaxis.range": [middle - span / 2, middle + span / 2]});
        await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
        found[span] = performance.now() - before;
    }
    return { zoom: found, heap: performance.memory?.usedJSHeapSize };
}"""


def capture(folder: Path, segments: int) -> Path:
    """Simulate a flow of so many segments, of which one is lost."""
    text = SCENARIO.format(
        segments=segments, seconds=segments / SEGMENTS_PER_S, lost=segments * 6 // 10
    )
    path = folder / "many.toml"
    path.write_text(text)
    run = simulate(path, table="truth", captures=folder)
    for _ in run.batches():
        pass
    return run.captures["sender"]


def plotly_page(graph: Graph, path: Path) -> None:
    """Write the same data segments as plotly's WebGL scatter has them."""
    import plotly.graph_objects as objects

    data = graph.traces[0].series["data"]
    trace = objects.Scattergl(x=data["t"] / 1e9, y=data["lo"], mode="markers", marker={"size": 2})
    objects.Figure(trace).write_html(path, include_plotlyjs=True)


def in_browser(path: Path, ready: str, zoom: str) -> dict[str, Any]:
    """Open a page, wait until it has painted, and zoom."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 1400, "height": 950})
        before = time.monotonic()
        page.goto(path.as_uri(), timeout=600_000)
        page.wait_for_function(ready, timeout=600_000)
        found: dict[str, Any] = {"open_s": time.monotonic() - before}
        found |= page.evaluate(zoom, list(SPANS_S))
        browser.close()
    return found


def line(name: str, size: int, found: dict[str, Any]) -> str:
    zoom = [
        f"{found['zoom'].get(str(span), found['zoom'].get(f'{span:g}')):.0f}" for span in SPANS_S
    ]
    heap = found.get("heap")
    cells = [name, f"{size / 1e6:.2f} MB", f"{found['open_s']:.1f} s", *zoom]
    return (
        f"| {' | '.join(cells)} | {heap / 1e6:.0f} MB |" if heap else f"| {' | '.join(cells)} | |"
    )


def timed(what: Callable[[], Any]) -> tuple[Any, float, float]:
    """Give the result, the seconds that passed and the seconds of CPU."""
    before, used = time.monotonic(), time.process_time()
    result = what()
    return result, time.monotonic() - before, time.process_time() - used


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--segments", type=int, default=1_000_000)
    parser.add_argument("--alone", action="store_true", help="without plotly and tshark")
    options = parser.parse_args()
    segments = options.segments
    with tempfile.TemporaryDirectory(prefix="tcpwhy-bench-") as name:
        folder = Path(name)
        source = capture(folder, segments)
        graph, wall, cpu = timed(lambda: draw(source))
        html = folder / "graph.html"
        _, wall_html, cpu_html = timed(lambda: graph.write(html))
        _, wall_svg, cpu_svg = timed(lambda: graph.svg())
        count = len(graph.traces[0].series["data"]["t"])
        print(f"{count:,} data segments, {source.stat().st_size / 1e6:.0f} MB of capture")
        print(
            f"read {wall:.1f} s ({cpu:.1f} s CPU), html {wall_html:.1f} s ({cpu_html:.1f} s CPU),"
        )
        print(f"svg {wall_svg:.1f} s ({cpu_svg:.1f} s CPU)")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        print(f"peak {peak:.2f} GB\n")
        print(f"| page | size | open | {' | '.join(f'{s:g} s, ms' for s in SPANS_S)} | heap |")
        print(f"|{'---|' * (4 + len(SPANS_S))}")
        ready = "globalThis.tcpwhy && tcpwhy.then(() => true)"
        found = in_browser(html, ready, ZOOM)
        print(
            line("tcpwhy graph", html.stat().st_size, found), f"whole {found['zoom']['whole']:.0f}"
        )
        if options.alone:
            return
        if importlib.util.find_spec("plotly"):
            other = folder / "plotly.html"
            plotly_page(graph, other)
            ready = "document.querySelector('.plotly-graph-div canvas') !== null"
            print(line("plotly", other.stat().st_size, in_browser(other, ready, PLOTLY_ZOOM)))
        fields = [f"-e{f}" for f in ("frame.time_epoch", "tcp.seq", "tcp.len", "tcp.ack")]
        command = ["tshark", "-r", str(source), "-Tfields", *fields, "-etcp.window_size"]
        export = folder / "fields.tsv"
        with export.open("wb") as target:
            _, wall, _ = timed(lambda: subprocess.run(command, stdout=target, check=True))
        print(
            f"\ntshark's export of the numbers: {wall:.1f} s, {export.stat().st_size / 1e6:.0f} MB"
        )


if __name__ == "__main__":
    main()
