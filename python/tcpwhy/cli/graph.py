"""`tcpwhy graph`: the time-sequence graph of a flow, to zoom in or to print."""

from functools import partial
from pathlib import Path
from typing import Any

import click

from tcpwhy._core import UsageError
from tcpwhy.cli._help import Described
from tcpwhy.cli._options import DURATION, INPUT
from tcpwhy.cli._progress import progress_of
from tcpwhy.units import nanoseconds

SECTION = "Captures"
EXAMPLES = (
    "# a page to zoom in",
    "tcpwhy graph slow.pcap --flow 0 -o graph.html",
    "# a picture",
    "tcpwhy graph slow.pcap -o graph.svg",
)


@click.command("graph", cls=Described)
@click.argument("source", metavar="CAPTURE|STORE|SCENARIO|SAMPLES|IFACE", type=INPUT)
@click.option(
    "--live",
    type=DURATION,
    help="IFACE is a link: watch it for this long, and draw what passed. Takes CAP_NET_RAW.",
)
@click.option(
    "--filter",
    metavar="BPF",
    help="With --live: capture filter in the syntax of tcpdump.  [default: tcp]",
)
@click.option(
    "--flow",
    "flows",
    multiple=True,
    metavar="FLOW",
    help="Which connection: its number #, HOST:PORT, a pair HOST:PORT-HOST:PORT, a flow_id or a"
    " Community ID; twice to compare two. The one that moved most bytes unless given.",
)
@click.option(
    "--direction",
    type=click.Choice(["orig", "resp"]),
    help="Whose data: that of who opened the connection, or of the other. Who sent more unless"
    " given.",
)
@click.option(
    "--cwnd",
    metavar="FILE",
    help="Rows with the sender's own cwnd: the truth of a simulation, the lab's cwnd.parquet, or"
    " samples of measure.",
)
@click.option(
    "--tap",
    metavar="NAME",
    help="Tap of a scenario: what passes it is drawn.  [default: the one at the sender]",
)
@click.option("--start", type=DURATION, help="Begin of a picture, from the flow's start.")
@click.option("--end", type=DURATION, help="End of a picture, from the flow's start.")
@click.option(
    "--theme",
    type=click.Choice(["light", "dark", "auto"]),
    help="Colours of a picture; auto is for SVG and follows the reader's system.  [default: light]",
)
@click.option(
    "--width", type=click.IntRange(300, 4000), help="Width of a picture.  [default: 1000]"
)
@click.option(
    "--height", type=click.IntRange(200, 4000), help="Height of a picture.  [default: 620]"
)
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.{html,svg,png,pdf,xpl}",
    help="Where to write; the suffix names the format.",
)
def command(
    source: str,
    live: str | None,
    filter: str | None,
    flows: tuple[str, ...],
    direction: str | None,
    cwnd: str | None,
    tap: str | None,
    output: Path,
    **picture: Any,
) -> None:
    """Draw a flow: what was sent and acknowledged when, and what limited it.

    The time-sequence graph shows data segments, acknowledgements, the receiver's window and every
    retransmission. Below are flight size and windows, round-trip times and rates; above are the
    verdicts as a ribbon. HTML is one page to zoom in, from the whole flow to microseconds; SVG, PNG
    and PDF are pictures of it; XPL is for xplot.

    A link is watched and then drawn: sudo tcpwhy graph eth0 --live 10s -o g.html. A capture from a
    pipe is -: ssh host tcpdump -w - tcp | tcpwhy graph - -o g.html.
    A SCENARIO is simulated, and drawn with the sender's true cwnd.
    """
    from tcpwhy.graph.drawing import SUFFIXES, draw
    from tcpwhy.graph.live import watched

    if live is None and filter is not None:
        raise UsageError("--filter is of a link, watched with --live")
    if output.suffix.lower() not in SUFFIXES:
        known = ", ".join(SUFFIXES)
        raise UsageError(f"{output}: a graph is written as {known}")
    watch = partial(progress_of, shown=True)
    chosen: dict[str, Any] = {"flow": list(flows) or None, "direction": direction}
    chosen |= {"cwnd": cwnd, "tap": tap, "watch": watch}
    if live is None:
        graph = draw(source, **chosen)
    else:
        with watched(source, nanoseconds(live) / 1e9, filter or "tcp") as file:
            graph = draw(file, **chosen)
    start, end = picture.pop("start"), picture.pop("end")
    options = {name: value for name, value in picture.items() if value is not None}
    if start is not None or end is not None:
        options["view"] = graph.view(
            None if start is None else nanoseconds(start) / 1e9,
            None if end is None else nanoseconds(end) / 1e9,
        )
    graph.write(output, **options)
