"""The words of a verdict: what they mean, how they look, whose time they are.

They are declared once, in the core (`crates/core/src/diagnosis/limit/mod.rs`); everything that
shows or judges a verdict reads them here.
"""

from typing import NamedTuple

from tcpwhy import _core

UNKNOWN_BLOCK = "·"
"""How time looks in a bar of which nothing is known."""


class Limitation(NamedTuple):
    """What limits a connection."""

    word: str
    """The word in the column `limitation`."""
    doc: str
    """What it means, in a sentence."""
    plain: str
    """Its name in a sentence."""
    next: str
    """Its name where it will limit next."""
    owners: tuple[str, ...]
    """The owners of the time that it accounts for: names after `share_`."""
    colour_light: str
    """Its colour on white, `#rrggbb`, told apart by people with any colour vision."""
    colour_dark: str
    """Its colour on black."""
    block: str
    """How it looks in a bar of characters."""
    paper: tuple[str, ...]
    """The answers of the paper's tree that are right where this is true."""


class Cause(NamedTuple):
    """A limitation refined."""

    word: str
    """The word in the column `cause`."""
    doc: str
    """What it means, in a sentence."""
    limitation: str
    """What it refines."""
    culprit: str
    """What follows "Limited by", with `{src}` and `{dst}`."""
    filter: str | None
    """The display filter of Wireshark for what shows it, with `{rtt_s}` and `{mss}`."""


class Confidence(NamedTuple):
    """How sure a verdict is."""

    word: str
    """The word in the column `confidence`."""
    meaning: str
    """What it stands for."""


class Reason(NamedTuple):
    """How a number was found, or why it is not known."""

    word: str
    """The word in the column."""
    meaning: str
    """What it means, as a part of a sentence."""


REASONS = ("capacity_method", "capacity_unknown", "gain_unknown", "stall_cause")
"""Columns that hold the words of reasons."""


_ALL = _core.limits()
_LIMITATIONS = tuple(
    Limitation(**{**row, "owners": tuple(row["owners"]), "paper": tuple(row["paper"])})
    for row in _ALL["limitations"]
)
_CAUSES = tuple(Cause(**row) for row in _ALL["causes"])
_CONFIDENCES = tuple(Confidence(**row) for row in _ALL["confidences"])
_REASONS = {column: {row["word"]: Reason(**row) for row in _ALL[column]} for column in REASONS}
_LIMITATION = {each.word: each for each in _LIMITATIONS}
_CAUSE = {each.word: each for each in _CAUSES}
_CONFIDENCE = {each.word: each for each in _CONFIDENCES}


def limitations() -> list[Limitation]:
    """Give every limitation, in the order in which they are shown."""
    return list(_LIMITATIONS)


def causes() -> list[Cause]:
    """Give every cause, by limitation."""
    return list(_CAUSES)


def confidences() -> list[Confidence]:
    """Give every confidence, the surest last."""
    return list(_CONFIDENCES)


def reasons(column: str) -> list[Reason]:
    """Give the words that a column of `REASONS` may hold.

    Raises:
        KeyError: for any other column.

    """
    return list(_REASONS[column].values())


def limitation(word: str | None) -> Limitation | None:
    """Find a limitation; None for an unknown word or none."""
    return _LIMITATION.get(word or "")


def cause(word: str | None) -> Cause | None:
    """Find a cause; None for an unknown word or none."""
    return _CAUSE.get(word or "")


def confidence(word: str | None) -> Confidence | None:
    """Find a confidence; None for an unknown word or none."""
    return _CONFIDENCE.get(word or "")


def meaning(column: str, word: str | None) -> str | None:
    """Say what a word in a column of `REASONS` means; None for an unknown word or none."""
    found = _REASONS[column].get(word or "")
    return found.meaning if found else None


def plain(word: str) -> str:
    """Name a limitation in a sentence; the word itself where it is not known."""
    found = _LIMITATION.get(word)
    return found.plain if found else word


def block(word: str | None) -> str:
    """Give the character that shows a limitation in a bar."""
    found = _LIMITATION.get(word or "")
    return found.block if found else UNKNOWN_BLOCK


def is_paper_right(answer: str | None, allowed: set[str]) -> bool:
    """Judge an answer of the paper's tree where any of these limitations would be right."""
    return any(answer in found.paper for word in allowed if (found := _LIMITATION.get(word)))
