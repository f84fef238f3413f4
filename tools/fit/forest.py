"""Boosted trees whose leaves hold log-odds of all outputs (Friedman 2001), grown by XGBoost.

The loss is the negative log-likelihood that the answer is among those that are right.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import xgboost

from fit.gather import CLASSES

Array = np.ndarray


class Forest(ABC):
    """Trees, and what they say together."""

    @abstractmethod
    def trees(self) -> list[Tree]:
        """Give the trees with their nodes."""

    @abstractmethod
    def outputs(self, values: Array) -> Array:
        """Add up the log-odds of rows, by output."""

    def logits(self, values: Array) -> Array:
        """Give the log-odds of the answers, of which one has several outputs, as core does."""
        outputs = self.outputs(values)
        answers = outputs[:, : len(CLASSES)].copy()
        own = outputs[:, [STEADY, *range(len(CLASSES), outputs.shape[1])]]
        answers[:, STEADY] = np.logaddexp.reduce(own, axis=1)
        return answers


@dataclass
class Model(Forest):
    """A forest as it was grown."""

    booster: xgboost.Booster
    before: Sequence[Tree] = ()
    """Trees of an earlier fit, onto which these were grown."""

    def outputs(self, values: Array) -> Array:
        """Add up the log-odds of rows, by output."""
        data = xgboost.DMatrix(values)
        if self.before:
            data.set_base_margin(summed(self.before, values))
        return np.asarray(self.booster.predict(data, output_margin=True))

    def trees(self) -> list[Tree]:
        """Give the trees with their nodes; what one says that asks nothing is the last one's."""
        model = json.loads(self.booster.save_raw("json"))["learner"]["gradient_booster"]["model"]
        trees = list(self.before)
        for tree in map(Tree.of, model["trees"]):
            if tree.left[0] < 0 and trees:
                trees[-1] = replace(trees[-1], leaves=trees[-1].leaves + tree.leaves)
            else:
                trees.append(tree)
        return trees


@dataclass
class Tree:
    """Nodes by number; the root is number 0."""

    column: Array
    threshold: Array
    """Values below it go left."""
    unknown_goes_left: Array
    left: Array
    """The left child; -1 in a leaf."""
    right: Array
    """The right child; in a leaf the row of `leaves`."""
    weight: Array
    """How much of the fit passed a node."""
    leaves: Array

    @classmethod
    def of(cls, kept: dict[str, list[float]]) -> Tree:
        """Read a tree as XGBoost keeps it."""
        left = np.array(kept["left_children"], int)
        count = int((left < 0).sum())
        return cls(
            np.array(kept["split_indices"], int),
            np.array(kept["split_conditions"], np.float32),
            np.array(kept["default_left"], bool),
            left,
            np.array(kept["right_children"], int),
            np.array(kept["sum_hessian"]),
            np.array(kept["leaf_weights"], np.float32).reshape(count, -1),
        )

    def share_left(self, node: int) -> float:
        """Give the part of what passed a node that went left."""
        left, right = self.weight[self.left[node]], self.weight[self.right[node]]
        return float(left / max(left + right, 1e-9))

    def outputs(self, values: Array) -> Array:
        """Give what the leaf of each row says."""
        return np.asarray(self.leaves[self.reached(values)])

    def reached(self, values: Array) -> Array:
        """Give the leaf of each row, by its number."""
        rows, at = np.arange(len(values)), np.zeros(len(values), int)
        while True:
            is_inner = self.left[at] >= 0
            if not is_inner.any():
                return np.asarray(self.right[at])
            asked = values[rows, self.column[at]]
            is_known = ~np.isnan(asked)
            goes_left = np.where(is_known, asked < self.threshold[at], self.unknown_goes_left[at])
            at = np.where(is_inner, np.where(goes_left, self.left[at], self.right[at]), at)


def summed(trees: Sequence[Tree], values: Array) -> Array:
    """Add up what trees say of rows, by output."""
    total = np.zeros((len(values), trees[0].leaves.shape[1]), np.float32)
    for tree in trees:
        total += tree.outputs(values)
    return total


def softmax(logits: Array) -> Array:
    """Make chances of log-odds."""
    raised = np.exp(logits - logits.max(1, keepdims=True))
    return np.asarray(raised / raised.sum(1, keepdims=True))


@dataclass
class Wanted:
    """What is wanted of rows."""

    sets: Array
    """What is right of each row, by output."""
    mains: Array
    share: Array

    @classmethod
    def of(cls, right: Array, main: Array, weight: Array) -> Wanted:
        """Put it together, by the names of `fit`."""
        mains = np.eye(right.shape[1], dtype=np.float32)[main]
        return cls(right.astype(np.float32), mains, weight.astype(np.float32)[:, None])

    def slopes(self, margin: Array, _: xgboost.DMatrix | None = None) -> tuple[Array, Array]:
        """Give the slope and the curvature of the loss at these log-odds."""
        chance = softmax(margin)
        within = chance * self.sets
        within /= within.sum(1, keepdims=True) + 1e-9
        # Mostly any right answer will do, and a little the main one is to be preferred.
        wanted = SET * within + (1 - SET) * self.mains
        curve = np.maximum(chance * (1 - chance), 1e-3)
        return self.share * (chance - wanted), self.share * curve


def dealt(count: int) -> list[Array]:
    """Deal rows out to parts: which ones each has."""
    deal = np.random.default_rng(1).integers(PARTS, size=count)
    return [deal == number for number in range(PARTS)]


def fit(
    values: Array,
    right: Array,
    main: Array,
    weight: Array,
    workers: int,
    before: Sequence[Tree] = (),
    rounds: int | None = None,
) -> Model:
    """Grow the forest; `right` tells which outputs are, `main` which is the first.

    Onto the trees `before`, which count a little less then, grow a few more: they mend what those
    say wrong of these rows. Each tree grows on one part of the rows, in turns.
    """
    if rounds is None:
        rounds = ROUNDS_ONTO if before else ROUNDS
    margin = ONTO * summed(before, values) if before else None
    parts = []
    for mine in dealt(len(values)):
        data = xgboost.QuantileDMatrix(values[mine], label=main[mine], max_bin=BINS)
        if margin is not None:
            data.set_base_margin(margin[mine])
        parts.append((data, Wanted.of(right[mine], main[mine], weight[mine])))
    settings = SETTINGS | {"nthread": workers, "num_target": right.shape[1]}
    booster = xgboost.Booster(settings, [data for data, _ in parts])
    for number in range(rounds):
        booster.set_param("eta", FIRST_RATE * (LAST_RATE / FIRST_RATE) ** (number / rounds))
        data, wanted = parts[number % PARTS]
        booster.update(data, number, fobj=wanted.slopes)
    return Model(booster, [replace(tree, leaves=ONTO * tree.leaves) for tree in before])


STEADY = CLASSES.index("unshared_bottleneck")
"""The output of a link of one's own with a steady rate; the last are of those that vary."""
SET = 0.8
BINS = 64
PARTS = 3
"""Parts of the rows: a tree costs as many rows as it sees, and the next one sees others."""
ROUNDS = 400
FIRST_RATE, LAST_RATE = 0.25, 0.08
"""What a tree counts: the first ones say what is plain, and the last ones mend it."""
ROUNDS_ONTO = 155
ONTO = 0.85
"""What earlier trees count for: those that grow onto them say the rest, and much of it anew."""
SETTINGS = {
    "tree_method": "hist",
    "multi_strategy": "multi_output_tree",
    "max_bin": BINS,
    "max_depth": 6,
    "min_child_weight": 5,
    "reg_lambda": 5,
    "colsample_bynode": 0.25,
    "base_score": 0,
    "disable_default_eval_metric": 1,
    "seed": 1,
}
