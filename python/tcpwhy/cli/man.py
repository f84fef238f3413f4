"""`tcpwhy man`: the manual pages, made of the help."""

from pathlib import Path

import click

from tcpwhy._core import UsageError, __version__
from tcpwhy.cli._help import Described, man_pages

SECTION = "Help"
EXAMPLES = (
    "# read the manual of a command",
    "tcpwhy man analyze | man -l -",
    "# install all of them",
    "tcpwhy man -o ~/.local/share/man/man1",
)


@click.command("man", cls=Described)
@click.argument("name", required=False, metavar="[COMMAND]")
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Write the pages of all commands there.",
)
def command(name: str | None, output: Path | None) -> None:
    """Print the manual page of a command, or write all of them."""
    from tcpwhy.cli import tcpwhy

    pages = dict(man_pages(tcpwhy, __version__))
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        for file, page in pages.items():
            (output / file).write_text(page, encoding="utf-8")
        click.echo(f"{len(pages)} pages in {output}", err=True)
        return
    file = f"tcpwhy-{name}.1" if name else "tcpwhy.1"
    if file not in pages:
        raise UsageError(f"no command {name!r}: tcpwhy --help lists them")
    click.echo(pages[file], nl=False)
