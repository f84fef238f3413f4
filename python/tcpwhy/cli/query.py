"""`tcpwhy query`: questions to a store."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tcpwhy.cli._help import Described
from tcpwhy.cli._options import INPUT
from tcpwhy.sinks import format_of, output
from tcpwhy.store import Store, explained, questions
from tcpwhy.store.files import COPY_OPTIONS, write_answer
from tcpwhy.terminal import fits, grid, records, room, width

if TYPE_CHECKING:
    import duckdb


def _stored(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Complete the names of stored questions."""
    return [name for name in questions() if name.startswith(incomplete)]


SECTION = "Stores"
EXAMPLES = (
    "# the stored questions",
    "tcpwhy query store/",
    "# one of them",
    "tcpwhy query store/ worst_flows",
    "# one's own, in SQL",
    "tcpwhy query store/ 'SELECT limitation, count(*) FROM flows GROUP BY 1'",
)


@click.command("query", cls=Described)
@click.argument("store", type=INPUT)
@click.argument("question", required=False, metavar="[NAME|SQL]", shell_complete=_stored)
@click.option(
    "--format",
    type=click.Choice(["table", *COPY_OPTIONS]),
    help="Format of the answer.  [default: by the suffix of PATH, else table]",
)
@click.option("-o", "--output", "target", default="-", metavar="PATH", help="Where to write.")
def command(store: str, question: str | None, format: str | None, target: str) -> None:
    """Ask a store a stored question, or one of your own in SQL (DuckDB's).

    Without a question, the stored ones are listed. The tables are views: flows, intervals,
    periods, segments, counters. An answer of few rows that is too wide for a table is written
    value by value.
    """
    suffix = "" if target == "-" else Path(target).suffix
    chosen = format or (format_of(suffix) if suffix else "table")
    opened = Store(store)
    if question is None:
        _print(["question", "answers"], list(questions().items()), "-")
        return
    answer = opened.query(question)
    with explained(opened.path):
        if chosen == "table":
            is_own = question not in questions()
            _print(answer.columns, _readable(answer).fetchall(), target, is_own=is_own)
        else:
            _write(answer, chosen, target)


def _readable(answer: "duckdb.DuckDBPyRelation") -> "duckdb.DuckDBPyRelation":
    """Make texts of times with a zone, for which Python would need another package."""
    kinds = [str(kind) == "TIMESTAMP WITH TIME ZONE" for kind in answer.types]
    if not any(kinds):
        return answer
    quoted = [name.replace('"', '""') for name in answer.columns]
    columns = (
        f'"{name}"::VARCHAR AS "{name}"' if zoned else f'"{name}"'
        for name, zoned in zip(quoted, kinds, strict=True)
    )
    return answer.project(", ".join(columns))


FEW = 20
"""Rows up to which an answer that is too wide for a table is written value by value."""


def _print(
    names: Sequence[str], rows: Sequence[Sequence[object]], target: str, *, is_own: bool = False
) -> None:
    stream = sys.stdout if target == "-" else None
    # Whoever asked for these columns wants to read them.
    is_wide = is_own and 0 < len(rows) <= FEW and not fits(names, rows, width(stream))
    lines = records(names, rows, width(stream)) if is_wide else grid(names, rows, room(stream))
    with output(target) as out:
        out.write("".join(f"{line}\n" for line in lines).encode())


def _write(answer: "duckdb.DuckDBPyRelation", format: str, target: str) -> None:
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory(prefix="tcpwhy-") as folder:
        path = Path(folder, "answer")
        write_answer(answer, path, format=format)
        with path.open("rb") as file, output(target) as out:
            shutil.copyfileobj(file, out)
