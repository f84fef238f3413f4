"""Writes what the documentation quotes from the code.

docs/reference comes from the registries: tables and counters of the core, the commands. In the
other pages every `console` block is run again, and shows what its commands print now, and a block
`text FILE` shows the file.

With --check it only says which pages are not current.
"""

import math
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click

import scenario_reference
from tcpwhy import _core
from tcpwhy.cli import tcpwhy
from tcpwhy.model import Parameter, models
from tcpwhy.options import OPTIONS, options_of
from tcpwhy.store import questions
from tcpwhy.vocabulary import REASONS, reasons

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = "docs/reference"
KEYWORDS = "python/tcpwhy/options/keywords.py"

SQL_TYPES = {"Utf8": "text", "Boolean": "boolean", "Float64": "double"}


def pages() -> dict[str, str]:
    """Give every page by its path, as it should be."""
    made = {
        "tables": tables(),
        "counters": counters(),
        "commands": commands(),
        "models": throughput_models(),
        "scenarios": scenario_reference.page(),
    }
    note = "<!-- Made by `make docs` from the code; change it there. -->\n"
    pages = {
        f"{REFERENCE}/{name}.md": "\n".join([note, *lines, ""]) for name, lines in made.items()
    }
    pages[KEYWORDS] = keywords()
    block = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)
    quoted = re.compile(r"^(```text (\S+)\n).*?^```$", re.MULTILINE | re.DOTALL)
    for path in written():
        text = path.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            for name in ("tests", "scenarios"):
                Path(folder, name).symlink_to(ROOT / name)
            text = block.sub(lambda old: _session(old[0], folder), text)
        text = quoted.sub(lambda old: old[1] + (ROOT / old[2]).read_text("utf-8") + "```", text)
        pages[str(path.relative_to(ROOT))] = text
    return pages


def written() -> list[Path]:
    """List the pages that people write, which quote what commands print."""
    return [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]


def _session(text: str, folder: str) -> str:
    """Run the commands of a block again, in a folder that has the captures in tests/data."""
    shown = []
    for command in re.findall(r"^\$ (.*)", text, re.MULTILINE):
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        run = ["sh", "-c", f"{command} 2>&1"]
        environment = os.environ | {"PATH": path, "NO_COLOR": "1"}
        done = subprocess.run(
            run, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        shown.append(f"$ {command}\n{done.stdout}")
    return "".join(shown)


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
    for column in REASONS:
        yield from ["", f"## Words of `{column}`", "", "| word | meaning |", "|---|---|"]
        for reason in reasons(column):
            yield f"| `{reason.word}` | {_cell(reason.meaning)} |"


def keywords() -> str:
    """Write the types of the keyword arguments of Python, of the registry of options."""
    types = {"duration": "Duration", "count": "int", "bytes": "int | str", "factor": "float"}
    types |= {"text": "str", "path": "str | PathLike[str]", "flag": "bool"}
    lines = [
        '"""The keyword arguments of runs. Made by `make docs` of the registry of options."""',
        "",
        "from os import PathLike",
        "from typing import Literal, TypedDict",
        "",
        "from tcpwhy.units import Duration",
    ]
    for command in dict.fromkeys(name for option in OPTIONS for name in option.commands):
        lines += ["", "", f"class {command.title()}Options(TypedDict, total=False):"]
        lines += [f'    """Options of `tcpwhy.{command}`."""', ""]
        for option in options_of(command).values():
            choices = ", ".join(f'"{choice}"' for choice in option.choices)
            kind = types.get(option.kind, f"Literal[{choices}]")
            kind = "int | str" if option.name == "flow" else kind
            lines.append(f"    {option.name}: {kind} | None")
    return "\n".join([*lines, ""])


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
    for command, inner in _commands(tcpwhy, context):
        yield from ["", f"## {inner.command_path}", "", _prose(command.help), "", "```"]
        yield f"{inner.command_path} {' '.join(command.collect_usage_pieces(inner))}"
        yield "```"
        yield from _options(command, inner)
        if inner.info_name == "query":
            yield from _questions()


def throughput_models() -> Iterator[str]:
    """Document every model and its parameters."""
    yield from ["# Throughput models", ""]
    yield "`tcpwhy model NAME` on the command line, `tcpwhy.model.predict` in Python, and"
    yield "`tcpwhy_core::model` in Rust. [models.md](../models.md) shows how to use them."
    yield "All answer with a rate of payload in bit/s, or with the reason why there is none."
    for name, model in models().items():
        yield from ["", f"## {name}", "", model.doc, "", "```", model.formula, "```", ""]
        yield from [f"Source: {model.source}.", "", "Holds when", ""]
        yield from [f"- {condition}" for condition in model.conditions]
        yield from ["", "| parameter | default | allowed | meaning |", "|---|---|---|---|"]
        for parameter in model.parameters:
            cells = (_default(parameter), parameter.allowed, parameter.doc)
            yield f"| `{parameter.name}` | {' | '.join(map(_cell, cells))} |"


def _default(parameter: Parameter) -> str:
    if parameter.default is None:
        return parameter.derived or "required"
    if parameter.choices:
        return parameter.choices[int(parameter.default)]
    return "no limit" if math.isinf(parameter.default) else f"{parameter.default:,.10g}"


def _commands(
    group: click.Group, context: click.Context
) -> Iterator[tuple[click.Command, click.Context]]:
    """Give every command with its context, those of groups too."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        inner = click.Context(command, info_name=name, parent=context)
        yield command, inner
        if isinstance(command, click.Group):
            yield from _commands(command, inner)


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    options = [parameter for parameter in command.params if isinstance(parameter, click.Option)]
    records = [option.get_help_record(context) for option in options]
    if not any(records):
        return
    yield from ["", "| option | meaning |", "|---|---|"]
    for record in filter(None, records):
        yield f"| `{_cell(record[0])}` | {_cell(record[1])} |"


def _questions() -> Iterator[str]:
    yield from ["", "| stored question | answers |", "|---|---|"]
    for name, doc in questions().items():
        yield f"| `{name}` | {_cell(doc)} |"


def _cell(text: str) -> str:
    """Keep a text within its cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def _prose(text: str | None) -> str:
    return "\n\n".join(" ".join(part.split()) for part in (text or "").split("\n\n")).strip()


def stale() -> list[str]:
    """Name the pages that are not what the code would make."""
    paths = [*written(), ROOT / KEYWORDS, *(ROOT / REFERENCE).glob("*.md")]
    read = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in paths}
    made = pages()
    return sorted(name for name in made.keys() | read.keys() if made.get(name) != read.get(name))


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit("\n".join(f"not current: {name}" for name in stale()) or 0)
    (ROOT / REFERENCE).mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (ROOT / name).write_text(text, encoding="utf-8")
