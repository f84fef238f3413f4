"""The limitations with their colours, as classes and variables of a style sheet."""

from typing import NamedTuple

from tcpwhy import vocabulary


class Limit(NamedTuple):
    """A limitation as a page shows it."""

    word: str
    """As the tables have it; `none` where there is no verdict."""
    plain: str
    light: str
    """Its colour on a light page."""
    dark: str
    """Its colour on a dark page."""


NONE = Limit("none", "no verdict", "#d5dae0", "#3d454e")
"""What has no verdict."""


def limits() -> list[Limit]:
    """Give the limitations in the order in which they are stacked and listed."""
    return [
        Limit(one.word, one.plain, one.colour_light, one.colour_dark)
        for one in vocabulary.limitations()
    ]


def known(word: str | None) -> Limit:
    """Find a limitation by its word; one without a verdict too."""
    return {limit.word: limit for limit in limits()}.get(word or "", NONE)


def style() -> str:
    """Give the colours as variables, and a class for each: `fill` of what is drawn."""
    every = [*limits(), NONE]
    light = "".join(f"--l-{one.word}:{one.light};" for one in every)
    dark = "".join(f"--l-{one.word}:{one.dark};" for one in every)
    classes = "".join(
        f".l-{one.word}{{fill:var(--l-{one.word});--limit:var(--l-{one.word})}}\n" for one in every
    )
    return (
        f":root{{{light}}}\n@media (prefers-color-scheme:dark){{:root{{{dark}}}}}\n"
        f":root[data-theme=light]{{{light}}}\n:root[data-theme=dark]{{{dark}}}\n{classes}"
    )
