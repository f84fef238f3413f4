"""Turned worlds: random worlds of which some things are drawn otherwise."""

import tomllib

import pytest

from accuracy import elsewhere, turned
from accuracy.places import Draw
from tcpwhy import worlds

SEEDS = range(500)


def world(seed):
    return tomllib.loads(worlds.scenario(seed))


def first(wanted):
    """Give the first world of which something is so."""
    return next(spec for spec in map(world, SEEDS) if wanted(spec))


def queues(spec):
    """Give the settings of all queues on the way of the flow, in order."""
    elements = [
        part for link in spec["flows"][0]["path"] for part in spec["links"][link]["forward"]
    ]
    settings = [next(iter(part.values())) for part in elements]
    return [next(iter(each["queue"].values())) for each in settings if "queue" in each]


def limits(spec):
    return [each.get("limit_bytes", each.get("limit_packets")) for each in queues(spec)]


def test_a_seed_gives_the_same_turned_world_and_another_than_the_plain_one():
    assert turned.scenario(7) == turned.scenario(7) != turned.scenario(8)
    # A turn may come out at what was there.
    differ = [tomllib.loads(turned.scenario(seed)) != world(seed) for seed in range(40)]
    assert sum(differ) >= 38


def test_queues_become_shorter_or_longer_than_they_were():
    for seed in range(20):
        before = limits(world(seed))
        shorter, longer = world(seed), world(seed)
        turned.short_queue(Draw(seed), shorter)
        turned.long_queue(Draw(seed), longer)
        assert len(before) == len(limits(shorter)) == len(limits(longer)) > 0
        for was, less, more in zip(before, limits(shorter), limits(longer), strict=True):
            assert less <= was <= more
            assert less >= 1


def test_thresholds_of_a_queue_shrink_with_it():
    marks = first(lambda spec: any("mark_packets" in each for each in queues(spec)))
    before = [each["mark_packets"] for each in queues(marks) if "mark_packets" in each]
    turned.short_queue(Draw(1), marks)
    after = [each["mark_packets"] for each in queues(marks) if "mark_packets" in each]
    assert all(1 <= less <= was for less, was in zip(after, before, strict=True))
    assert all(isinstance(each, int) for each in after)


def test_a_fair_queue_has_steady_neighbours_on_the_narrow_link():
    spec = first(lambda spec: len(spec["flows"]) == 1 and len(spec["links"]) > 2)
    turned.fair(Draw(3), spec)
    flow, other = spec["flows"]
    [shared] = set(flow["path"]) & set(other["path"])
    parts = spec["links"][shared]["forward"]
    [fair] = [part for part in (next(iter(one.values())) for one in parts) if "queue" in part]
    assert set(fair["queue"]) == {"fq_codel"}
    rates = {
        link: part["rate"]["rate_bps"]
        for link in flow["path"]
        for part in spec["links"][link]["forward"]
        if "rate" in part
    }
    assert rates[shared] == min(rates.values())
    assert other["workload"] == {"bulk": {}}
    assert (other["from"], other["to"]) == ("N", "M")


@pytest.mark.parametrize("seed", range(30))
def test_neighbours_start_before_all_is_over(seed):
    spec = world(seed)
    turned.crowd(Draw(seed), spec)
    turned.steady(Draw(seed), spec)
    flow = spec["flows"][-1]
    last_s = flow.get("start_s", 0) + (flow["count"] - 1) * flow["stagger_s"]
    assert 0 <= last_s < spec["duration_s"]
    assert spec["udp"][-1].get("start_s", 0) < spec["duration_s"]


def test_both_ends_have_an_option_or_neither():
    spec = world(5)
    turned.segments(Draw(1), spec)
    turned.options(Draw(2), spec)
    tcp, peer = spec["flows"][0]["tcp"], spec["flows"][0]["peer_tcp"]
    assert tcp["mss"] == peer["mss"]
    off = {key for key in ("sack", "timestamps", "window_scaling") if tcp.get(key) is False}
    assert off
    assert off == {key for key in off if peer.get(key) is False}


def test_ways_become_longer_all_by_the_same_factor():
    spec, before = world(9), world(9)
    turned.farther(Draw(4), spec)
    factors = {
        round(part["delay"]["delay_ms"] / was["delay"]["delay_ms"], 6)
        for name, link in spec["links"].items()
        for way in link
        for part, was in zip(link[way], before["links"][name][way], strict=True)
        if "delay" in part and "delay_ms" in part["delay"]
    }
    assert len(factors) == 1
    assert factors != {1}


def test_a_policer_lies_beside_the_narrow_server():
    spec = world(11)
    count = str(spec).count("'policer'")
    turned.policed(Draw(5), spec)
    assert str(spec).count("'policer'") == count + 1


def test_every_turn_happens_and_most_worlds_have_more_than_one():
    drawn = [Draw(f"turned {seed}") for seed in SEEDS]
    happened = [
        [turn for turn, share in turned.TURNS.items() if draw.chance(share)] for draw in drawn
    ]
    assert {turn for turns in happened for turn in turns} == set(turned.TURNS)
    assert sum(len(turns) > 1 for turns in happened) > len(SEEDS) / 3


def test_turned_worlds_run_and_are_judged():
    found = list(elsewhere.run_turned(range(12), 2))
    rows = [row for one in found for row in one.intervals]
    assert len(found) == 12
    assert len({row.world for row in rows}) > 8, "hardly a world has nothing to judge"
    text = "\n\n".join(elsewhere.turned_section(found))
    assert text.startswith("## Turned worlds\n\n12 random worlds")
    assert "| unshared_bottleneck |" in text
    assert list(elsewhere.turned_section([])) == []
