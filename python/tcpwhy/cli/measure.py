"""`tcpwhy measure`: an active test that says every second what limits it."""

import base64
import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from tcpwhy._core import InputError, UsageError
from tcpwhy.active.number import prefixed
from tcpwhy.cli import INTERRUPTED
from tcpwhy.cli._help import Described
from tcpwhy.cli._options import DURATION, CountType
from tcpwhy.terminal import Style, width
from tcpwhy.units import nanoseconds

if TYPE_CHECKING:
    from tcpwhy.active.client import Outcome
    from tcpwhy.active.session import Parameters, Watch


class QuantityType(click.ParamType[int]):
    """A number with a unit or a prefix: 10M, 64Ki, 64KiB, 10Mbit/s."""

    def __init__(self, unit: str) -> None:
        """Take numbers of bytes or of bps."""
        self._unit = unit
        self.name = "size" if unit == "bytes" else "rate"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read the number."""
        try:
            return prefixed(value, self._unit)
        except UsageError as error:
            self.fail(str(error), param, ctx)


BYTES = QuantityType("bytes")
RATE = QuantityType("bps")

SECTION = "Hosts and tests"
EXAMPLES = (
    "# the other end",
    "tcpwhy measure --server",
    "# send for ten seconds; see what limits each second",
    "tcpwhy measure server.example",
    "# receive instead, as JSON",
    "tcpwhy measure server.example --reverse --json",
)


@click.command("measure", cls=Described)
@click.argument("host", required=False, metavar="HOST[:PORT]")
@click.option("-s", "--server", is_flag=True, help="Wait for tests by tcpwhy or iperf3.")
@click.option(
    "-p", "--port", type=click.IntRange(0, 65535), metavar="PORT", help="Port.  [default: 5201]"
)
@click.option("-B", "--bind", metavar="ADDRESS", help="With --server: the address to listen on.")
@click.option("-1", "--one-off", is_flag=True, help="With --server: end after one test.")
@click.option(
    "-t", "--time", "duration", type=DURATION, default="10s", show_default=True, help="How long."
)
@click.option("-n", "--bytes", type=BYTES, help="Bytes to transfer, instead of a time.")
@click.option("-O", "--omit", type=DURATION, help="Skip the first part, such as slow start.")
@click.option(
    "-i",
    "--interval",
    type=DURATION,
    default="1s",
    show_default=True,
    help="Time between two lines, 200 ms at least.",
)
@click.option("-b", "--bitrate", type=RATE, help="Rate at which each stream is written, in bit/s.")
@click.option("--pace", type=RATE, help="Rate to which the kernel paces, in bit/s.")
@click.option("-C", "--cc", "controller", metavar="NAME", help="Congestion controller.")
@click.option(
    "-w", "--window", type=BYTES, help="Both buffers in bytes, as iperf3 has it; fixes them."
)
@click.option("--sndbuf", type=BYTES, help="Send buffer in bytes; fixes it.")
@click.option("--rcvbuf", type=BYTES, help="Receive buffer in bytes; fixes it.")
@click.option("--window-clamp", type=BYTES, help="Largest window of the receiver in bytes.")
@click.option("--read", "read_bps", type=RATE, help="Rate at which the receiver reads, in bit/s.")
@click.option(
    "-M", "--mss", type=click.IntRange(88, 65535), metavar="SIZE", help="Largest segment in bytes."
)
@click.option("-l", "--length", type=BYTES, help="Bytes of one write.  [default: 128Ki]")
@click.option("-R", "--reverse", is_flag=True, help="The server sends.")
@click.option("--bidir", is_flag=True, help="Both send.")
@click.option(
    "-P", "--parallel", type=CountType(1, 128), default=1, show_default=True, help="Streams."
)
@click.option("-4", "ipv4", is_flag=True, help="Only IPv4.")
@click.option("-6", "ipv6", is_flag=True, help="Only IPv6.")
@click.option(
    "--sweep",
    metavar="WHAT=LIST",
    help="One test for each: sndbuf=64Ki,1Mi, rcvbuf=…, pace=…, cc=reno,cubic,bbr.",
)
@click.option("-J", "--json", "as_json", is_flag=True, help="JSON lines, with the raw TCP_INFO.")
def command(host: str | None, server: bool, **options: Any) -> int:
    """Test a path, and say every second what limits the transfer.

    HOST runs `tcpwhy measure --server` or `iperf3 -s`. Rates count what was acknowledged; the
    limits are those that the kernel's own clocks, windows and losses show. Numbers may have
    units: 10M and 10Mbit/s are 10^7, 64K is 64,000 and 64Ki 65,536. No privilege is needed.
    Options have iperf3's names.
    """
    if server and host:
        raise UsageError(f"--server waits for tests of others; --bind {host} listens there alone")
    if not server and not host:
        raise UsageError("name a HOST to test, or --server to wait for tests")
    if options["ipv4"] and options["ipv6"]:
        raise UsageError("-4 and -6 exclude each other")
    if server:
        return _serve(options)
    assert host is not None
    if options["window"]:
        options["sndbuf"] = options["sndbuf"] or options["window"]
        options["rcvbuf"] = options["rcvbuf"] or options["window"]
    name, port = _where(host, options["port"])
    return _test(name, port, options)


def _serve(options: dict[str, Any]) -> int:
    from tcpwhy.active.protocol import PORT
    from tcpwhy.active.server import Server

    def told(text: str) -> None:
        click.echo(text, err=True)

    port = PORT if options["port"] is None else options["port"]
    server = Server(options["bind"], port, told)
    # Whoever started it in the background waits for this line.
    click.echo(f"listening on port {server.port}", err=True)
    try:
        server.serve()
        while not options["one_off"]:
            server.serve()
    finally:
        server.close()
    return 0


def _where(host: str, port: int | None) -> tuple[str, int]:
    """Take HOST:PORT apart; an IPv6 address has brackets then."""
    from tcpwhy.active.protocol import PORT

    if host.startswith("["):
        name, _, rest = host[1:].partition("]")
        given = rest.removeprefix(":")
    elif host.count(":") == 1:
        name, _, given = host.partition(":")
    else:
        name, given = host, ""
    if given and not given.isdigit():
        raise UsageError(f"{host!r}: the port {given!r} is no number")
    if given and int(given) > 65535:
        raise UsageError(f"{host!r}: ports go up to 65535")
    return name, int(given) if given else PORT if port is None else port


def _parameters(options: dict[str, Any]) -> "Parameters":
    from tcpwhy.active.session import Parameters
    from tcpwhy.active.stream import BLOCK_BYTES, Options

    if options["reverse"] and options["bidir"]:
        raise UsageError("--reverse and --bidir exclude each other")
    return Parameters(
        seconds=None if options["bytes"] else nanoseconds(options["duration"]) / 1e9,
        bytes=options["bytes"],
        omit_s=nanoseconds(options["omit"]) / 1e9 if options["omit"] else 0.0,
        interval_s=_interval_s(options),
        parallel=options["parallel"],
        reverse=options["reverse"],
        bidir=options["bidir"],
        bitrate_bps=options["bitrate"],
        block_bytes=options["length"] or BLOCK_BYTES,
        read_bps=options["read_bps"],
        options=Options(
            controller=options["controller"],
            sndbuf_bytes=options["sndbuf"],
            rcvbuf_bytes=options["rcvbuf"],
            window_clamp_bytes=options["window_clamp"],
            pace_bps=options["pace"],
            mss=options["mss"],
        ),
    )


def _interval_s(options: dict[str, Any]) -> float:
    from tcpwhy.active.session import INTERVAL_MIN_S

    seconds = nanoseconds(options["interval"]) / 1e9
    if seconds < INTERVAL_MIN_S:
        raise UsageError("--interval is of 200 ms at least: the kernel is asked every 100 ms")
    return seconds


def _test(host: str, port: int, options: dict[str, Any]) -> int:
    from tcpwhy.cli._stopping import stopping

    with stopping() as came:
        if options["sweep"]:
            return _sweep(host, port, options, came)
        outcome = _run(host, port, _parameters(options), options, lambda: bool(came))
    _tell(outcome, options)
    if outcome.failure and not came:
        raise InputError(f"{host}:{port}: {outcome.failure}")
    return INTERRUPTED if came else 0


def _run(
    host: str,
    port: int,
    parameters: "Parameters",
    options: dict[str, Any],
    stopped: Callable[[], bool],
) -> "Outcome":
    import socket

    from tcpwhy.active.client import run_test

    family = socket.AF_UNSPEC
    if options["ipv4"] or options["ipv6"]:
        family = socket.AF_INET6 if options["ipv6"] else socket.AF_INET
    live = _Live(options) if not (options["as_json"] or options["sweep"]) else None
    tick = live.tick if live else lambda watch: None
    return run_test(host, port, parameters, family=family, tick=tick, stopped=stopped)


class _Live:
    """Prints a line for every stream and second, as the test goes."""

    def __init__(self, options: dict[str, Any]) -> None:
        from tcpwhy.active import table

        self._omit_s = nanoseconds(options["omit"]) / 1e9 if options["omit"] else 0.0
        self._interval_s = _interval_s(options)
        sends = not options["reverse"]
        self._columns = table.columns(width(sys.stdout), sends=sends)
        self._shown: dict[int, int] = {}

    def tick(self, watch: "Watch") -> None:
        """Show the rows that are complete."""
        from tcpwhy.active import table
        from tcpwhy.active.rows import rows_of

        several = len(watch.streams) > 1
        if not self._shown:
            for stream in watch.streams:
                near, far = stream.connection.getsockname(), stream.connection.getpeername()
                arrow = "->" if stream.sends else "<-"
                text = f"{near[0]}:{near[1]} {arrow} {far[0]}:{far[1]}"
                click.echo(f"Connected {text}, congestion control: {stream.controller}")
                self._shown[stream.number] = 0
            click.echo(table.header(self._columns, streams=several))
        for stream in watch.streams:
            samples = list(watch.samples[stream.number])
            rows = rows_of(
                stream.number,
                samples,
                [],
                sends=stream.sends,
                interval_s=self._interval_s,
                omit_s=self._omit_s,
            )
            whole = [r for r in rows if r.end_s - r.start_s >= self._interval_s - 0.05]
            for row in whole[self._shown[stream.number] :]:
                click.echo(table.line(row, self._columns, streams=several))
            self._shown[stream.number] = len(whole)
        sys.stdout.flush()


def _tell(outcome: "Outcome", options: dict[str, Any]) -> None:
    """Print totals and answers."""
    from tcpwhy.active import report, table

    if options["as_json"]:
        for stream in outcome.streams:
            for sample in outcome.samples[stream.number]:
                raw = base64.b64encode(sample["raw"]).decode()
                text = {"kind": "tcp_info", "stream": stream.number, **sample, "raw": raw}
                click.echo(json.dumps(text))
        for text in report.as_json(outcome):
            click.echo(json.dumps(text, ensure_ascii=False))
        return
    style = Style.of(sys.stdout)
    seconds = outcome.seconds - outcome.parameters.omit_s
    for stream in outcome.streams:
        verb = "Transferred" if stream.sends else "Received"
        if len(outcome.streams) > 1:
            verb = f"{style.bold(f'Stream {stream.number}:')} {verb.lower()}"
        moved = report.moved_bytes(outcome, stream)
        click.echo(table.totals(moved, seconds, stream.calls, stream.bytes, verb))
        for line in table.answer(report.advice(outcome, stream), style, width(sys.stdout)):
            click.echo(line)
        if note := report.receiver_note(outcome, stream):
            click.echo(f"{style.warn('note')}      {note}")
    for sends in (True, False):
        alike = [stream for stream in outcome.streams if stream.sends is sends]
        if len(alike) > 1:
            click.echo(table.sum_of([report.moved_bytes(outcome, s) for s in alike], seconds))


def _sweep(host: str, port: int, options: dict[str, Any], came: list[int]) -> int:
    from tcpwhy.active import report, sweep

    name, values = sweep.parse(options["sweep"])
    points = []
    for value in values:
        chosen = {**options, name: value}
        outcome = _run(host, port, _parameters(chosen), options, lambda: bool(came))
        rate = sum(report.moved_bytes(outcome, s) for s in outcome.streams) * 8 / outcome.seconds
        advice = report.advice(outcome, outcome.streams[0])
        points.append(sweep.Point(str(value), rate, advice.word, advice.evidence))
        if options["as_json"]:
            click.echo(json.dumps({"kind": "point", name: value, **points[-1]._asdict()}))
        if came:
            break
    if not options["as_json"]:
        for line in sweep.chart(name, points, width(sys.stdout)):
            click.echo(line)
    return INTERRUPTED if came else 0
