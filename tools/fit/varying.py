"""Which links of one's own vary by themselves, and how, as worlds and scenarios tell."""

from __future__ import annotations

import numpy as np

from accuracy import scenario
from accuracy.wild import KINDS, kinds_of
from fit.forest import STEADY, Array, Forest
from fit.gather import CLASSES, OTHERS, ROOT, Rows
from tcpwhy import worlds


def outputs(rows: Rows) -> tuple[Array, Array]:
    """Give which outputs are right by row, and the number of the main one.

    Where nobody knows the link, as of captures, all of its outputs are right.
    """
    told, is_known = known(rows.group)
    own = rows.right[:, STEADY]
    right = np.column_stack([rows.right, own[:, None] & (told | ~is_known[:, None])])
    right[:, STEADY] &= ~told.any(1)
    first = len(CLASSES) + told.argmax(1)
    main = np.where((rows.main == STEADY) & told.any(1), first, rows.main)
    return right, main


def known(groups: Array) -> tuple[Array, Array]:
    """Tell of each group by kind whether its links vary so, and of each whether that is known."""
    names, inverse = np.unique(groups, return_inverse=True)
    texts = {case.name: str(case.spec) for case in scenario.read_all(ROOT / "scenarios")}
    found = [_text(name, texts) for name in names]
    told = np.array([[kind in kinds_of(text or "") for kind in KINDS] for text in found])
    return told[inverse], np.array([text is not None for text in found])[inverse]


def _text(group: str, texts: dict[str, str]) -> str | None:
    kind, _, rest = str(group).partition(" ")
    if kind in ("world", "recording"):
        return worlds.scenario(int(rest))
    if kind in OTHERS:
        return OTHERS[kind](int(rest))
    return texts.get(kind)


def report(model: Forest, rows: Rows) -> None:
    """Print how well a varying rate and its kind are told where the link is one's own, by cuts."""
    found = model.outputs(rows.values)
    told, is_known = known(rows.group)
    answered = model.logits(rows.values).argmax(1) == STEADY
    mine = (rows.main == STEADY) & answered & is_known
    kinds, told = found[mine][:, len(CLASSES) :], told[mine]
    varies = np.logaddexp.reduce(kinds, axis=1)
    for cut in (0.0, 0.4, 0.85, 1.4, 2.2):
        said = varies - found[mine][:, STEADY] >= cut
        _print(f"rate varies, from {cut}", said, told.any(1))
    said = varies - found[mine][:, STEADY] >= VARIES
    chance = np.exp(kinds - varies[:, None])
    for cut in (0.5, 0.7, 0.8, 0.9):
        for number, kind in enumerate(KINDS):
            _print(f"{kind}, from {cut}", said & (chance[:, number] >= cut), told[:, number])


def _print(what: str, said: Array, true: Array) -> None:
    print(
        f"{what}: {true[said].mean():.1%} of {said.sum()} right, "
        f"{said[true].mean():.1%} of {true.sum()} found"
    )


VARIES = 0.85
"""As in core."""
