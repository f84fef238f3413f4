"""Fits what the intervals before and after one say of it: a linear step to log-odds.

It is a multinomial logistic regression (McCullagh and Nelder 1989, section 5.2). It rests on the
log-chances that the trees give an interval, and on the mean chances of those before and after it. A
ridge holds it to where it would change nothing. It is fitted on intervals that the trees were not
fitted on: of those they are sure of too much.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize

from fit.forest import SET, Array, Wanted, softmax
from fit.gather import Rows


@dataclass
class Neighbours:
    """What is known of intervals: a row of numbers for each, and whether it is there."""

    own: Array
    """Log-chances."""
    before: Array
    """Mean chances of the intervals before, the newest weighing most; 0 where there are none."""
    after: Array
    """Mean chances of the next few; 0 where there are none."""
    has: Array
    """Whether there are intervals before, and after."""

    @classmethod
    def of(cls, rows: Rows, logits: Array) -> Neighbours:
        """Take the log-odds of the trees. Intervals with no answer are passed over."""
        chances = softmax(logits)
        count = len(chances)
        before, after = np.zeros((2, *chances.shape), np.float32)
        has = np.zeros((count, 2), np.bool_)
        ends = np.flatnonzero(np.append(rows.series[1:] != rows.series[:-1], True)) + 1
        first = 0
        for end in ends.tolist():
            told = first + np.flatnonzero(rows.told[first:end] != "")
            mean = None
            for at, number in enumerate(told.tolist()):
                if mean is not None:
                    before[number], has[number, 0] = mean, True
                mean = chances[number] if mean is None else mean + NEWEST * (chances[number] - mean)
                later = told[at + 1 : at + 1 + LATER]
                if len(later):
                    after[number], has[number, 1] = chances[later].mean(0), True
            first = end
        return cls(np.log(np.maximum(chances, LEAST)), before, after, has)

    def columns(self) -> Array:
        """Put all numbers beside each other, in the order of the weights."""
        none = ~self.has
        parts = [self.own, self.before, none[:, :1], self.after, none[:, 1:]]
        return np.column_stack([*parts, np.ones(len(self.own))]).astype(np.float64)

    def those(self, which: Array) -> Neighbours:
        """Keep some intervals."""
        return replace(
            self,
            own=self.own[which],
            before=self.before[which],
            after=self.after[which],
            has=self.has[which],
        )


@dataclass
class Step:
    """The step as fitted: what each number adds to the log-odds of each answer."""

    weights: Array
    """One row for each column of `Neighbours`."""

    def logits(self, neighbours: Neighbours) -> Array:
        """Give the log-odds of the answers."""
        return np.asarray(neighbours.columns() @ self.weights)


def fit(neighbours: Neighbours, right: Array, main: Array, weight: Array) -> Step:
    """Fit the step, by the names of `forest.fit`."""
    columns = neighbours.columns()
    start = nothing(columns.shape[1], right.shape[1])
    if not len(main):
        return Step(start)
    wanted = Wanted.of(right, main, weight / weight.mean())

    def loss(flat: Array) -> tuple[float, Array]:
        weights = flat.reshape(start.shape)
        margin = columns @ weights
        chance = softmax(margin)
        held = np.log((chance * wanted.sets).sum(1) + 1e-12)
        first = np.log((chance * wanted.mains).sum(1) + 1e-12)
        moved = weights - start
        value = -(wanted.share[:, 0] * (SET * held + (1 - SET) * first)).sum()
        slope = columns.T @ wanted.slopes(margin)[0] + RIDGE * moved
        return float(value + RIDGE / 2 * (moved**2).sum()), slope.ravel()

    found = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 500})
    return Step(found.x.reshape(start.shape))


def nothing(columns: int, answers: int) -> Array:
    """Give the weights that leave the chances of the trees as they are."""
    weights = np.zeros((columns, answers))
    weights[:answers] = np.eye(answers)
    return weights


NEWEST = 0.25
"""Weight of the newest interval in the mean of those before."""
LATER = 5
"""Intervals that are waited for."""
LEAST = 1e-4
RIDGE = 5.0
