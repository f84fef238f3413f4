"""Asks the database which rows break a rule."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import duckdb

from consistency.rules import RULES, Rule

VIEWS = Path(__file__).with_name("views.sql")


class Result(NamedTuple):
    """What a rule found."""

    rule: Rule
    broken: int
    """Rows that break it."""
    example: str | None
    """Where the first of them is."""


def check(connection: duckdb.DuckDBPyConnection, names: set[str] | None = None) -> list[Result]:
    """Hold the rows against the rules, or against those with these names."""
    connection.execute(VIEWS.read_text("utf-8"))
    return [result(connection, rule) for rule in RULES if names is None or rule.name in names]


def result(connection: duckdb.DuckDBPyConnection, rule: Rule) -> Result:
    """Count the rows that break a rule."""
    where = "concat_ws(' ', tap, flow_id, direction)"
    query = f"SELECT count(*), min({where}) FROM {rule.table} WHERE {rule.predicate}"
    broken, example = connection.execute(query).fetchall()[0]
    return Result(rule, broken, example)
