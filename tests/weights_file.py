"""Reads a file of weights as core does, by the description of the format alone."""

import struct

import numpy as np

UNKNOWN_BELOW, LEAF_BELOW, LEAF_ABOVE, COLUMN = 0x8000, 0x4000, 0x2000, 0x1FFF


class Weights:
    """What a file of weights has: an output of each answer, then those of causes."""

    def __init__(self, content):
        head, _, self._rest = content.partition(b"\n\n")
        self.head = head.decode()
        outputs = self.line("outputs").split()
        self.outputs = len(outputs)
        answers = [word for word in outputs if "/" not in word]
        self.scale, count = self._take("<fH")
        self.steps, self.trees = [], []
        for _ in range(count):
            self.steps += self._take("B")
            self.trees.append(self._tree(self.steps[-1]))
        self.stay, self.trust = self._take("<ff")
        self.prior = np.array(self._take(f"<{len(answers)}f"))
        self.knots, self.lean, self.cuts = self._curve()
        # Own log-chances, means before or that there are none, means after or none, a constant.
        size = 3 * len(answers) + 3
        step = self._take(f"<{size * len(answers)}f")
        self.step = np.array(step).reshape(size, len(answers))
        self.revised_knots, self.revised_lean, self.revised_cuts = self._curve()
        self.whole_knots, self.whole_lean, self.whole_cuts = self._curve()
        self.left_over = self._rest

    def line(self, word):
        """Give what the head says of something."""
        (found,) = [line for line in self.head.splitlines() if line.startswith(f"{word}: ")]
        return found.partition(": ")[2]

    def summed(self, values):
        """Add up the log-odds of rows, by output."""
        rows = np.asarray(values, np.float32)
        return np.array([sum(_walk(tree, row) for tree in self.trees) for row in rows]) * self.scale

    def _take(self, form):
        size = struct.calcsize(form)
        found = struct.unpack(form, self._rest[:size])
        self._rest = self._rest[size:]
        return found

    def _curve(self):
        (count,) = self._take("<H")
        knots = np.array(self._take(f"<{2 * count}f")).reshape(count, 2)
        lean = np.array(self._take(f"<{len(self.prior)}f"))
        return knots, lean, self._take("<ff")

    def _tree(self, step, is_leaf=False):
        if is_leaf:
            return np.array(self._take(f"{self.outputs}b")) * step
        word, threshold, _ = self._take("<HfB")
        below, above = (self._tree(step, bool(word & way)) for way in (LEAF_BELOW, LEAF_ABOVE))
        return word & COLUMN, np.float32(threshold), bool(word & UNKNOWN_BELOW), below, above


def _walk(tree, row):
    while isinstance(tree, tuple):
        column, threshold, unknown_is_below, below, above = tree
        value = row[column]
        tree = below if (unknown_is_below if np.isnan(value) else value < threshold) else above
    return tree
