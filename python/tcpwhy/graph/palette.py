"""Colours by role, for light and dark paper."""

from tcpwhy import vocabulary
from tcpwhy.graph.layout import Spec

THEMES = ("light", "dark")

UNKNOWN = "not known"
"""What a time is called of which nothing is known."""


def colours(spec: Spec, theme: str) -> dict[str, str]:
    """Give the colour of every role on light or dark paper."""
    roles = dict(spec["colours"][theme])
    roles["limit:unknown"] = roles["unknown"]
    for limitation in vocabulary.limitations():
        light, dark = limitation.colour_light, limitation.colour_dark
        roles[f"limit:{limitation.word}"] = light if theme == "light" else dark
    return roles


def plain(limitation: str | None) -> str:
    """Name a limitation in plain words."""
    return vocabulary.plain(limitation) if limitation else UNKNOWN
