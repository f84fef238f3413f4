"""What an observer between two hosts sees, before the narrow link and behind it."""

from pathlib import Path
from typing import Any

import pytest

import tcpwhy
from tcpwhy import worlds

QUEUE_BYTES = 150_000
SPEC = """
title = "A provider's border"
duration_s = 6
[hosts.S]
[hosts.D]
[links.transit]
forward = [{ rate.rate_bps = 1_000_000_000 }, { delay.delay_ms = 40 }]
backward = [{ rate.rate_bps = 1_000_000_000 }, { delay.delay_ms = 40 }]
[links.line]
forward = [
    { rate = { rate_bps = 8_000_000, queue.drop_tail.limit_bytes = QUEUE_BYTES } },
    { delay.delay_ms = DELAY_MS },
]
backward = [{ rate.rate_bps = 2_000_000 }, { delay.delay_ms = DELAY_MS }]
[[flows]]
from = "S"
to = "D"
path = ["transit", "line"]
workload.bulk = {}
[[taps]]
name = "border"
behind = "transit"
[[taps]]
name = "receiver"
host = "D"
"""


def flow_at(tap: str, scenario: str, folder: Path) -> dict[str, Any]:
    """Give the row of the data sender, seen at a tap."""
    file = folder / "scenario.toml"
    file.write_text(scenario, encoding="utf-8")
    run = tcpwhy.simulate(file, table=["flows"], tap=tap)
    cursor = run.to_duckdb().execute("SELECT * FROM flows ORDER BY payload_bytes DESC LIMIT 1")
    [row] = cursor.fetchall()
    return dict(zip((column[0] for column in cursor.description), row, strict=True))


@pytest.mark.parametrize("delay_ms", [5, 30])
@pytest.mark.parametrize("tap", ["border", "receiver"])
def test_a_narrow_link_is_found_from_before_it_and_from_behind(
    tap: str, delay_ms: int, tmp_path: Path
) -> None:
    """A ninth of the round trip lies on the line, or three sevenths: its queue raises both."""
    sizes = {"DELAY_MS": str(delay_ms), "QUEUE_BYTES": str(QUEUE_BYTES)}
    scenario = SPEC
    for word, size in sizes.items():
        scenario = scenario.replace(word, size)
    row = flow_at(tap, scenario, tmp_path)
    assert row["position"] == pytest.approx(
        1 if tap == "receiver" else 40 / (40 + delay_ms), abs=0.05
    )
    assert row["capacity_bps"] == pytest.approx(8e6, rel=0.03)
    assert row["limitation"] == "unshared_bottleneck"
    queue_ns = row["rtt_max_ns"] - row["rtt_min_ns"]
    assert queue_ns == pytest.approx(QUEUE_BYTES * 8e9 / 8e6, rel=0.2)


@pytest.mark.parametrize("seed", [100067, 100150, 100294, 100384])
def test_the_least_round_trip_is_the_same_wherever_it_is_seen(seed: int, tmp_path: Path) -> None:
    """Round trips are as short as a tick of the timestamps here: bursts have one for all."""
    least = {
        tap: flow_at(tap, worlds.scenario(seed), tmp_path)["rtt_min_ns"]
        for tap in ("sender", "middle", "receiver")
    }
    for tap, rtt_ns in least.items():
        assert rtt_ns == pytest.approx(least["sender"], rel=0.08), tap
