"""A rule: what can never be, as a predicate over the columns of a table or a view."""

from __future__ import annotations

from typing import NamedTuple


class Rule(NamedTuple):
    """What can never be."""

    name: str
    table: str
    """The table or view whose rows it is about."""
    says: str
    """What is wrong with a row that the predicate holds for, as a sentence."""
    predicate: str
