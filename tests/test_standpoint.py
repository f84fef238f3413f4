"""What an observer between two hosts sees, before the narrow link and behind it."""

from pathlib import Path
from typing import Any

import pytest

import tcpwhy

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
QUEUE_MS = 150


def flow_at(tap: str, delay_ms: int, folder: Path) -> dict[str, Any]:
    """Give the row of the data sender, seen at a tap."""
    file = folder / "border.toml"
    file.write_text(
        SPEC.replace("DELAY_MS", str(delay_ms)).replace("QUEUE_BYTES", str(QUEUE_BYTES)),
        encoding="utf-8",
    )
    run = tcpwhy.simulate(file, table=["flows"], tap=tap)
    cursor = run.to_duckdb().execute("SELECT * FROM flows WHERE payload_bytes > 0")
    [row] = cursor.fetchall()
    return dict(zip((column[0] for column in cursor.description), row, strict=True))


@pytest.mark.parametrize("delay_ms", [5, 30])
@pytest.mark.parametrize("tap", ["border", "receiver"])
def test_a_narrow_link_is_found_from_before_it_and_from_behind(
    tap: str, delay_ms: int, tmp_path: Path
) -> None:
    """A ninth of the round trip lies on the line, or three sevenths: its queue raises both."""
    row = flow_at(tap, delay_ms, tmp_path)
    assert row["position"] == pytest.approx(
        1 if tap == "receiver" else 40 / (40 + delay_ms), abs=0.05
    )
    assert row["capacity_bps"] == pytest.approx(8e6, rel=0.03)
    assert row["limitation"] == "unshared_bottleneck"
    queue_ns = row["rtt_max_ns"] - row["rtt_min_ns"]
    assert queue_ns == pytest.approx(QUEUE_BYTES * 8e9 / 8e6, rel=0.2)
