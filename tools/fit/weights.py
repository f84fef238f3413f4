"""Writes and reads the model in core's form: text, an empty line, numbers (little-endian).

What a leaf says is a byte for each output, in steps of its tree: the largest one of a tree has 127.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fit.calibration import Calibration, Curve
from fit.forest import Forest, Tree


def write(path: Path, head: list[str], model: Forest, calibration: Calibration) -> None:
    """Write everything."""
    trees = model.trees()
    scale = max(float(np.abs(tree.leaves).max()) for tree in trees) / (FINEST * COARSEST)
    out = bytearray("\n".join(head).encode() + b"\n\n")
    out += struct.pack("<fH", scale, len(trees))
    for tree in trees:
        step = max(1, math.ceil(float(np.abs(tree.leaves).max()) / scale / FINEST - 1e-6))
        out += struct.pack("B", step) + packed(tree, 0, scale * step)
    out += struct.pack("<ff", calibration.stay_a_second, calibration.trust)
    out += np.asarray(calibration.prior, "<f4").tobytes()
    out += curve(calibration.alone)
    out += np.asarray(calibration.step.weights, "<f4").tobytes()
    out += curve(calibration.revised) + curve(calibration.whole)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(out))


def curve(curve: Curve) -> bytes:
    """Pack how often answers are right."""
    knots, lean = (np.asarray(part, "<f4").tobytes() for part in (curve.knots, curve.lean))
    return struct.pack("<H", len(curve.knots)) + knots + lean + struct.pack("<ff", *curve.cuts)


def packed(tree: Tree, node: int, scale: float) -> bytes:
    """Pack a node and what is below it, left before right; a question says which are leaves."""
    left, right = int(tree.left[node]), int(tree.right[node])
    if left < 0:
        return bytes(np.round(tree.leaves[right] / scale).astype("i1"))
    asked = int(tree.column[node])
    asked |= UNKNOWN_LEFT if tree.unknown_goes_left[node] else 0
    asked |= LEAF_LEFT if tree.left[left] < 0 else 0
    asked |= LEAF_RIGHT if tree.left[right] < 0 else 0
    head = struct.pack(QUESTION, asked, tree.threshold[node], round(255 * tree.share_left(node)))
    return head + packed(tree, left, scale) + packed(tree, right, scale)


def read(path: Path, outputs: int, columns: Sequence[str]) -> tuple[list[str], list[Tree]]:
    """Read the head and the trees, which ask for these columns: items may be new since."""
    text, _, numbers = path.read_bytes().partition(b"\n\n")
    head = text.decode().split("\n")
    items = head[-1].removeprefix("items: ").split()
    asked = [*items, *(f"before_{each}" for each in items)]
    moved = np.array([columns.index(name) for name in asked])
    scale, count = struct.unpack_from("<fH", numbers)
    trees, at = [], struct.calcsize("<fH")
    for _ in range(count):
        tree, at = unpacked(numbers, at + 1, scale * numbers[at], outputs)
        is_inner = tree.left >= 0
        tree.column[is_inner] = moved[tree.column[is_inner]]
        trees.append(tree)
    return head, trees


def unpacked(numbers: bytes, at: int, scale: float, outputs: int) -> tuple[Tree, int]:
    """Unpack the tree that begins at `at`; the weight of its root is 1."""
    nodes: list[tuple[int, float, bool, int, int, float]] = []
    leaves: list[np.ndarray] = []

    def node(weight: float, is_leaf: bool) -> int:
        nonlocal at
        number = len(nodes)
        nodes.append((0, 0.0, False, -1, len(leaves), weight))
        if is_leaf:
            leaves.append(np.frombuffer(numbers, "i1", outputs, at) * np.float32(scale))
            at += outputs
            return number
        asked, threshold, share = struct.unpack_from(QUESTION, numbers, at)
        at += struct.calcsize(QUESTION)
        left = node(weight * share / 255, bool(asked & LEAF_LEFT))
        right = node(weight * (1 - share / 255), bool(asked & LEAF_RIGHT))
        column, unknown_goes_left = asked & COLUMN, bool(asked & UNKNOWN_LEFT)
        nodes[number] = (column, threshold, unknown_goes_left, left, right, weight)
        return number

    node(1.0, is_leaf=False)
    column, threshold, unknown, left, right, weight = map(np.array, zip(*nodes, strict=True))
    return Tree(
        column, threshold.astype(np.float32), unknown, left, right, weight, np.array(leaves)
    ), at


FINEST, COARSEST = 127, 255
"""Steps of the largest leaf of a tree, and of the forest in the largest one of a tree."""
QUESTION = "<HfB"
"""The column with its flags, the threshold, the share of rows that went left."""
UNKNOWN_LEFT, LEAF_LEFT, LEAF_RIGHT, COLUMN = 0x8000, 0x4000, 0x2000, 0x1FFF
