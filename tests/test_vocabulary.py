"""The words of a verdict have one source, and what is keyed by them knows them all."""

from itertools import combinations

import pytest

from tcpwhy import vocabulary
from tcpwhy.lab import verify

TABLE = {
    "deuteranopia": ((0.367, 0.861, -0.228), (0.280, 0.673, 0.047), (-0.012, 0.043, 0.969)),
    "protanopia": ((0.152, 1.053, -0.205), (0.115, 0.786, 0.099), (-0.004, -0.048, 1.052)),
}
"""What two kinds of colour vision make of red, green and blue (Machado et al. 2009)."""


def linear(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]


def lab(rgb):
    """CIELAB of linear sRGB, in which distances are what people see."""
    rows = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
    white = (0.9505, 1.0, 1.089)
    clipped = [min(max(part, 0.0), 1.0) for part in rgb]
    xyz = [
        sum(a * b for a, b in zip(row, clipped, strict=True)) / w
        for row, w in zip(rows, white, strict=True)
    ]
    x, y, z = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("vision", [None, *TABLE])
@pytest.mark.parametrize("theme", ["colour_light", "colour_dark"])
def test_colours_are_told_apart_by_people_with_any_colour_vision(theme, vision):
    def seen(limitation):
        rgb = linear(getattr(limitation, theme))
        if vision:
            rgb = [sum(a * b for a, b in zip(row, rgb, strict=True)) for row in TABLE[vision]]
        return lab(rgb)

    near = [
        (a.word, b.word, round(distance))
        for a, b in combinations(vocabulary.limitations(), 2)
        if (distance := sum((p - q) ** 2 for p, q in zip(seen(a), seen(b), strict=True)) ** 0.5)
        < 10
    ]
    assert not near


def test_every_cause_refines_a_limitation_that_there_is():
    words = {limitation.word for limitation in vocabulary.limitations()}
    assert {cause.limitation for cause in vocabulary.causes()} == words - {"mixed"}


def test_the_lab_knows_how_to_verify_every_limitation():
    words = {limitation.word for limitation in vocabulary.limitations()}
    causes = {cause.word for cause in vocabulary.causes()}
    assert words <= verify._RULES.keys() <= words | causes


def test_the_paper_is_judged_by_one_rubric():
    assert vocabulary.is_paper_right("transport", {"random_loss"})
    assert not vocabulary.is_paper_right("shared_bottleneck", {"random_loss"})
    assert vocabulary.is_paper_right("mixed", {"application", "mixed"})
    assert not vocabulary.is_paper_right(None, {"application"})


@pytest.mark.parametrize("column", vocabulary.REASONS)
def test_every_reason_is_one_word_with_a_meaning(column):
    for reason in vocabulary.reasons(column):
        assert reason.word.isidentifier()
        assert vocabulary.meaning(column, reason.word) == reason.meaning
    assert vocabulary.meaning(column, None) is vocabulary.meaning(column, "no_such") is None


def test_a_word_that_nobody_knows_is_shown_as_it_is():
    assert vocabulary.plain("no_such_limit") == "no_such_limit"
    assert vocabulary.block("no_such_limit") == vocabulary.block(None) == vocabulary.UNKNOWN_BLOCK
    assert vocabulary.limitation(None) is None
