"""How far chance goes: where the share of right answers lies in 95 % of other draws of worlds.

Intervals of one world have much in common. So worlds are drawn again, not intervals: the bootstrap
of clusters (Field and Welsh 2007, "Bootstrapping clustered data", section 2).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from accuracy.tables import Rate, share


def ranged(marks: Sequence[tuple[int, bool]]) -> str:
    """Write a share with its range in percent, from the world of each answer and if it is right."""
    written = share(Rate(sum(right for _, right in marks), len(marks)))
    span = between(marks)
    return written if span is None else f"{written} ({100 * span[0]:.0f}–{100 * span[1]:.0f})"


def between(marks: Sequence[tuple[int, bool]]) -> tuple[float, float] | None:
    """Give the range of a share; None of fewer worlds than say anything of others."""
    table = np.array(marks, np.int64).reshape(-1, 2)
    _, world = np.unique(table[:, 0], return_inverse=True)
    total = np.bincount(world)
    if len(total) < FEWEST:
        return None
    right = np.bincount(world, table[:, 1])
    drawn = np.random.default_rng(1).multinomial(len(total), [1 / len(total)] * len(total), DRAWS)
    low, high = np.quantile((drawn @ right) / (drawn @ total), (0.025, 0.975))
    return float(low), float(high)


DRAWS = 2000
FEWEST = 5
"""Worlds: the range of fewer would look narrower than it is."""
