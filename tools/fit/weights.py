"""Writes and reads the model in core's form: text, an empty line, numbers (little-endian)."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fit.calibration import Calibration
from fit.forest import Model, Tree


def write(path: Path, head: list[str], model: Model, calibration: Calibration) -> None:
    """Write everything."""
    trees = model.trees()
    scale = max(float(np.abs(tree.leaves).max()) for tree in trees) / 32767
    out = bytearray("\n".join(head).encode() + b"\n\n")
    out += struct.pack("<fH", scale, len(trees))
    for tree in trees:
        out += packed(tree, 0, scale)
    out += struct.pack("<ff", calibration.stay_a_second, calibration.trust)
    out += np.asarray(calibration.prior, "<f4").tobytes()
    out += struct.pack("<H", len(calibration.knots))
    out += np.asarray(calibration.knots, "<f4").tobytes()
    out += struct.pack("<ff", *calibration.cuts)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(out))


def packed(tree: Tree, node: int, scale: float) -> bytes:
    """Pack a node and what is below it, left before right."""
    left, right = int(tree.left[node]), int(tree.right[node])
    if left < 0:
        leaf = np.round(tree.leaves[right] / scale).astype("<i2")
        return struct.pack("<H", LEAF) + bytes(leaf)
    head = struct.pack(
        "<HBfB",
        int(tree.column[node]),
        int(tree.unknown_goes_left[node]),
        tree.threshold[node],
        round(255 * tree.share_left(node)),
    )
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
        tree, at = unpacked(numbers, at, scale, outputs)
        is_inner = tree.left >= 0
        tree.column[is_inner] = moved[tree.column[is_inner]]
        trees.append(tree)
    return head, trees


def unpacked(numbers: bytes, at: int, scale: float, outputs: int) -> tuple[Tree, int]:
    """Unpack the tree that begins at `at`; the weight of its root is 1."""
    nodes: list[tuple[int, float, bool, int, int, float]] = []
    leaves: list[np.ndarray] = []

    def node(weight: float) -> int:
        nonlocal at
        number = len(nodes)
        nodes.append((0, 0.0, False, -1, len(leaves), weight))
        (column,) = struct.unpack_from("<H", numbers, at)
        at += 2
        if column == LEAF:
            leaves.append(np.frombuffer(numbers, "<i2", outputs, at) * np.float32(scale))
            at += 2 * outputs
            return number
        unknown_goes_left, threshold, share = struct.unpack_from("<BfB", numbers, at)
        at += struct.calcsize("<BfB")
        left = node(weight * share / 255)
        right = node(weight * (1 - share / 255))
        nodes[number] = (column, threshold, bool(unknown_goes_left), left, right, weight)
        return number

    node(1.0)
    column, threshold, unknown, left, right, weight = map(np.array, zip(*nodes, strict=True))
    return Tree(
        column, threshold.astype(np.float32), unknown, left, right, weight, np.array(leaves)
    ), at


LEAF = 0xFFFF
"""The column of a node that asks nothing."""
