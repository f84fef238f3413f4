"""`tcpwhy explain`: the whole argument, for one connection or for one frame."""

import json
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import click

from tcpwhy._core import UsageError
from tcpwhy.cli._help import Described
from tcpwhy.cli._options import DURATION, INPUT
from tcpwhy.cli._progress import progress_of
from tcpwhy.explain.connection import Connection, explain_connection
from tcpwhy.explain.frame import Explanation, explain_frame
from tcpwhy.explain.text import told as told_of_connection
from tcpwhy.explain.trace import Segment
from tcpwhy.sinks import output
from tcpwhy.terminal import Style, grid, paragraph, room, width
from tcpwhy.terminal.overview import endpoint
from tcpwhy.units import as_duration

SECTION = "Captures"
EXAMPLES = (
    "# the connection with the number 0 in the overview",
    "tcpwhy explain slow.pcap --flow 0",
    "# why a packet counts as what it does",
    "tcpwhy explain slow.pcap --frame 42",
)


@click.command("explain", cls=Described)
@click.argument("source", metavar="CAPTURE|STORE", type=INPUT)
@click.option(
    "--flow",
    metavar="FLOW",
    help="Which connection: its number #, HOST:PORT, a pair HOST:PORT-HOST:PORT, a flow_id or a"
    " Community ID. The one that moved most bytes unless given.",
)
@click.option(
    "--frame",
    type=click.IntRange(min=1),
    metavar="FRAME",
    help="Say of this frame, as Wireshark counts them, why it was counted as what it was.",
)
@click.option(
    "--interval",
    type=DURATION,
    help="Length of a periodic calculation, for a finer timeline of a capture.  [default: 3s]",
)
@click.option(
    "--format",
    type=click.Choice(["text", "jsonl", "html"]),
    help="For a person, the same facts as one JSON object, or a page with the graph beside the"
    " argument.  [default: text, or what the suffix of --output names]",
)
@click.option(
    "-o",
    "--output",
    "target",
    default="-",
    metavar="FILE",
    help="Where to write; .html is a page.  [default: standard output]",
)
def command(
    source: str,
    flow: str | None,
    frame: int | None,
    interval: str | None,
    format: str | None,
    target: str,
) -> int:
    """Explain the verdict for one connection, or the class of one packet.

    For a connection, the one that moved most bytes unless chosen: what was transferred and how
    fast; what limited it, when, and how sure that is; the numbers behind it and what speaks against
    it; what to do and what that would gain.

    With --frame, for one packet: why it was counted as new data, a kind of retransmission, late,
    a probe, a copy or an acknowledgement; the frames that prove it; what Wireshark calls it.
    Sequence numbers are relative, as Wireshark shows them.
    """
    format = format or FORMATS.get(Path(target).suffix, "text")
    is_terminal = target == "-"
    style = Style.of(sys.stdout) if is_terminal else Style(colour=False)
    limit = width(sys.stdout) if is_terminal else FILE_COLUMNS
    if frame is not None:
        if flow is not None or interval is not None:
            raise UsageError("--frame explains one packet: no --flow and no --interval with it")
        explanation = explain_frame(source, frame)
        if format == "html":
            raise UsageError("--frame explains one packet, as a text or jsonl: no page")
        _write(target, explanation.record(), told(explanation, limit, style), format)
        return 0
    watch = partial(progress_of, shown=True)
    connection = explain_connection(source, flow=flow, interval=interval, watch=watch)
    if format == "html":
        _page(target, connection)
    else:
        lines = told_of_connection(connection, limit, style)
        _write(target, connection.record(), lines, format)
    damage = connection.facts.damage
    for error in damage:
        click.echo(f"tcpwhy: {error}", err=True)
    return damage[0].exit_code if damage else 0


FORMATS = {".html": "html", ".htm": "html", ".jsonl": "jsonl", ".json": "jsonl"}
"""By the suffix of a file; any other is a text."""

FILE_COLUMNS = 100
"""Width of a text in a file."""


def _write(target: str, record: dict[str, object], lines: Iterator[str], format: str) -> None:
    if format == "jsonl":
        lines = iter([json.dumps(_with_texts(record), ensure_ascii=False)])
    if target == "-":
        for line in lines:
            click.echo(line)
        return
    with output(target) as out:
        out.write("".join(f"{line}\n" for line in lines).encode())


def _page(target: str, connection: Connection) -> None:
    """Write the argument as a page; without segments it has no graph."""
    from tcpwhy.report.argument import page, picture_of

    made = page(connection, picture_of(connection))
    with output(target) as out:
        out.write(made.encode())


def _with_texts(value: object) -> object:
    """Make texts of all flow_ids: 64 bits do not survive in every reader of JSON."""
    if isinstance(value, dict):
        return {
            name: str(each) if name == "flow_id" else _with_texts(each)
            for name, each in value.items()
        }
    return [_with_texts(each) for each in value] if isinstance(value, list) else value


def told(explanation: Explanation, limit: int, style: Style) -> Iterator[str]:
    """Give the lines of the explanation of a frame."""
    flow, segment = explanation.flow, explanation.segment
    yield style.bold(f"Frame {segment.frame} is {explanation.headline}.")
    pair = f"{endpoint(flow.src, flow.src_port)} → {endpoint(flow.dst, flow.dst_port)}"
    into = as_duration(segment.ts_ns - flow.start_ns)
    yield style.dim(f"{pair}, {into} into flow {flow.flow_id}")
    parts = {"Why": explanation.why, "Then": explanation.later, "Wireshark": explanation.wireshark}
    for title, sentences in parts.items():
        if sentences:
            yield ""
            yield from paragraph(f"{title.ljust(10)} ", " ".join(sentences), limit)
    yield ""
    names = ["frame", "ms", "", "flags", "from", "to", "ack", "window", "kind", "SACK"]
    yield from grid(names, [_cells(row, segment) for row in explanation.frames], room(sys.stdout))
    yield ""
    yield from paragraph("Show them  ", explanation.filter, limit)


def _cells(row: Segment, subject: Segment) -> list[object]:
    ms = f"{(row.ts_ns - subject.ts_ns) / 1e6:+.3f}"
    mark = "▸" if row.frame == subject.frame else "→" if row.direction == "orig" else "←"
    window = row.window_raw if row.rwnd is None else row.rwnd
    blocks = " ".join(f"{left}-{right}" for left, right in row.blocks)
    return [row.frame, ms, mark, row.flags, row.start, row.end, row.ack, window, row.kind, blocks]
