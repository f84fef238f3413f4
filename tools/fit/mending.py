"""Gives the leaves of a grown forest new values, each in view of all the other trees.

A tree that is grown mends what the trees before it left, and knows none that come after it: of a
forest that grew onto forests many leaves say what others have said since, or what chance told
them of few rows. So the trees are gone through again, and each leaf moves by a step of Newton's
for all rows that reach it (fully corrective boosting, as in Johnson and Zhang 2014, section 3).
What the trees ask stays, so nothing gets larger or slower by it.

In a second stage leaves are drawn to zero as well, as in a ridge regression: what few worlds say
is said less. Leaves of an earlier fit are drawn to what they said, since they had learned from rows
that are not there again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fit import forest
from fit.forest import Array, Tree, Wanted


@dataclass
class Stage:
    """Turns of all trees, and how their leaves move in them."""

    passes: int
    first_rate: float
    """Share of a step that is taken in the beginning: many leaves speak of the same rows,"""
    last_rate: float
    """and in the end."""
    held: float
    """Curvature that holds a leaf where it is: of few rows it learns little."""
    ridge: float
    """Curvature that draws a leaf to zero."""
    kept: float = 0
    """Curvature of a whole tree of an earlier fit that draws its leaves to what they said. It is
    dealt out by the rows that each leaf has had."""


@dataclass
class Mended(forest.Forest):
    """A forest whose leaves say something else than they grew to say."""

    kept: list[Tree]

    def trees(self) -> list[Tree]:
        """Give the trees with their nodes."""
        return self.kept

    def outputs(self, values: Array) -> Array:
        """Add up the log-odds of rows, by output."""
        return forest.summed(self.kept, values)


@dataclass
class Part:
    """Rows, the leaf of each in every tree, and what all trees say of them."""

    wanted: Wanted
    reached: list[Array]
    margin: Array

    @classmethod
    def of(cls, trees: Sequence[Tree], values: Array, wanted: Wanted) -> Part:
        """Ask the trees about rows."""
        reached = [
            tree.reached(values).astype(np.min_scalar_type(len(tree.leaves))) for tree in trees
        ]
        margin = np.zeros_like(wanted.sets)
        for tree, leaf in zip(trees, reached, strict=True):
            margin += tree.leaves[leaf]
        return cls(wanted, reached, margin)

    def step(self, tree: int, leaves: Array, said: Array, kept: Array, stage: Stage) -> Array:
        """Give a whole step of Newton's for each leaf of a tree, by output.

        A leaf `said` something before, and `kept` draws it there.
        """
        leaf, slopes = self.reached[tree], self.wanted.slopes(self.margin)
        slope, curve = (by_group(each, leaf, len(leaves)) for each in slopes)
        drawn = slope + stage.ridge * leaves + kept * (leaves - said)
        return np.asarray(-drawn / (curve + stage.held + stage.ridge + kept))


def had(tree: Tree) -> Array:
    """Give the share of the rows of a tree that each of its leaves has had, as a column."""
    is_leaf = tree.left < 0
    share = np.zeros((len(tree.leaves), 1))
    share[tree.right[is_leaf], 0] = tree.weight[is_leaf] / tree.weight[is_leaf].sum()
    return share


def by_group(values: Array, group: Array, groups: int) -> Array:
    """Sum up each column by group."""
    return np.stack([np.bincount(group, column, groups) for column in values.T], axis=1)


def mended(
    trees: Sequence[Tree],
    values: Array,
    right: Array,
    main: Array,
    weight: Array,
    earlier: int = 0,
    stages: Sequence[Stage] | None = None,
) -> Mended:
    """Go through the trees again and again, by the names of `forest.fit`.

    The first ones are of an `earlier` fit. A step looks at one part of the rows, in turns, as a
    tree does when it grows. The leaves that rows reach are kept: a byte for each row and tree.
    """
    parts = [
        Part.of(trees, values[mine], Wanted.of(right[mine], main[mine], weight[mine]))
        for mine in forest.dealt(len(values))
    ]
    leaves = [tree.leaves.copy() for tree in trees]
    for number, (at, rate, stage) in enumerate(turns(len(trees), stages or STAGES)):
        kept = stage.kept * had(trees[at]) if at < earlier else np.zeros((1, 1))
        step = parts[number % len(parts)].step(at, leaves[at], trees[at].leaves, kept, stage)
        moved = (rate * step).astype(np.float32)
        leaves[at] += moved
        for part in parts:
            part.margin += moved[part.reached[at]]
    pairs = zip(trees, leaves, strict=True)
    return Mended([replace(tree, leaves=np.clip(mine, -MOST, MOST)) for tree, mine in pairs])


def without_least(trees: Sequence[Tree], values: Array, count: int) -> list[Tree]:
    """Leave out the trees that say least of rows, those whose log-odds differ least between them.

    Once all leaves are mended, the first trees of a forest that grew onto forests say little.
    """
    said = [float(tree.outputs(values).var(axis=0).sum()) for tree in trees]
    least = set(np.argsort(said, kind="stable")[:count].tolist())
    return [tree for number, tree in enumerate(trees) if number not in least]


def turns(trees: int, stages: Sequence[Stage]) -> Iterator[tuple[int, float, Stage]]:
    """Give the trees in the order of their turns, each with its share of a step."""
    chance = np.random.default_rng(2)
    for stage in stages:
        order = np.concatenate([chance.permutation(trees) for _ in range(stage.passes)])
        rates = np.geomspace(stage.first_rate, stage.last_rate, len(order))
        for at, rate in zip(order.tolist(), rates.tolist(), strict=True):
            yield at, rate, stage


MOST = 1.0
"""No leaf says more, in log-odds: those that did spoke of few rows, and against each other."""
STAGES = (
    Stage(passes=4, first_rate=0.2, last_rate=0.05, held=20, ridge=0),
    Stage(passes=2, first_rate=0.3, last_rate=0.1, held=5, ridge=150),
)
ANEW = (Stage(passes=2, first_rate=0.2, last_rate=0.05, held=20, ridge=0, kept=30_000),)
"""For trees that were mended before and are to learn of other worlds besides."""
