"""Connections between the same hosts share the path: none of them has its link to itself."""

from collections import Counter

import pytest

import tcpwhy as api

FAIR = """
title = "Three downloads of one program share a fair queue"
seed = 1
duration_s = 20

[hosts.S]
[hosts.D]

[links.access]
forward = [{ rate.rate_bps = 1_000_000_000 }, { delay.delay_ms = 2 }]

[links.wan]
forward = [
    { rate = { rate_bps = 20_000_000, queue.fq_codel.limit_bytes = 200_000 } },
    { delay.delay_ms = 18 },
]
backward = [{ rate.rate_bps = 1_000_000_000 }, { delay.delay_ms = 18 }]

[[flows]]
from = "S"
to = "D"
path = ["access", "wan"]
count = COUNT
workload.bulk = {}

[[taps]]
name = "sender"
host = "S"

[[taps]]
name = "middle"
behind = "access"

[[taps]]
name = "receiver"
host = "D"
"""
TAPS = ("sender", "middle", "receiver")
INTERVALS = """
    SELECT limitation, evidence, remedy FROM intervals, (SELECT min(start_ns) AS first FROM flows)
    WHERE src_port >= 40000 AND start_ns - first >= 3000000000 AND end_ns - start_ns > 2000000000
"""


@pytest.fixture(scope="module")
def captures(tmp_path_factory):
    """Give the folders of captures of one such connection, and of three."""
    found = {}
    for count in (1, 3):
        folder = tmp_path_factory.mktemp(f"fair{count}")
        scenario = folder / "fair.toml"
        scenario.write_text(FAIR.replace("COUNT", str(count)))
        api.simulate(scenario, captures=folder).to_polars("truth")
        found[count] = folder
    return found


def intervals(capture, **options):
    tables = ("flows", "intervals")
    return api.analyze(capture, table=tables, **options).to_duckdb().execute(INTERVALS).fetchall()


@pytest.mark.parametrize("tap", TAPS)
def test_one_of_several_has_no_link_to_itself(captures, tap):
    rows = intervals(captures[3] / f"fair.{tap}.pcap")
    said = Counter(limitation for limitation, *_ in rows)
    assert said["unshared_bottleneck"] == 0
    assert said["shared_bottleneck"] >= 0.9 * len(rows) >= 10
    for _, evidence, remedy in (row for row in rows if row[0] == "shared_bottleneck"):
        assert evidence.startswith("others between the same hosts sent 6")
        assert remedy.startswith("other connections between the same hosts use the same link")


@pytest.mark.parametrize("tap", TAPS)
def test_one_alone_has_the_link_to_itself(captures, tap):
    rows = intervals(captures[1] / f"fair.{tap}.pcap")
    assert {limitation for limitation, *_ in rows} == {"unshared_bottleneck"}
    assert not any("same hosts" in text for _, *texts in rows for text in texts)


def test_any_number_of_workers_sees_the_others(captures):
    one, two = (
        sorted(intervals(captures[3] / "fair.middle.pcap", workers=workers)) for workers in (1, 2)
    )
    assert one == two
    assert any("same hosts" in evidence for _, evidence, _ in one)


def test_a_rehearsal_of_a_link_sees_the_others(captures):
    rows = intervals(captures[3] / "fair.middle.pcap", pace=100.0)
    said = Counter(limitation for limitation, *_ in rows)
    assert said["shared_bottleneck"] >= 0.9 * len(rows) >= 10
    assert any("same hosts" in evidence for _, evidence, _ in rows)
