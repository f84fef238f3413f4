"""`tcpwhy explain`: the whole argument, for one frame."""

import sys
from collections.abc import Iterator

import click

from tcpwhy.explain.frame import Explanation, explain_frame
from tcpwhy.explain.trace import Segment
from tcpwhy.overview import endpoint
from tcpwhy.terminal import Style, grid, paragraph, width
from tcpwhy.units import as_duration


@click.command("explain")
@click.argument("capture")
@click.option(
    "--frame",
    type=click.IntRange(min=1),
    required=True,
    help="Say of this frame, as Wireshark counts them, why it was counted as what it was.",
)
def command(capture: str, frame: int) -> None:
    """Give the reasons.

    With --frame, for one packet: why it was counted as new data, a kind of retransmission, late,
    a probe, a copy or an acknowledgement, with the frames that prove it, and what Wireshark calls
    it. Sequence numbers are relative, as Wireshark shows them.
    """
    for line in told(explain_frame(capture, frame)):
        click.echo(line)


def told(explanation: Explanation) -> Iterator[str]:
    """Give the lines of an explanation."""
    style, limit = Style.of(sys.stdout), width(sys.stdout)
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
    yield from grid(names, [_cells(row, segment) for row in explanation.frames], limit)
    yield ""
    yield from paragraph("Show them  ", explanation.filter, limit)


def _cells(row: Segment, subject: Segment) -> list[object]:
    ms = f"{(row.ts_ns - subject.ts_ns) / 1e6:+.3f}"
    mark = "▸" if row.frame == subject.frame else "→" if row.direction == "orig" else "←"
    window = row.window_raw if row.rwnd is None else row.rwnd
    blocks = " ".join(f"{left}-{right}" for left, right in row.blocks)
    return [row.frame, ms, mark, row.flags, row.start, row.end, row.ack, window, row.kind, blocks]
