"""Which links of one's own vary their rate by themselves: what the worlds and scenarios tell."""

from __future__ import annotations

import numpy as np

from accuracy import scenario
from accuracy.wild import VARIES
from fit.forest import STEADY, Array, Model
from fit.gather import CLASSES, ROOT, Rows
from tcpwhy import worlds


def outputs(rows: Rows) -> tuple[Array, Array]:
    """Give which outputs are right by row, and the number of the main one.

    Where nobody knows the link, as of captures, both of its outputs are right.
    """
    yes, no = known(rows.group)
    own = rows.right[:, STEADY]
    right = np.column_stack([rows.right, own & ~no])
    right[:, STEADY] &= ~yes
    main = np.where((rows.main == STEADY) & yes, len(CLASSES), rows.main)
    return right, main


def known(groups: Array) -> tuple[Array, Array]:
    """Tell of each group whether its links vary, and whether they are known not to."""
    names, inverse = np.unique(groups, return_inverse=True)
    texts = {case.name: str(case.spec) for case in scenario.read_all(ROOT / "scenarios")}
    found = [_text(name, texts) for name in names]
    yes = np.array([text is not None and VARIES.search(text) is not None for text in found])
    no = np.array([text is not None for text in found]) & ~yes
    return yes[inverse], no[inverse]


def _text(group: str, texts: dict[str, str]) -> str | None:
    kind, _, rest = str(group).partition(" ")
    if kind in ("world", "recording"):
        return worlds.scenario(int(rest))
    return texts.get(kind)


def report(model: Model, rows: Rows) -> None:
    """Print how well a varying rate is told where the link is one's own, by the cut."""
    found = model.outputs(rows.values)
    yes, no = known(rows.group)
    answered = model.logits(rows.values).argmax(1) == STEADY
    mine = (rows.main == STEADY) & answered & (yes | no)
    odds, varies = (found[:, -1] - found[:, STEADY])[mine], yes[mine]
    for cut in (0.0, 0.4, 0.85, 1.4, 2.2):
        said = odds >= cut
        print(
            f"rate varies, from {cut}: {varies[said].mean():.1%} of {said.sum()} right, "
            f"{said[varies].mean():.1%} of {varies.sum()} found"
        )
