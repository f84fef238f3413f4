"""A link whose own rate varies is named, and one with a steady rate is not."""

from collections import Counter
from pathlib import Path

import pytest

import tcpwhy

SCENARIOS = Path(__file__).resolve().parent.parent / "scenarios"
VARYING = "unshared_bottleneck/varying"


def found(scenario):
    """Give the intervals of a scenario at its sender in which a link of one's own is full."""
    path = SCENARIOS / f"{scenario}.toml"
    rows = tcpwhy.simulate(path, table="intervals", tap="sender").to_arrow().to_pylist()
    return [row for row in rows if row["limitation"] == "unshared_bottleneck"]


@pytest.mark.parametrize("scenario", ["bottleneck_wifi", "bottleneck_cellular", "bottleneck_trace"])
def test_a_rate_that_varies_by_itself_is_the_cause(scenario):
    rows = found(scenario)
    causes = Counter(row["cause"] for row in rows)
    assert causes[VARYING] > len(rows) / 2, causes
    named = [row for row in rows if row["cause"] == VARYING]
    assert all("Wi-Fi" in row["remedy"] for row in named)
    assert any("the rate varies by" in row["evidence"] for row in named)


@pytest.mark.parametrize("scenario", ["bottleneck_cubic", "bottleneck_jitter", "bottleneck_bbr"])
def test_a_steady_rate_is_not(scenario):
    rows = found(scenario)
    assert rows
    assert VARYING not in {row["cause"] for row in rows}
