"""Draw the figures of docs/recipes.md and of the README from runs of the lab, with the numbers.

sudo tcpwhy lab run recipe_slow_sender recipe_paced_sender … -o FOLDER
python tools/recipe_figures.py FOLDER
"""

import argparse
import re
from pathlib import Path

from tcpwhy.graph import Graph, draw
from tcpwhy.graph.summary import named
from tcpwhy.units import as_bytes, as_duration, as_rate

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "recipes.md"

RECIPES = (
    "slow_sender",
    "paced_sender",
    "slow_receiver",
    "small_rcvbuf",
    "small_sndbuf",
    "cwnd_clamp",
    "packet_loss",
    "bandwidth",
)
"""Scenarios without their prefix, in the order of the page."""

CLOSE_S = (4.0, 4.5)
"""Seconds of the close view of each, where the slow start is over."""

WIDTH, HEIGHT, CLOSE_HEIGHT = 900, 520, 520


def recipe(folder: Path, name: str) -> Graph:
    """Draw the sender's capture with the cwnd of its kernel."""
    run = folder / f"recipe_{name}"
    cwnd = run / "cwnd.parquet"
    return draw(run / "h1.pcap", cwnd=cwnd if cwnd.is_file() else None)


def figures(graph: Graph, name: str) -> None:
    """Write the whole transfer and a close view."""
    pictures = ROOT / "docs" / "recipes"
    graph.write(pictures / f"{name}.svg", theme="auto", width=WIDTH, height=HEIGHT)
    view = graph.view(*CLOSE_S)
    close = pictures / f"{name}_close.svg"
    graph.write(close, view=view, theme="auto", width=WIDTH, height=CLOSE_HEIGHT)


def row(graph: Graph) -> str:
    """Give the numbers of a recipe as a line of a table."""
    half = graph.traces[0].half
    again = sum(len(c["t"]) for k, c in graph.traces[0].marks.items() if "retransmission" in k)
    cells = [
        named(half.limitation, half.cause),
        half.confidence or "",
        as_rate(half.goodput_bps),
        as_duration(half.rtt_min_ns),
        as_duration(half.rtt_mean_ns),
        as_bytes(half.flight_size_max),
        as_bytes(half.rwnd_max),
        f"{again:,}",
    ]
    return " | ".join(cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    rows = []
    for name in RECIPES:
        graph = recipe(folder, name)
        figures(graph, name)
        rows.append(f"| `recipe_{name}` | {row(graph)} |")
        if name == "bandwidth":
            graph.write(ROOT / "docs" / "pictures" / "graph.svg", theme="auto", height=560)
    head = [
        "| scenario | limited by | confidence | goodput | least RTT | mean RTT | most in flight"
        " | receiver window | sent again |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    table = "\n".join([*head, *rows])
    text = PAGE.read_text("utf-8")
    between = r"(?<=<!-- recipes -->\n).*?(?=<!-- end -->)"
    PAGE.write_text(re.sub(between, lambda _: table + "\n", text, flags=re.DOTALL), "utf-8")


if __name__ == "__main__":
    main()
