"""`tcpwhy taps`: the same connections at two points of their path."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import asdict

import click

from tcpwhy._core import InputError, UsageError
from tcpwhy.cli import INTERRUPTED
from tcpwhy.cli._help import Described
from tcpwhy.cli._options import COUNT, INPUT, OUTPUT
from tcpwhy.cli._stopping import stopping
from tcpwhy.sinks import open_sink, pour, tables_of
from tcpwhy.taps import Between, Bounds, Clocks, Pair, clocks, merge, merge_rows, pairs, point
from tcpwhy.taps.pair import MOST_FLOWS
from tcpwhy.units import as_duration, as_share

SECTION = "Captures"
EXAMPLES = (
    "# the same traffic before and behind a firewall",
    "tcpwhy taps before.pcap behind.pcap",
    "# the same of what two probes wrote",
    "tcpwhy taps kafka://BROKER/inside kafka://BROKER/outside",
)


@click.command("taps", cls=Described)
@click.argument("first", metavar="POINT", type=INPUT)
@click.argument("second", metavar="POINT", type=INPUT)
@click.option("--flow", metavar="COMMUNITY_ID", help="Only this connection.")
@click.option(
    "--top",
    type=COUNT,
    default=MOST_FLOWS,
    show_default=True,
    help="How many of the largest connections.",
)
@click.option(
    "--format",
    type=click.Choice(["table", "jsonl"]),
    default="table",
    show_default=True,
    help="Format of standard output.",
)
@click.option(
    "--merge",
    "is_merge",
    is_flag=True,
    help="Join both points: captures of one direction each are judged together, rows are merged.",
)
@OUTPUT
def command(
    first: str,
    second: str,
    flow: str | None,
    top: int,
    format: str,
    is_merge: bool,
    outputs: tuple[str, ...],
) -> int:
    """Say between which points loss and delay arise.

    Both points saw the same traffic, at two places of its path: before and behind a firewall, or at
    both ends. Their clocks need not agree. A point is a capture, a store, a folder or a file of
    Parquet, a file of DuckDB, or topics of Kafka: kafka://BROKER/NAME.

    With --merge, each capture has one direction: of an asymmetric path, or from one port of a
    splitter. They are judged together, as analyze judges one capture. Rows are merged: each
    direction has those of the point nearer to its sender, at the times of the first clock.
    """
    if is_merge:
        return _merge(first, second, flow, outputs or ("-",), format)
    if outputs:
        raise UsageError("--output goes with --merge: --format jsonl gives rows otherwise")
    for pair in pairs(first, second, flow=flow, most=top):
        if format == "jsonl":
            click.echo(json.dumps(_row(pair)))
        else:
            click.echo("\n".join(_lines(pair)))
    return 0


def _merge(first: str, second: str, flow: str | None, outputs: tuple[str, ...], format: str) -> int:
    """Make one of two points, and say how the clocks were taken."""
    found = clocks(first, second)
    if not all(point(name).is_capture for name in (first, second)):
        return _merge_rows(first, second, found, flow, outputs, format)
    sinks = [open_sink(to, format=format, tables=None) for to in outputs]
    with ExitStack() as stack:
        for sink in sinks:
            stack.callback(sink.close)
        result = merge(first, second, table=tables_of(sinks), bounds=found, flow=flow)
        came = stack.enter_context(stopping(result.stop))
        pour(result.batches(), sinks)
    _tell(first, second, found)
    for error in result.damage:
        click.echo(f"tcpwhy: {error}", err=True)
    if came:
        return INTERRUPTED
    return result.damage[0].exit_code if result.damage else 0


def _merge_rows(
    first: str,
    second: str,
    found: Bounds,
    flow: str | None,
    outputs: tuple[str, ...],
    format: str,
) -> int:
    """Merge rows, and say of the largest connections where loss and delay arise."""
    rows = merge_rows(first, second, bounds=found)
    if flow is not None:
        rows = rows.filter([name == flow for name in rows["community_id"].to_pylist()])
    sinks = [open_sink(to, format=format, tables=["flows"]) for to in outputs]
    with ExitStack() as stack:
        for sink in sinks:
            stack.callback(sink.close)
        pour((("flows", batch) for batch in rows.to_batches()), sinks)
    _tell(first, second, found)
    try:
        for pair in pairs(first, second, flow=flow):
            click.echo("\n".join(_lines(pair)), err=True)
    except InputError:
        click.echo(
            "each point has one direction of what they share: no place can be named", err=True
        )
    return 0


def _tell(first: str, second: str, found: Bounds) -> None:
    least, most = as_duration(abs(found.least_ns)), as_duration(abs(found.most_ns))
    between = (
        f"between {_sign(found.least_ns)}{least} and {_sign(found.most_ns)}{most} ahead of {first}"
    )
    taken = "they are taken to agree"
    if found.offset_ns:
        taken = f"{_sign(found.offset_ns)}{as_duration(abs(found.offset_ns))} is taken off"
    click.echo(f"clock of {second}: {between}; {taken}", err=True)


def _sign(value: int) -> str:
    return "-" if value < 0 else ""


def _row(pair: Pair) -> dict[str, object]:
    row = asdict(pair)
    row["clocks"] = pair.clocks._asdict() if pair.clocks else None
    row["directions"] = [
        asdict(one) | {"loss_place": one.loss_place, "delay_share": one.delay_share}
        for one in pair.directions
    ]
    return row


def _lines(pair: Pair) -> list[str]:
    lines = [
        f"{pair.originator} → {pair.responder}  {pair.community_id}",
        f"  near   {pair.near}",
        f"  far    {pair.far}",
        f"  clocks {_clocks(pair.clocks)}",
    ]
    for one in pair.directions:
        if one.sent or one.unseen:
            lines += _direction(pair, one)
    if not pair.by_segments:
        lines.append("  of sums: segments at both points (--table segments) tell the delay, too")
    return [*lines, ""]


def _clocks(clocks: Clocks | None) -> str:
    if clocks is None:
        return "not compared: too few packets were seen at both points"
    ahead = "ahead" if clocks.offset_ns >= 0 else "behind"
    text = f"far is {as_duration(abs(clocks.offset_ns))} {ahead}, ±{as_duration(clocks.error_ns)}"
    return text if clocks.drift_ppm is None else f"{text}, drifting {clocks.drift_ppm:.1f} ppm"


def _direction(pair: Pair, one: Between) -> list[str]:
    names = ("near", "far") if one.direction == "orig" else ("far", "near")
    sender = pair.originator if one.direction == "orig" else pair.responder
    lines = [
        f"  from {sender}: {one.sent:,} data packets at {names[0]}",
        f"    lost before {names[0]} {one.lost_before:,}, between {one.lost_between:,},"
        f" beyond {names[1]} {one.lost_beyond:,}",
    ]
    if one.unseen:
        lines.append(f"    {one.unseen:,} seen at {names[1]} only: another path, or missed")
    if one.delay_variation_p95_ns is not None:
        text = f"    delay between varies by {as_duration(one.delay_variation_p95_ns)} (p95)"
        if one.delay_share is not None:
            text += f", {as_share(one.delay_share)} of the round trip's"
        lines.append(text)
    if one.loss_place:
        places = {
            "before": f"before {pair.near if names[0] == 'near' else pair.far}",
            "between": "between the two points",
            "beyond": f"beyond {pair.far if names[1] == 'far' else pair.near}",
        }
        lines.append(f"    → loss arises {places[one.loss_place]}")
    return lines
