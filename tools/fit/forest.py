"""Boosted trees whose leaves hold log-odds of all outputs (Friedman 2001), grown by XGBoost.

The loss is the negative log-likelihood that the answer is among those that are right.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import xgboost

from fit.gather import CLASSES

Array = np.ndarray


@dataclass
class Model:
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

    def logits(self, values: Array) -> Array:
        """Give the log-odds of the answers, of which one has several outputs, as core does."""
        outputs = self.outputs(values)
        answers = outputs[:, : len(CLASSES)].copy()
        own = outputs[:, [STEADY, *range(len(CLASSES), outputs.shape[1])]]
        answers[:, STEADY] = np.logaddexp.reduce(own, axis=1)
        return answers

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
        """Give the leaf of each row."""
        rows, at = np.arange(len(values)), np.zeros(len(values), int)
        while True:
            is_inner = self.left[at] >= 0
            if not is_inner.any():
                return np.asarray(self.leaves[self.right[at]])
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


def fit(
    values: Array,
    right: Array,
    main: Array,
    weight: Array,
    workers: int,
    before: Sequence[Tree] = (),
) -> Model:
    """Grow the forest; `right` tells which outputs are, `main` which is the first.

    Onto the trees `before` grow a few more: they mend what those say wrong of these rows.
    """
    sets = right.astype(np.float32)
    mains = np.eye(right.shape[1], dtype=np.float32)[main]
    share = weight.astype(np.float32)[:, None]

    def slopes(margin: Array, _: xgboost.DMatrix) -> tuple[Array, Array]:
        chance = softmax(margin)
        within = chance * sets
        within /= within.sum(1, keepdims=True) + 1e-9
        # Mostly any right answer will do, and a little the main one is to be preferred.
        wanted = SET * within + (1 - SET) * mains
        curve = np.maximum(chance * (1 - chance), 1e-3)
        return share * (chance - wanted), share * curve

    data = xgboost.QuantileDMatrix(values, label=main, max_bin=BINS)
    if before:
        data.set_base_margin(summed(before, values))
    settings = SETTINGS | {"nthread": workers, "num_target": right.shape[1]}
    rounds = ROUNDS_ONTO if before else ROUNDS
    slower = xgboost.callback.LearningRateScheduler(
        [FIRST_RATE * (LAST_RATE / FIRST_RATE) ** (number / rounds) for number in range(rounds)]
    )
    return Model(xgboost.train(settings, data, rounds, obj=slopes, callbacks=[slower]), before)


STEADY = CLASSES.index("unshared_bottleneck")
"""The output of a link of one's own with a steady rate; the last are of those that vary."""
SET = 0.8
BINS = 64
ROUNDS = 400
FIRST_RATE, LAST_RATE = 0.2, 0.06
"""What a tree counts: the first ones say what is plain, and the last ones mend it."""
ROUNDS_ONTO = 160
"""Of 101,400 worlds; of 15,000 more than 30 gave the rows that calibrate 0.06 points at most."""
SETTINGS = {
    "tree_method": "hist",
    "multi_strategy": "multi_output_tree",
    "max_bin": BINS,
    "max_depth": 6,
    "min_child_weight": 5,
    "reg_lambda": 5,
    "subsample": 0.7,
    "colsample_bynode": 0.25,
    "base_score": 0,
    "disable_default_eval_metric": 1,
    "seed": 1,
}
