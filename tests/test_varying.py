"""A link whose own rate varies is named, and one with a steady rate is not."""

from collections import Counter
from pathlib import Path

import pytest

import tcpwhy

SCENARIOS = Path(__file__).resolve().parent.parent / "scenarios"
KINDS = [f"unshared_bottleneck/{kind}" for kind in ("wifi", "cellular", "varying")]


def found(scenario):
    """Give the intervals of a scenario at its sender in which a link of one's own is full."""
    path = SCENARIOS / f"{scenario}.toml"
    rows = tcpwhy.simulate(path, table="intervals", tap="sender").to_arrow().to_pylist()
    return [row for row in rows if row["limitation"] == "unshared_bottleneck"]


@pytest.mark.parametrize(
    ("scenario", "kind", "words"),
    [
        ("bottleneck_wifi", KINDS[0], "as Wi-Fi does"),
        ("bottleneck_cellular", KINDS[1], "as that of a mobile network does"),
        ("bottleneck_trace", KINDS[1], "as that of a mobile network does"),
    ],
)
def test_a_rate_that_varies_by_itself_is_the_cause(scenario, kind, words):
    rows = found(scenario)
    causes = Counter(row["cause"] for row in rows)
    assert sum(causes[one] for one in KINDS) > len(rows) / 2, causes
    assert causes[kind] >= causes[KINDS[1 - KINDS.index(kind)]], causes
    named = [row for row in rows if row["cause"] == kind]
    assert all(words in row["remedy"] for row in named)
    assert any("the rate varies by" in row["evidence"] for row in named)


@pytest.mark.parametrize("scenario", ["bottleneck_cubic", "bottleneck_jitter", "bottleneck_bbr"])
def test_a_steady_rate_is_not(scenario):
    rows = found(scenario)
    assert rows
    assert not {row["cause"] for row in rows}.intersection(KINDS)
