"""Writes docs/reference from the registries: tables and counters of the core, the commands.

With --check it only says which pages are not current.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from tcpwhy import _core
from tcpwhy.cli import tcpwhy
from tcpwhy.store import Sink, Store

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "reference"

SQL_TYPES = {"Utf8": "text", "Boolean": "boolean", "Float64": "double"}


def pages() -> dict[str, str]:
    """Give each page by its name."""
    made = {"tables.md": tables(), "counters.md": counters(), "commands.md": commands()}
    note = "<!-- Made by `make docs` from the code; change it there. -->\n\n"
    return {name: note + "\n".join(lines) + "\n" for name, lines in made.items()}


def tables() -> Iterator[str]:
    """Document every column."""
    yield from ["# Tables", ""]
    yield "Times are in ns, sizes in bytes, rates in bit/s, as the end of the name says."
    yield "Unknown is NULL, never 0. Addresses are text. In a store each table has a column `date`."
    for name, columns in _core.schemas():
        yield from ["", f"## {name}", "", "| column | type | NULL | meaning |", "|---|---|---|---|"]
        for column, kind, nullable, doc in columns:
            kind = SQL_TYPES.get(kind, kind.lower())
            yield f"| `{column}` | {kind} | {'yes' if nullable else ''} | {_cell(doc)} |"


def counters() -> Iterator[str]:
    """Document every counter."""
    yield from ["# Counters", ""]
    yield "Every bound that bites and every frame that is not analysed is counted."
    yield "The overview shows those that are not zero; the `counters` table has all."
    yield from ["", "| counter | counts |", "|---|---|"]
    for name, doc in _core.counters():
        yield f"| `{name}` | {_cell(doc)} |"


def commands() -> Iterator[str]:
    """Document every command and option, and the stored questions."""
    context = click.Context(tcpwhy, info_name="tcpwhy")
    yield from ["# Commands", "", _prose(tcpwhy.help)]
    for name in tcpwhy.list_commands(context):
        command = tcpwhy.get_command(context, name)
        assert command is not None
        inner = click.Context(command, info_name=name, parent=context)
        yield from ["", f"## tcpwhy {name}", "", _prose(command.help), "", "```"]
        yield f"{inner.command_path} {' '.join(command.collect_usage_pieces(inner))}"
        yield "```"
        yield from _options(command, inner)
        if name == "query":
            yield from _questions()


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    options = [parameter for parameter in command.params if isinstance(parameter, click.Option)]
    records = [option.get_help_record(context) for option in options]
    yield from ["", "| option | meaning |", "|---|---|"]
    for record in filter(None, records):
        yield f"| `{_cell(record[0])}` | {_cell(record[1])} |"


def _questions() -> Iterator[str]:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        Sink(folder, ()).close()
        questions = Store(folder).questions()
    yield from ["", "| stored question | answers |", "|---|---|"]
    for name, doc in questions.items():
        yield f"| `{name}` | {_cell(doc)} |"


def _cell(text: str) -> str:
    """Keep a text within its cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def _prose(text: str | None) -> str:
    return "\n\n".join(" ".join(part.split()) for part in (text or "").split("\n\n")).strip()


def stale() -> list[str]:
    """Name the pages that are not what the code would make."""
    read = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.md")}
    made = pages()
    return sorted(name for name in made.keys() | read.keys() if made.get(name) != read.get(name))


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit("\n".join(f"not current: docs/reference/{name}" for name in stale()) or 0)
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
