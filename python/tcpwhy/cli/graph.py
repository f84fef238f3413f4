"""`tcpwhy graph`: the time-sequence graph of a flow, to zoom in or to print."""

from functools import partial
from pathlib import Path
from typing import Any

import click

from tcpwhy.cli._options import DURATION
from tcpwhy.cli._progress import progress_of
from tcpwhy.units import nanoseconds


@click.command("graph")
@click.argument("source", metavar="CAPTURE|STORE|SCENARIO|SAMPLES")
@click.option(
    "--flow",
    "flows",
    multiple=True,
    metavar="ID|COMMUNITY_ID",
    help="Which flow; twice to compare two. The one that moved most bytes unless given.",
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
@click.option("--start", type=DURATION, help="Of a picture: begin so long after the flow's start.")
@click.option("--end", type=DURATION, help="Of a picture: end so long after the flow's start.")
@click.option(
    "--theme",
    type=click.Choice(["light", "dark", "auto"]),
    help="Of a picture; auto is for SVG and follows the reader's system.  [default: light]",
)
@click.option("--width", type=click.IntRange(300, 4000), help="Of a picture.  [default: 1000]")
@click.option("--height", type=click.IntRange(200, 4000), help="Of a picture.  [default: 620]")
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
    flows: tuple[str, ...],
    direction: str | None,
    cwnd: str | None,
    output: Path,
    **picture: Any,
) -> None:
    """Draw a flow: what was sent and acknowledged when, and what limited it.

    The time-sequence graph shows data segments, acknowledgements, the receiver's window and every
    retransmission, with flight size and windows, round-trip times and rates below, and the verdicts
    as a ribbon above. HTML is one page to zoom in, from the whole flow to microseconds; SVG, PNG
    and PDF are pictures of it; XPL is for xplot.

    A capture from a pipe is -: sudo tcpdump -i eth0 -w - -G 10 -W 1 tcp | tcpwhy graph - -o g.html.
    A SCENARIO is simulated, and drawn with the sender's true cwnd.
    """
    from tcpwhy.graph import draw

    watch = partial(progress_of, shown=True)
    graph = draw(source, flow=list(flows) or None, direction=direction, cwnd=cwnd, watch=watch)
    start, end = picture.pop("start"), picture.pop("end")
    options = {name: value for name, value in picture.items() if value is not None}
    if start is not None or end is not None:
        options["view"] = graph.view(
            None if start is None else nanoseconds(start) / 1e9,
            None if end is None else nanoseconds(end) / 1e9,
        )
    graph.write(output, **options)
