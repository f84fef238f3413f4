"""The page of counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import duckdb

from consistency.check import Result
from consistency.rows import TABLES, Found
from consistency.rules import RULES

HEAD = """# Consistency

Some things can never be in a row, whatever is true of the connection: a flight of half a window
that is said to have reached it, "no loss" beside losses, a gain beyond the link. `make consistency`
analyses captures and random worlds, and counts the rows of `flows`, `intervals` and `periods` that
say such a thing. Each rule is a predicate in SQL in `tools/consistency/rules`.

{captures} captures ({unreadable} more are no captures that can be read) and {worlds} random worlds
at all their taps gave {rows}.

Where a row contradicts its own answer, `crates/core/src/diagnosis/doubt.rs` makes high confidence
medium, with the same cuts as the rules here. Zeros of `sure_…` and `network_of_a_handful` hold by
that: they show that the cap works, not that the answers are right. The worlds here also showed what
to mend, so they judge nothing."""


def page(found: Found, results: Sequence[Result], counted: Mapping[str, int]) -> str:
    """Give the page."""
    rows_words = ", ".join(f"{counted[table]:,} rows of `{table}`" for table in TABLES)
    head = HEAD.format(
        captures=found.captures,
        unreadable=len(found.unreadable),
        worlds=found.worlds,
        rows=rows_words,
    )
    lines = ["| rule | what is wrong | rows |", "|---|---|---:|"]
    lines += [
        f"| `{result.rule.name}` | {result.rule.says} | {result.broken:,} |" for result in results
    ]
    return head + "\n\n" + "\n".join(lines) + "\n"


def counts(connection: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """Count the rows of each table."""
    return {
        table: connection.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0]
        for table in TABLES
    }


def rows(connection: duckdb.DuckDBPyConnection, name: str, columns: str) -> str:
    """Show rows that break a rule."""
    (rule,) = (rule for rule in RULES if rule.name == name)
    query = f"SELECT tap, direction, {columns} FROM {rule.table} WHERE {rule.predicate} LIMIT 40"
    return "\n".join(str(row) for row in connection.execute(query).fetchall())
