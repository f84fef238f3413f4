"""`tcpwhy study`: the experiments of papers, repeated."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tcpwhy._core import UsageError
from tcpwhy.cli import INTERRUPTED
from tcpwhy.cli._help import DescribedGroup
from tcpwhy.cli._options import COUNT, DURATION, CountType
from tcpwhy.cli._progress import bar
from tcpwhy.cli._stopping import stopping
from tcpwhy.cli._study_internet import internet
from tcpwhy.cli._study_mathis import mathis
from tcpwhy.sinks import formats, open_sink
from tcpwhy.units import nanoseconds

if TYPE_CHECKING:
    from tcpwhy.study import Adaptivity

CHARTS = (".svg", ".png", ".html")

SECTION = "Models and simulations"
EXAMPLES = (
    "# a figure of the paper, on a coarse grid",
    "tcpwhy study adaptivity --figure 2 --quick",
)
EXAMPLES_OF = {
    "adaptivity": (
        "# a figure of the paper, on a coarse grid, as a chart",
        "tcpwhy study adaptivity --figure 2 --quick -o figure.svg",
        "# the same with the recovery of today, as rows",
        "tcpwhy study adaptivity --figure 2 --recovery rack --format csv",
    ),
    "internet": (
        "# the case study for captures at hand, with text, tables and figures in a folder",
        "tcpwhy study internet day-1.pcap day-2.pcap -o case-study",
        "# only what is on one port, as text",
        "tcpwhy study internet day-1.pcap --filter 'port 443'",
    ),
    "mathis": (
        "# less than a minute, in the simulator alone",
        "tcpwhy study mathis --place simulator --quick",
        "# all of it, to be interrupted and resumed, as a chart",
        "sudo tcpwhy study mathis --resume transfers.jsonl -o mathis.svg",
    ),
}


@click.group("study", cls=DescribedGroup)
def command() -> None:
    """Repeat the experiments of papers, as tables and charts."""


_SETTINGS = [
    ("recovery", click.Choice(["tahoe", "reno", "newreno", "sack", "rack"]), "Version of TCP."),
    ("reno-rules", click.Choice(["ns3", "rfc5681"]), "How recovery without SACK counts."),
    ("rate-bps", click.IntRange(min=1000), "Rate of every link in bit/s."),
    ("delay", DURATION, "Propagation delay of every link."),
    ("buffer-packets", COUNT, "Packets that may wait in front of every link."),
    ("packet-bytes", click.IntRange(43, 65535), "Length of all packets with 42 bytes of headers."),
    ("rto-min", DURATION, "Lower bound of the retransmission timeout."),
    ("rto-max", DURATION, "Upper bound of the retransmission timeout, also of the lower one."),
    ("jitter-packets", click.FloatRange(min=0), "UDP packets leave up to this much later."),
    ("seed", click.IntRange(0, 2**64 - 1), "Seed of the jitter."),
    ("warm", DURATION, "When the measurement begins."),
    ("duration", DURATION, "How long it lasts."),
]
METAVARS = {
    "rate-bps": "BPS",
    "packet-bytes": "BYTES",
    "jitter-packets": "PACKETS",
    "seed": "SEED",
}


def _settings(function: Any) -> Any:
    for name, kind, meaning in reversed(_SETTINGS):
        repeated = f"{meaning} May be repeated where the figure varies it."
        varied = name in ("recovery", "rate-bps", "delay", "buffer-packets", "packet-bytes")
        text = repeated if varied or name == "rto-max" else meaning
        function = click.option(
            f"--{name}", type=kind, metavar=METAVARS.get(name), multiple=True, help=text
        )(function)
    return function


@command.command("adaptivity")
@click.option(
    "--figure",
    "figures",
    type=click.IntRange(2, 15),
    metavar="FIGURE",
    multiple=True,
    help="Figure of the paper; may be repeated. All from 2 to 15 unless given.",
)
@click.option("--quick", is_flag=True, help="A coarse grid and short measurements.")
@click.option(
    "--frequency",
    "frequencies",
    type=click.FloatRange(0, 1000, min_open=True),
    multiple=True,
    metavar="HZ",
    help="Frequency of the UDP source; may be repeated.  [default: 33 from 0.05 to 10 per s]",
)
@click.option("--points", type=CountType(min=2), help="How many frequencies from 0.05 to 10.")
@click.option("--phases", type=COUNT, help="Start phases to take the mean over.")
@_settings
@click.option("--workers", type=COUNT, help="Threads.  [default: all cores]")
@click.option("--format", type=click.Choice(formats()), help="Format of standard output.")
@click.option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    metavar="PATH",
    help="Where to write; may be repeated. A suffix names the format: .svg, .png and .html are"
    " charts, others tables. Of several figures each has its own file, with its number.",
)
def adaptivity_(
    figures: tuple[int, ...],
    quick: bool,
    frequencies: tuple[float, ...],
    points: int | None,
    phases: int | None,
    workers: int | None,
    format: str | None,
    outputs: tuple[str, ...],
    **settings: Sequence[Any],
) -> int:
    """Repeat "The Effect of TCP's Adaptivity on the Throughput".

    TCP shares a link with UDP whose rate follows a sine. Figures 2, 3 and 11 to 15 show TCP's
    throughput over the frequency. Figures 4 to 10 show what happens at a low, a critical and a high
    one.
    """
    from tcpwhy.study.figures import FIGURES

    numbers = figures or tuple(FIGURES)
    targets = outputs or ("-",)
    for target in targets:
        if target != "-" and Path(target).suffix in CHARTS:
            _need_charts()
    for number in numbers:
        figure = FIGURES[number]
        fixed, values = _sorted_out(settings, figure.varied, many=len(numbers) > 1)
        result = _start(
            number,
            quick=quick,
            values=values,
            frequencies_hz=frequencies,
            points=points,
            phases=phases,
            workers=workers,
            **fixed,
        )
        with stopping(result.stop) as came, bar(result.progress, unit="cases"):
            result.rows()
        if len(numbers) > 1 and "-" in targets:
            click.echo(f"Figure {number}: {figure.title}")
        for target in targets:
            _write(result, _named(target, number, several=len(numbers) > 1), format)
        if came:
            return INTERRUPTED
    return 0


def _start(number: int, **options: Any) -> "Adaptivity":
    from tcpwhy.study import adaptivity

    return adaptivity(number, **options)


def _need_charts() -> None:
    from tcpwhy.extras import require

    require("altair", extra="plot")
    require("vl_convert", extra="plot")


def _sorted_out(
    settings: Mapping[str, Sequence[Any]], varied: str | None, *, many: bool
) -> tuple[dict[str, Any], Sequence[Any]]:
    """Split the settings into those of all cases and the values of what the figure varies."""
    fixed: dict[str, Any] = {}
    values: Sequence[Any] = ()
    for option, given in settings.items():
        if not given:
            continue
        name, found = option, list(given)
        if option in ("delay", "rto_min", "rto_max", "warm", "duration"):
            name, found = f"{option}_ns", [nanoseconds(text) for text in given]
        if name == varied:
            values = found
        elif len(found) > 1:
            which = "each figure" if many else "this figure"
            raise UsageError(f"--{option.replace('_', '-')} is one value in {which}")
        elif name == "packet_bytes":
            fixed |= {"tcp_packet_bytes": found[0], "udp_packet_bytes": found[0]}
        else:
            fixed[name] = found[0]
    return fixed, values


def _named(target: str, number: int, *, several: bool) -> str:
    path = Path(target)
    if not several or target == "-":
        return target
    return str(path.with_name(f"{path.stem}.{number}{path.suffix}"))


def _write(result: "Adaptivity", target: str, format: str | None) -> None:
    path = Path(target)
    if target != "-" and path.suffix in CHARTS:
        result.save(path)
        return
    if target != "-" and not path.suffix:
        raise UsageError(f"{target}: a figure goes into a file: name one with a suffix")
    several = target == "-" and format in (None, "table")
    tables = result.tables if several else result.tables[:1]
    sink = open_sink(target, format=format, tables=tables)
    try:
        for table in tables:
            for batch in result.batches_of(table):
                sink.write(table, batch)
    finally:
        sink.close()


command.add_command(internet)
command.add_command(mathis)
