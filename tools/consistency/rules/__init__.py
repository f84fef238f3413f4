"""The rules: what can never be, each a predicate over the columns of a table or a view.

`verdicts` is the verdict columns of flows, intervals and periods together, with what all three
tables say beside them. The other views are in views.sql.
"""

from consistency.rules import evidence, numbers, verdict
from consistency.rules.rule import Rule

__all__ = ["RULES", "Rule"]

RULES = (*verdict.RULES, *evidence.RULES, *numbers.RULES)
