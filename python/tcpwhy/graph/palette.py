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
    fills = [role for role in roles if role.startswith("limit:")]
    return roles | {f"on:{role.partition(':')[2]}": written(roles[role]) for role in fills}


def written(ground: str) -> str:
    """Choose light or dark letters for a ground, those that are read better."""
    return max(LETTERS, key=lambda letters: contrast(letters, ground))


LETTERS = ("#ffffff", "#14171b")


def contrast(one: str, other: str) -> float:
    """Give the contrast of two colours, from 1 to 21 (WCAG 2.2, "contrast ratio")."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def plain(limitation: str | None) -> str:
    """Name a limitation in plain words."""
    return vocabulary.plain(limitation) if limitation else UNKNOWN
