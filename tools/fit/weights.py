"""Writes the model in the form that core reads: text, an empty line, numbers (little-endian)."""

from __future__ import annotations

import struct
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


LEAF = 0xFFFF
"""The column of a node that asks nothing."""
