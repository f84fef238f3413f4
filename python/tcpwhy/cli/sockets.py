"""`tcpwhy sockets`: what limits every TCP socket of this host."""

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tcpwhy._core import InputError
from tcpwhy.cli import INTERRUPTED
from tcpwhy.cli._help import Described
from tcpwhy.cli._options import COUNT, DURATION
from tcpwhy.cli._stopping import stopping
from tcpwhy.terminal import Style, grid, room, width, wrapped
from tcpwhy.units import as_duration, as_rate, nanoseconds

if TYPE_CHECKING:
    from tcpwhy.active.host import Row

STATES = {
    "established": 1,
    "syn-sent": 2,
    "syn-recv": 3,
    "fin-wait-1": 4,
    "fin-wait-2": 5,
    "close-wait": 8,
    "last-ack": 9,
    "closing": 11,
}
"""States as ss calls them, by the kernel's numbers (net/tcp_states.h)."""

LOOKS = 5
"""How often the kernel is asked in an interval."""

SECTION = "Hosts and tests"
EXAMPLES = (
    "# what limits every connection of this host",
    "tcpwhy sockets",
    "# those to web servers, every second",
    "tcpwhy sockets --port 443 --interval 1s --count 10",
)


@click.command("sockets", cls=Described)
@click.option(
    "--pid", type=click.IntRange(min=1), metavar="PID", help="Only the sockets of this process."
)
@click.option(
    "--state",
    "states",
    type=click.Choice(list(STATES)),
    multiple=True,
    help="Only sockets in this state; may be repeated.",
)
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    metavar="PORT",
    help="Only sockets with this port at either end.",
)
@click.option(
    "--sport", type=click.IntRange(1, 65535), metavar="PORT", help="The same for this host's end."
)
@click.option(
    "--dport", type=click.IntRange(1, 65535), metavar="PORT", help="The same for the other end."
)
@click.option("--interval", type=DURATION, default="1s", show_default=True, help="Time to observe.")
@click.option("--count", type=COUNT, help="How many intervals.  [default: 1, as ss]")
@click.option("-w", "--watch", is_flag=True, help="Repeat until Ctrl-C.")
@click.option("-a", "--all", "all_", is_flag=True, help="Sockets on which nothing moves as well.")
@click.option("--evidence", is_flag=True, help="The numbers behind each limit, on a second line.")
@click.option(
    "--format",
    type=click.Choice(["table", "jsonl"]),
    default="table",
    show_default=True,
    help="Format of standard output.",
)
def command(
    pid: int | None,
    states: tuple[str, ...],
    interval: str,
    count: int | None,
    watch: bool,
    all_: bool,
    evidence: bool,
    format: str,
    **ports: int | None,
) -> int:
    """Say what limits every TCP socket of this host, from the kernel's own accounts.

    The kernel is asked for a second, and once more with --count or --watch. No packets and no
    privilege are needed. Processes of other users have no name without root.
    """
    from tcpwhy.active.host import Host

    if pid is not None and not Path(f"/proc/{pid}").exists():
        raise InputError(f"no process {pid} here; leave --pid out to see all")
    host = Host(pid=pid)
    wanted = {STATES[name] for name in states}
    pause = nanoseconds(interval) / 1e9 / LOOKS
    host.look()
    with stopping() as came:
        answers = 0
        while not came and (watch or answers < (count or 1)):
            for _ in range(LOOKS):
                time.sleep(pause)
                host.look()
            rows = [
                row
                for row in host.rows()
                if (all_ or states or row.out_bytes + row.in_bytes > 0)
                and (not states or row.socket.sample["state"] in wanted)
                and _has_ports(row, **ports)
            ]
            if format == "jsonl":
                for row in rows:
                    click.echo(json.dumps(row.to_json()))
            else:
                _show(rows, evidence=evidence, is_first=answers == 0, all_=all_)
            sys.stdout.flush()
            answers += 1
    return INTERRUPTED if came else 0


def _has_ports(row: "Row", *, port: int | None, sport: int | None, dport: int | None) -> bool:
    one = row.socket
    return (
        (port is None or port in (one.src_port, one.dst_port))
        and (sport is None or sport == one.src_port)
        and (dport is None or dport == one.dst_port)
    )


def _show(rows: Sequence["Row"], *, evidence: bool, is_first: bool, all_: bool) -> None:
    style = Style.of(sys.stdout)
    if not is_first:
        click.echo()
    names = ("program", "limited by", "out", "in", "RTT", "connection")
    cells = [
        (
            f"{row.program}/{row.pid}" if row.pid else f"uid {row.socket.uid}",
            row.word,
            as_rate(row.out_bytes * 8 / row.seconds) if row.out_bytes else "",
            as_rate(row.in_bytes * 8 / row.seconds) if row.in_bytes else "",
            as_duration(row.socket.sample["rtt"] * 1e3),
            f"{_end(row.socket.src, row.socket.src_port)} → "
            f"{_end(row.socket.dst, row.socket.dst_port)}",
        )
        for row in rows
    ]
    lines = list(grid(names, cells, room(sys.stdout)))
    click.echo(style.bold(lines[0]))
    for number, line in enumerate(lines[1:]):
        click.echo(line)
        if evidence and number < len(rows):
            for part in wrapped(rows[number].evidence, width(sys.stdout) - 2):
                click.echo(f"  {style.dim(part)}")
    if not rows and all_:
        click.echo("there is no connection")
    elif not rows:
        click.echo("nothing moves on any connection (--all shows those that are idle)")


def _end(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
