"""Writes the model in the form that core reads: text, an empty line, numbers (little-endian)."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from fit.additive import Array, Model, Term
from fit.calibration import Calibration


def write(path: Path, head: list[str], model: Model, calibration: Calibration) -> None:
    """Write everything; columns that no term needs are left out."""
    used = sorted({item for term in model.terms for item in term.items})
    place = {item: number for number, item in enumerate(used)}
    out = bytearray("\n".join(head).encode() + b"\n\n")
    out += struct.pack("<H", len(used))
    for item in used:
        edges = model.bins.edges[item]
        out += struct.pack("<HB", item, len(edges)) + np.asarray(edges, "<f4").tobytes()
    out += struct.pack("<H", len(model.terms))
    for term in model.terms:
        out += packed(term, place)
    out += np.asarray(model.offset, "<f4").tobytes()
    out += struct.pack("<ff", calibration.stay_a_second, calibration.trust)
    out += np.asarray(calibration.prior, "<f4").tobytes()
    out += struct.pack("<H", len(calibration.knots))
    out += np.asarray(calibration.knots, "<f4").tobytes()
    out += struct.pack("<ff", *calibration.cuts)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(out))


def packed(term: Term, place: dict[int, int]) -> bytes:
    """Pack a term: its axes, and its table in sixteen bits."""
    out = bytearray(struct.pack("<B", len(term.items)))
    for item, coarse in zip(term.items, term.coarse, strict=True):
        out += struct.pack("<HB", place[item], len(coarse))
        out += np.asarray(coarse, np.uint8).tobytes()
    scale = max(float(np.abs(term.table).max()), 1e-6) / 32767
    return bytes(out + struct.pack("<f", scale) + in_sixteen_bits(term.table, scale))


def in_sixteen_bits(table: Array, scale: float) -> bytes:
    """Round a table to multiples of `scale`."""
    return np.round(table / scale).astype("<i2").tobytes()
