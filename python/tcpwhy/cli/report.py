"""`tcpwhy report`: a page that can be sent, from a capture or a store."""

from functools import partial

import click

from tcpwhy._core import UsageError
from tcpwhy.cli._help import Described
from tcpwhy.cli._options import INPUT, CountType
from tcpwhy.cli._progress import progress_of

SECTION = "Captures"
EXAMPLES = (
    "# one page to send",
    "tcpwhy report slow.pcap -o report.html",
)


@click.command("report", cls=Described)
@click.argument("source", metavar="CAPTURE|STORE", type=INPUT)
@click.option(
    "-o",
    "--output",
    "target",
    required=True,
    metavar="FILE.html|FILE.md|DIR",
    help="Where to write: one page, a text for a ticket, or a folder with page, text and every"
    " chart as SVG, PNG and PDF. - is the text on standard output.",
)
@click.option("--study", is_flag=True, help="Add what the IM 2021 paper shows for its traces.")
@click.option(
    "--flows",
    type=CountType(min=0),
    default=30,
    show_default=True,
    help="Connections with a page of their own.",
)
@click.option(
    "--graphs",
    type=CountType(min=0),
    help="How many of them have a time-sequence graph; a capture is read again for each.  [default:"
    " all of a small capture, 6 of one beyond 160 MB]",
)
def command(source: str, target: str, study: bool, flows: int, graphs: int | None) -> int:
    """Write a report: what was seen, what limited it, what to change.

    The page is one file that loads nothing from anywhere. It says what could not be judged and why,
    where the time and the bytes went by limitation, and which connections would gain most. It shows
    distributions, hosts, the quality of the data, and the argument for the connections that matter
    most.
    """
    from tcpwhy.report import write
    from tcpwhy.report.contents import gather
    from tcpwhy.report.source import open_source

    write.check(target)
    with open_source(source, watch=partial(progress_of, shown=True)) as opened:
        contents = gather(opened, flows=flows, graphs=graphs, study=study)
    if contents.damage and not contents.span.flows:
        raise contents.damage[0]
    if not contents.span.flows:
        raise UsageError(f"{source}: there is no TCP connection in it to report on")
    write.write(contents, target)
    for error in contents.damage:
        click.echo(f"tcpwhy: {error}", err=True)
    return contents.damage[0].exit_code if contents.damage else 0
