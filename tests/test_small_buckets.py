"""Buckets and queues of a few packets, and chance, on paths that are not among the scenarios."""

import tomllib

import pytest

from accuracy import simulated
from accuracy.scenario import Case
from tcpwhy import worlds

SPEC = """
title = "drops"
seed = {seed}
duration_s = {duration_s}
[hosts.S]
[hosts.D]
[links.access]
forward = [{{ rate.rate_bps = 1_000_000_000 }}, {{ delay.delay_ms = 1 }}]
[links.wan]
forward = [{drops}, {{ delay.delay_ms = {delay_ms} }}]
backward = [{{ rate.rate_bps = 1_000_000_000 }}, {{ delay.delay_ms = {delay_ms} }}]
[[flows]]
from = "S"
to = "D"
path = ["access", "wan"]
workload.bulk = {{}}
tcp = {{ controller = "{controller}" }}
[[expect]]
from_s = 9
limitation = "{limitation}"
"""
LINK = "{ rate = { rate_bps = 100_000_000, queue.drop_tail.limit_packets = 1000 } }"
BUCKET = "{ policer = { rate_bps = RATE, burst_bytes = 8_000 } }, " + LINK
QUEUE = "{ rate = { rate_bps = 10_000_000, queue.drop_tail.limit_bytes = 8_000 } }"
CHANCE = "{ bernoulli.loss = LOSS }, " + LINK


def answers(drops: str, limitation: str, rtt_ms: int, controller: str, tap: str) -> list[str]:
    """What limits each interval of a run, by one of its captures."""
    text = SPEC.format(
        seed=rtt_ms, drops=drops, delay_ms=rtt_ms / 2 - 1, limitation=limitation,
        controller=controller, duration_s=30,
    )  # fmt: skip
    made = simulated.outcome(Case("drops", "scenarios", "", tomllib.loads(text)))
    return [row.limitation or "" for row in made.intervals if row.tap == tap]


def share(of: str, found: list[str]) -> float:
    return found.count(of) / len(found)


TAPS = """
[[taps]]
name = "sender"
host = "S"
[[taps]]
name = "receiver"
host = "D"
"""
PATHS = [(40, "reno"), (100, "cubic"), (200, "cubic")]


@pytest.mark.parametrize("rate_bps", [3_000_000, 10_000_000])
@pytest.mark.parametrize(("rtt_ms", "controller"), PATHS)
def test_a_bucket_of_five_packets_is_a_policer(rate_bps, rtt_ms, controller):
    text = SPEC.format(
        seed=rtt_ms, drops=BUCKET.replace("RATE", str(rate_bps)), delay_ms=rtt_ms / 2 - 1,
        limitation="policer", controller=controller, duration_s=30,
    )  # fmt: skip
    rows = worlds.judged_scenario("bucket.toml", text + TAPS).to_pylist()
    for tap in ("sender", "receiver"):
        late = [
            row
            for row in rows
            if row["tap"] == tap and row["start_ns"] >= simulated.EPOCH_NS + 9 * 10**9
            and row["true_limitation"] == "policer"
        ]  # fmt: skip
        # Between two drops, the growth of TCP is right as well: rule 3 of docs/worlds.md.
        right = [row["limitation"] in row["true_limitations"].split() for row in late]
        assert sum(right) >= 0.75 * len(right), (tap, [row["limitation"] for row in late])
        dropped = [row["limitation"] for row in late if row["policer_drops"]]
        assert len(dropped) >= 3
        assert share("policer", dropped) >= 0.75, (tap, dropped)


@pytest.mark.parametrize(("rtt_ms", "controller"), PATHS)
def test_a_queue_of_five_packets_is_a_full_link(rtt_ms, controller):
    text = SPEC.format(
        seed=rtt_ms, drops=QUEUE, delay_ms=rtt_ms / 2 - 1, limitation="unshared_bottleneck",
        controller=controller, duration_s=60,
    )  # fmt: skip
    rows = worlds.judged_scenario("queue.toml", text + TAPS).to_pylist()
    rows = [row for row in rows if row["tap"] == "sender" and row["true_limitation"]]
    # So short a queue cannot bridge a cut of cwnd: until TCP has grown again, its growth is right.
    right = [row["limitation"] in row["true_limitations"].split() for row in rows]
    assert all(right), [(row["limitation"], row["true_limitations"]) for row in rows]
    full = [row["limitation"] for row in rows if row["true_limitations"] == "unshared_bottleneck"]
    assert len(full) >= 3
    assert share("unshared_bottleneck", full) == 1


@pytest.mark.parametrize("loss", [0.005, 0.01, 0.03])
@pytest.mark.parametrize(("rtt_ms", "controller"), PATHS)
def test_chance_is_no_policer(loss, rtt_ms, controller):
    for tap in ("sender", "receiver"):
        drops = CHANCE.replace("LOSS", str(loss))
        found = answers(drops, "random_loss", rtt_ms, controller, tap)
        assert share("policer", found) == 0, (tap, found)
        assert share("random_loss", found) >= 0.75, (tap, found)
