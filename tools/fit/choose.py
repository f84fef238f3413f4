"""Chooses the worlds that teach most in the time they take.

A few worlds take most of the time of a run, and most worlds are plain. So the chance of a world to
be taken is in proportion to the root of its error over its cost: the least variance for a given
time (Cochran 1977, section 5.5). It weighs one over that chance, so that the mean stays that of
all worlds. Error and cost are told from the text of the scenario, by trees that saw others.
"""

from __future__ import annotations

import random
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import xgboost

import tcpwhy
from fit import forest, varying
from fit.gather import Rows
from tcpwhy import worlds

Numbers = dict[str, float]


@dataclass
class Chooser:
    """Tells the error and the cost of a world before it is run."""

    names: list[str]
    error: xgboost.Booster
    cost: xgboost.Booster
    scale: float
    """The mean of the root of error over cost."""

    @classmethod
    def learn(cls, rows: Rows, before: list[forest.Tree], workers: int) -> Chooser:
        """Learn from worlds that were gathered, what trees say wrong of them, and from runs."""
        seeds, errors = errors_of(rows, before)
        described = [numbers(seed) for seed in seeds]
        counts = Counter(name for each in described for name in each)
        names = sorted(name for name, count in counts.items() if count >= OFTEN)
        table = matrix(described, names)
        few = seeds[:RUNS]
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            costs = np.array(list(pool.map(events, few, chunksize=8)))
        error = xgboost.train(SETTINGS, xgboost.DMatrix(table, errors), ROUNDS)
        cost = xgboost.train(SETTINGS, xgboost.DMatrix(table[: len(few)], np.log(costs)), ROUNDS)
        found = cls(names, error, cost, 1.0)
        found.scale = float(found.worth(table).mean())
        return found

    def worth(self, table: np.ndarray) -> np.ndarray:
        """Give the root of error over cost, of worlds by row."""
        data = xgboost.DMatrix(table)
        error = np.maximum(self.error.predict(data), LEAST_ERROR)
        return np.asarray(np.sqrt(error / np.exp(self.cost.predict(data))))

    def weights(self, seeds: Iterable[int]) -> Iterator[tuple[int, float]]:
        """Give the seeds that are taken, each with its weight: the mean of all is 1."""
        seeds = list(seeds)
        table = matrix([numbers(seed) for seed in seeds], self.names)
        chances = np.clip(self.worth(table) / self.scale, LEAST, MOST) / MOST
        for seed, chance in zip(seeds, chances.tolist(), strict=True):
            if random.Random(seed).random() < chance:
                yield seed, 1 / (MOST * chance)


def errors_of(rows: Rows, trees: list[forest.Tree]) -> tuple[list[int], np.ndarray]:
    """Give the seeds of worlds, and how far the trees are from what is right of each.

    That is the squared slope of the loss, summed over intervals.
    """
    known = rows.main >= 0
    right, _ = varying.outputs(rows)
    right = right[known]
    chance = forest.softmax(forest.summed(trees, rows.values[known]))
    wanted = chance * right
    wanted /= wanted.sum(1, keepdims=True) + 1e-9
    slope = rows.weight[known] * ((chance - wanted) ** 2).sum(1)
    groups, world = np.unique(rows.group[known], return_inverse=True)
    return [int(group.split()[1]) for group in groups], np.bincount(world, slope)


def events(seed: int) -> int:
    """Run a world and count the events of its simulation."""
    with tempfile.TemporaryDirectory() as folder:
        run = tcpwhy.simulate(worlds.write(seed, Path(folder) / f"{worlds.name(seed)}.toml"))
        return max(run.counters["simulated_events"], 1)


def numbers(seed: int) -> Numbers:
    """Describe a world: the numbers of its scenario, and 1 for each of its words."""
    scenario = tomllib.loads(worlds.scenario(seed))
    found: Numbers = {}
    describe("", {name: scenario[name] for name in scenario if name not in NO_NUMBERS}, found)
    links = [link for name, link in scenario["links"].items() if name.startswith("link")]
    parts = [part for link in links for way in WAYS for part in link[way]]
    found["delay_ms"] = sum(part["delay"].get("delay_ms", 0) for part in parts if "delay" in part)
    rates = [
        element["rate_bps"]
        for link in links
        for part in link["forward"]
        for element in part.values()
        if "rate_bps" in element
    ]
    if rates:
        found["least_rate_bps"] = min(rates)
        found["product_bytes"] = min(rates) * found["delay_ms"] / 8e3
    return found


def describe(name: str, value: Any, found: Numbers) -> None:
    """Add the numbers of a part of a scenario, by their names in it."""
    if isinstance(value, dict):
        for key, each in value.items():
            describe(f"{name}.{key}", each, found)
    elif isinstance(value, list):
        found[f"{name}.count"] = len(value)
        is_path = name.endswith(WAYS)
        for number, each in enumerate(value):
            # The elements of a path have names of their own; of many flows the first ones tell.
            describe(name if is_path else f"{name}.{min(number, MANY)}", each, found)
    elif isinstance(value, str):
        found[f"{name}={value}"] = 1.0
    else:
        found[name] = float(value)


def matrix(described: list[Numbers], names: list[str]) -> np.ndarray:
    """Put descriptions into rows, NaN where there is nothing."""
    place = {name: column for column, name in enumerate(names)}
    table = np.full((len(described), len(names)), np.nan, np.float32)
    for row, each in enumerate(described):
        for name, value in each.items():
            if name in place:
                table[row, place[name]] = value
    return table


WAYS = ("forward", "backward")
NO_NUMBERS = ("title", "about", "seed", "taps")
MANY = 3
OFTEN = 100
"""So many worlds have a number that is asked."""
RUNS = 4800
"""Worlds that are run to count events."""
LEAST, MOST = 0.2, 4.0
"""What a world is taken for, in shares of the mean: none weighs more than five."""
LEAST_ERROR = 0.02
ROUNDS = 300
SETTINGS = {
    "max_depth": 6,
    "eta": 0.05,
    "subsample": 0.7,
    "colsample_bynode": 0.3,
    "min_child_weight": 20,
    "seed": 1,
}
