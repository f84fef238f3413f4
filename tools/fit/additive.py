"""An additive model with pairs: one table of log-odds for each item, and one for some pairs.

The loss is the negative log-likelihood that the answer is among those that are right. A table is
smooth: neighbouring bins are drawn together (P-splines: Eilers, Marx 1996), and all bins to zero.
Pairs are chosen by how much of the residual they explain (GA2M: Lou et al., KDD 2013).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from scipy import sparse
from scipy.optimize import minimize

Array = np.ndarray


@dataclass
class Bins:
    """How each item is cut: bin 0 is for no value, bin b for values from edge b - 1 on."""

    edges: list[Array]

    def cut(self, values: Array) -> Array:
        """Give the bin of each value."""
        found = np.zeros(values.shape, np.uint8)
        for item, edges in enumerate(self.edges):
            column = values[:, item]
            known = ~np.isnan(column)
            found[known, item] = 1 + np.searchsorted(edges, column[known], side="right")
        return found

    def count(self, item: int) -> int:
        """Say how many bins an item has."""
        return len(self.edges[item]) + 2


def bins_of(values: Array, most: int) -> Bins:
    """Cut each item at quantiles, so that bins hold as much as they can alike."""
    edges = []
    for column in values.T:
        known = column[~np.isnan(column)]
        if not len(known):
            edges.append(np.zeros(0, np.float32))
            continue
        at = np.quantile(known, np.linspace(0, 1, most + 1)[1:-1], method="lower")
        found = np.unique(np.append(at, known.min()))
        edges.append(found[found > known.min()].astype(np.float32))
    return Bins(edges)


@dataclass
class Term:
    """The table of an item, or of two: `table[bin]` or `table[coarse bin, coarse bin]`."""

    items: tuple[int, ...]
    coarse: tuple[Array, ...]
    """For each item the coarse bin of each bin."""
    sizes: tuple[int, ...]
    table: Array = field(default_factory=lambda: np.zeros(0))

    def cells(self, binned: Array) -> Array:
        """Give the cell of each row in the flattened table."""
        cell = np.zeros(len(binned), np.int64)
        for item, coarse, size in zip(self.items, self.coarse, self.sizes, strict=True):
            cell = cell * size + coarse[binned[:, item]]
        return cell

    @property
    def cells_count(self) -> int:
        """Say how many cells the table has."""
        return int(np.prod(self.sizes))


@dataclass
class Model:
    """Terms and what each class has at the outset."""

    bins: Bins
    terms: list[Term]
    offset: Array

    def logits(self, binned: Array) -> Array:
        """Add up the log-odds of rows."""
        found = np.tile(self.offset, (len(binned), 1))
        for term in self.terms:
            found += term.table[term.cells(binned)]
        return found


def single(bins: Bins, item: int) -> Term:
    """Make the term of an item."""
    count = bins.count(item)
    return Term((item,), (np.arange(count),), (count,))


def pair(bins: Bins, a: int, b: int, most: int) -> Term:
    """Make the term of two items, each cut into fewer bins."""
    coarse = tuple(coarsened(bins.count(item), most) for item in (a, b))
    return Term((a, b), coarse, tuple(int(each.max()) + 1 for each in coarse))


def coarsened(count: int, most: int) -> Array:
    """Join bins; the one for no value stays apart."""
    if count <= most + 1:
        return np.arange(count)
    joined = 1 + (np.arange(count - 1) * most) // (count - 1)
    return np.concatenate([[0], joined])


def fit(
    bins: Bins,
    terms: list[Term],
    binned: Array,
    right: Array,
    main: Array,
    weight: Array,
    *,
    ridge: float,
    smooth: float,
    rounds: int,
    start: Model | None = None,
) -> Model:
    """Fit the tables of `terms`; `right` tells which answers are, `main` which is the first."""
    classes = right.shape[1]
    firsts = np.concatenate([[0], np.cumsum([term.cells_count for term in terms])])
    rows = np.arange(len(binned))
    columns = np.concatenate(
        [term.cells(binned) + first for term, first in zip(terms, firsts[:-1], strict=True)]
    )
    ones = np.ones(len(columns), np.float32)
    design = sparse.csr_matrix(
        (ones, (np.tile(rows, len(terms)), columns)), (len(rows), int(firsts[-1])), np.float32
    )
    across = design.T.tocsr()
    penalty = penalties(terms, firsts, ridge, smooth)
    total = weight.sum()
    share = (weight / total).astype(np.float32)[:, None]
    sets = right.astype(np.float32)
    mains = np.eye(classes, dtype=np.float32)[main]

    def loss(flat: Array) -> tuple[float, Array]:
        theta = flat.reshape(-1, classes)
        tables = theta[:-1].astype(np.float32)
        logits = design @ tables + theta[-1].astype(np.float32)
        logits -= logits.max(1, keepdims=True)
        chance = np.exp(logits)
        chance /= chance.sum(1, keepdims=True)
        within = chance * sets
        mass = within.sum(1, keepdims=True) + 1e-12
        # Mostly any right answer will do, and a little the main one is to be preferred.
        wanted = SET * within / mass + (1 - SET) * mains
        first = (chance * mains).sum(1, keepdims=True) + 1e-12
        value = -(share * (SET * np.log(mass) + (1 - SET) * np.log(first))).sum()
        slope = share * (chance - wanted)
        pulled = penalty @ theta[:-1]
        gradient = np.vstack([(across @ slope) + pulled, slope.sum(0, keepdims=True)])
        return float(value + 0.5 * (theta[:-1] * pulled).sum()), gradient.ravel().astype(float)

    begin = np.zeros((int(firsts[-1]) + 1, classes))
    if start is not None:
        for term, first in zip(terms, firsts[:-1], strict=True):
            for known in start.terms:
                if known.items == term.items:
                    begin[first : first + term.cells_count] = known.table
        begin[-1] = start.offset
    options = {"maxiter": rounds, "maxcor": 12, "ftol": 1e-7}
    found = minimize(loss, begin.ravel(), jac=True, method="L-BFGS-B", options=options)
    theta = found.x.reshape(-1, classes)
    for term, first in zip(terms, firsts[:-1], strict=True):
        term.table = theta[first : first + term.cells_count]
    return Model(bins, terms, theta[-1])


def penalties(
    terms: Sequence[Term], firsts: Array, ridge: float, smooth: float
) -> sparse.csr_matrix:
    """Say how neighbouring bins are drawn together, those for no value left out."""
    count = int(firsts[-1])
    a: list[Array] = []
    b: list[Array] = []
    for term, first in zip(terms, firsts[:-1], strict=True):
        grid = np.arange(term.cells_count).reshape(term.sizes) + first
        for axis in range(grid.ndim):
            moved = np.moveaxis(grid, axis, 0)[1:]
            a.append(moved[:-1].ravel())
            b.append(moved[1:].ravel())
    left, right = np.concatenate(a), np.concatenate(b)
    edges = np.arange(len(left))
    signs = np.concatenate([np.ones(len(left)), -np.ones(len(left))])
    steps = sparse.csr_matrix(
        (signs, (np.tile(edges, 2), np.concatenate([left, right]))), (len(left), count)
    )
    return (smooth * (steps.T @ steps) + ridge * sparse.identity(count)).tocsr()


def best_pairs(
    model: Model,
    binned: Array,
    right: Array,
    main: Array,
    weight: Array,
    candidates: list[int],
    *,
    most: int,
    count: int,
) -> list[tuple[int, int]]:
    """Give the pairs that explain most of what the model leaves, by a coarse grid of each."""
    chance = softmax(model.logits(binned))
    within = chance * right
    wanted = SET * within / (within.sum(1, keepdims=True) + 1e-12)
    wanted[np.arange(len(main)), main] += 1 - SET
    rest = (wanted - chance) * weight[:, None]
    spread = (chance * (1 - chance)) * weight[:, None]
    scores = []
    for a, b in combinations(candidates, 2):
        term = pair(model.bins, a, b, most)
        cells = term.cells(binned)
        size = term.cells_count
        score = 0.0
        for k in range(rest.shape[1]):
            sums = np.bincount(cells, rest[:, k], size)
            information = np.bincount(cells, spread[:, k], size)
            score += float((sums**2 / (information + PRIOR)).sum())
        scores.append((score, a, b))
    scores.sort(reverse=True)
    return [(a, b) for _, a, b in scores[:count]]


def softmax(logits: Array) -> Array:
    """Turn log-odds into chances."""
    found = np.exp(logits - logits.max(1, keepdims=True))
    chances: Array = found / found.sum(1, keepdims=True)
    return chances


def importance(model: Model, binned: Array, weight: Array) -> Array:
    """Say how far each term moves the log-odds, on average."""
    found = []
    for term in model.terms:
        moved = term.table[term.cells(binned)]
        moved = moved - np.average(moved, axis=0, weights=weight)
        found.append(np.average(np.abs(moved).max(1), weights=weight))
    return np.array(found)


SET = 0.6
"""How much any right answer counts against the main one alone."""
PRIOR = 5.0
"""What a cell needs in information before its residual counts."""
