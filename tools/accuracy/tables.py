"""The arithmetic: rates, precision and recall, confusion, calibration, errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import NamedTuple, TypeVar

from accuracy.judged import CLASSES, Capacity, Judged, Shares
from accuracy.remedies import Prediction

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)
NONE = "(none)"


class Rate(NamedTuple):
    """So many of so many."""

    right: int
    total: int

    @property
    def share(self) -> float | None:
        """The share that is right; None of nothing."""
        return self.right / self.total if self.total else None


class ClassRates(NamedTuple):
    """How well one class is found."""

    name: str
    recall: Rate
    """Of what is of this class, what was answered rightly."""
    precision: Rate
    """Of what was answered with this class, what is right."""


class Tree(NamedTuple):
    """One of the two ways to an answer."""

    words: str
    answer: Callable[[Judged], str | None]
    is_right: Callable[[Judged], bool]


OURS = Tree("refined", lambda row: row.limitation, lambda row: row.is_right)
PAPER = Tree("paper's tree", lambda row: row.paper, lambda row: row.is_paper_right)


def rate(rows: Iterable[T], is_right: Callable[[T], bool]) -> Rate:
    """How many of the rows are right."""
    marks = [is_right(row) for row in rows]
    return Rate(sum(marks), len(marks))


def rates_by(
    rows: Iterable[T], key: Callable[[T], K], is_right: Callable[[T], bool]
) -> dict[K, Rate]:
    """The same, group by group."""
    groups: dict[K, list[T]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return {name: rate(group, is_right) for name, group in groups.items()}


def mean_share(rates: Iterable[Rate]) -> float | None:
    """The mean of the shares, each counted once."""
    shares = [rate.share for rate in rates if rate.share is not None]
    return sum(shares) / len(shares) if shares else None


def class_rates(
    rows: Sequence[Judged],
    expected: Callable[[Judged], str],
    answer: Callable[[Judged], str | None],
    is_right: Callable[[Judged], bool],
) -> dict[str, ClassRates]:
    """Precision and recall of every class that is expected or answered."""
    recalls = rates_by(rows, expected, is_right)
    precisions = rates_by(rows, lambda row: answer(row) or NONE, is_right)
    nothing = Rate(0, 0)
    return {
        name: ClassRates(name, recalls.get(name, nothing), precisions.get(name, nothing))
        for name in sorted({*recalls, *precisions})
    }


def confusion(
    rows: Iterable[Judged], answer: Callable[[Judged], str | None]
) -> tuple[list[str], list[str], Counter[tuple[str, str]]]:
    """Expected limitations, answers, and how often each met each.

    An answer that the scenario accepts beside the expected one counts where it was given, so that
    not all off the diagonal is wrong.
    """
    counts = Counter((row.expected_limitation, answer(row) or NONE) for row in rows)
    return sorted({row for row, _ in counts}), sorted({column for _, column in counts}), counts


def calibration(rows: Iterable[Judged]) -> dict[str, Rate]:
    """How often answers of each confidence are right."""
    found = rates_by(rows, lambda row: row.confidence or NONE, lambda row: row.is_right)
    return {name: found[name] for name in ("high", "medium", "low", NONE) if name in found}


def share_errors(rows: Sequence[Shares]) -> dict[str, float]:
    """Mean absolute error of each class's share of the time, in percentage points."""
    if not rows:
        return {}
    return {
        name: 100 * sum(abs(row.found[i] - row.true[i]) for row in rows) / len(rows)
        for i, name in enumerate(CLASSES)
    }


def share_errors_by_name(rows: Iterable[Shares]) -> dict[str, dict[str, float]]:
    """The same, scenario by scenario."""
    groups: dict[str, list[Shares]] = {}
    for row in rows:
        groups.setdefault(row.name, []).append(row)
    return {name: share_errors(group) for name, group in groups.items()}


def capacity_rate(rows: Iterable[Capacity]) -> tuple[Rate, int]:
    """Capacities within 10 % of those given, and how many were not given."""
    found = list(rows)
    given = [row for row in found if row.found_bps is not None]
    return rate(given, is_capacity_near), len(found) - len(given)


def is_capacity_near(row: Capacity) -> bool:
    """Whether a capacity is within 10 % of what was configured."""
    near = 0.10 * row.configured_bps
    return row.found_bps is not None and abs(row.found_bps - row.configured_bps) <= near


def pair_rate(rows: Iterable[Prediction], is_right: Callable[[Prediction], bool]) -> Rate:
    """Pairs of which most taps predict rightly."""
    taps = rates_by(rows, lambda row: (row.name, row.path), is_right)
    return rate(taps.values(), lambda tap: 2 * tap.right > tap.total)


def worst(rows: Iterable[Judged], most: int) -> list[tuple[str, str, Rate, str]]:
    """Where answers are wrong: name, expected, rate, and the wrong answers with their counts."""
    groups: dict[tuple[str, str], list[Judged]] = {}
    for row in rows:
        groups.setdefault((row.name, row.expected), []).append(row)
    found = []
    for (name, expected), group in groups.items():
        wrong = Counter(row.cause or NONE for row in group if not row.is_right)
        if wrong:
            words = ", ".join(f"{cause} {count}" for cause, count in wrong.most_common(3))
            found.append((name, expected, rate(group, lambda row: row.is_right), words))
    return sorted(found, key=lambda row: (row[2].right - row[2].total, row[0]))[:most]


def grid(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; numbers are not aligned, readers' programs do that."""
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) if len(lines) > 2 else "None."


def share(rate: Rate) -> str:
    """Write a rate as a percentage; nothing of nothing."""
    return "" if rate.share is None else f"{100 * rate.share:.1f} %"
