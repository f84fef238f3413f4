"""The accuracy tables: their arithmetic on made-up rows, their rules, and a few real runs."""

import copy

import numpy as np
import pytest
from conftest import ROOT

from accuracy import (
    elsewhere,
    hidden,
    page,
    places,
    policing,
    remedies,
    scenario,
    simulated,
    spread,
    tables,
    truth,
    wild,
    wild_whole,
)
from accuracy.judged import Capacity, Judged, Shares
from accuracy.remedies import Prediction
from accuracy.scenario import Case
from accuracy.tables import OURS, PAPER, Rate
from tcpwhy import worlds

SCENARIOS = ROOT / "scenarios"


def judged(expected, cause, paper=None, *, accept=(), confidence="high", name="x", drops=0):
    words = (expected, *accept)
    return Judged(
        "scenarios", name, "", "sender", 0, 3, expected, words, cause, paper, confidence,
        drops=drops,
    )  # fmt: skip


MADE_UP = [
    judged("application/idle", "application/idle", "application"),
    judged("application/idle", "application/paced", "application", confidence="low"),
    judged("policer", "policer", "shared_bottleneck"),
    judged("policer", "random_loss", "transport", confidence="medium"),
    judged("random_loss", "random_loss", "transport", confidence="medium"),
    judged(
        "unshared_bottleneck/queue",
        "unshared_bottleneck/loss",
        "unshared_bottleneck",
        accept=("unshared_bottleneck/loss",),
    ),
    judged("sender_window", "sender_window/undetermined", "mixed"),
    judged("transport/recovery", None, None, confidence=None),
]


def test_an_answer_is_right_by_cause_by_acceptance_or_by_a_limitation_alone():
    assert [row.is_right for row in MADE_UP] == [True, False, True, False, True, True, True, False]


def test_the_paper_is_right_as_far_as_its_words_go():
    assert [row.is_paper_right for row in MADE_UP] == [
        True, True, True, False, True, True, False, False,
    ]  # fmt: skip


def test_precision_is_of_answers_and_recall_of_truths():
    rates = tables.class_rates(
        MADE_UP, lambda row: row.expected, lambda row: row.cause, OURS.is_right
    )
    assert rates["random_loss"].recall == Rate(1, 1)
    assert rates["random_loss"].precision == Rate(1, 2)
    assert rates["application/idle"].recall == Rate(1, 2)
    assert rates["application/idle"].precision == Rate(1, 1)
    assert rates["policer"].recall.share == 0.5
    assert rates["transport/recovery"].precision.share is None
    assert rates[tables.NONE].precision == Rate(0, 1)


def test_confusion_counts_every_row_once():
    expected, answered, counts = tables.confusion(MADE_UP, PAPER.answer)
    assert counts.total() == len(MADE_UP)
    assert counts["policer", "transport"] == 1
    assert counts["transport", tables.NONE] == 1
    assert "mixed" in answered
    assert "sender_window" in expected


def test_calibration_is_by_confidence():
    assert tables.calibration(MADE_UP) == {
        "high": Rate(4, 4),
        "medium": Rate(1, 2),
        "low": Rate(0, 1),
        tables.NONE: Rate(0, 1),
    }


def test_share_errors_are_means_of_absolute_differences_in_points():
    rows = [
        Shares("a", "sender", (0.5, 0.0, 0.5, 0.0), (0.4, 0.0, 0.6, 0.0)),
        Shares("b", "sender", (0.0, 0.2, 0.8, 0.0), (0.3, 0.2, 0.4, 0.1)),
    ]
    errors = tables.share_errors(rows)
    assert errors == pytest.approx(
        {"application": 20, "receiver_window": 0, "network": 25, "recovery": 5}
    )
    assert tables.share_errors_by_name(rows)["b"]["network"] == pytest.approx(40)


def test_capacities_count_when_given_and_near():
    rows = [
        Capacity("a", "sender", 10e6, 10.9e6, None),
        Capacity("b", "sender", 10e6, 8.9e6, None),
        Capacity("c", "sender", 10e6, None, "too_few_samples"),
    ]
    assert tables.capacity_rate(rows) == (Rate(1, 2), 1)


def test_a_pair_is_right_when_most_taps_are():
    def prediction(name, predicted, *, hidden=False):
        return Prediction(name, "r", "report", "p", "t", "c", True, 1e6, predicted, 10e6, hidden)

    rows = [prediction("a", 11.9e6), prediction("a", 8.1e6), prediction("a", None)]
    rows += [prediction("b", 12.1e6), prediction("b", 10e6)]
    rows += [prediction("c", None, hidden=True)]
    assert tables.pair_rate(rows, lambda row: row.is_near) == Rate(1, 3)
    assert tables.pair_rate(rows, lambda row: row.is_right) == Rate(2, 3)


@pytest.mark.parametrize(
    ("name", "hides"),
    [("app_small_writes", {"sender", "receiver"}), ("paced_socket", {"sender"})],
)
def test_a_capture_hides_a_link_that_no_two_packets_met(name, hides):
    cases = {case.name: case for case in scenario.read_all(ROOT / "scenarios")}
    flow = ("10.0.0.2", 40000, "10.0.0.1", 5001)
    assert hidden.taps(cases[name], flow, ["sender", "receiver"]) == hides


def test_a_flow_that_no_tap_saw_hides_nothing():
    cases = {case.name: case for case in scenario.read_all(ROOT / "scenarios")}
    with pytest.raises(KeyError):
        hidden.taps(cases["app_small_writes"], ("10.0.0.9", 1, "10.0.0.1", 5001), ["sender"])
    some, none = np.array([1.0, 2.0]), np.array([])
    assert hidden.is_alike(none, none)
    assert not hidden.is_alike(some, none)
    assert not hidden.is_alike(none, some)
    assert hidden.is_alike(some, some * 1.04)
    assert not hidden.is_alike(some, some * 1.1)


def test_the_worst_come_first_with_their_answers():
    rows = [*MADE_UP, judged("policer", "random_loss"), judged("policer", None, name="y")]
    found = tables.worst(rows, 2)
    assert found[0] == ("x", "policer", Rate(1, 3), "random_loss 2")
    assert len(found) == 2


def test_scaling_keeps_windows_in_proportion_to_the_path():
    case = scenario.Case("x", "", "", SPEC)
    spec = scenario.scaled(case.spec, 2.0, 3.0)
    rate, delay, loss = spec["links"]["wan"]["forward"]
    assert rate["rate"]["rate_bps"] == 20_000_000
    assert rate["rate"]["queue"]["drop_tail"]["limit_packets"] == 210
    assert delay["delay"]["delay_ms"] == 57
    assert loss["bernoulli"]["loss"] == pytest.approx(0.01 / 36)
    flow = spec["flows"][0]
    assert flow["peer_tcp"]["receive_buffer_bytes"] == 600_000
    assert flow["workload"]["small_writes"]["write_bytes"] == 120
    assert spec["expect"][0]["from_s"] == 6
    assert scenario.scaled(SPEC, 1.0, 1.0) == SPEC


def test_held_out_variants_differ_from_the_original_and_depend_on_the_draw_alone():
    case = scenario.Case("x", "scenarios", "", SPEC)
    before = copy.deepcopy(SPEC)
    first, again = (list(scenario.held_out(case, 1, 6)) for _ in range(2))
    assert first == again
    assert before == SPEC
    assert all(variant.spec["seed"] != SPEC["seed"] for variant in first)
    assert first != list(scenario.held_out(case, 2, 6))


SPEC = {
    "seed": 1,
    "duration_s": 10,
    "links": {
        "wan": {
            "forward": [
                {"rate": {"rate_bps": 10_000_000, "queue": {"drop_tail": {"limit_packets": 35}}}},
                {"delay": {"delay_ms": 19}},
                {"bernoulli": {"loss": 0.01}},
            ]
        }
    },
    "flows": [
        {
            "path": ["wan"],
            "workload": {"small_writes": {"write_bytes": 120, "interval_ms": 5}},
            "peer_tcp": {"receive_buffer_bytes": 100_000},
        }
    ],
    "expect": [{"from_s": 2, "limitation": "application", "cause": "application/idle"}],
}


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("C=5-L=2000000-CD=500-PCIR=500000-PBC=100000-RTT=100-LOSS=0%", "policer"),
        ("C=5-L=2000000-CD1=500-CD2=1000-PCIR=500000-RTT=100-LOSS=0%", "policer, shared"),
        ("C=5-L=2000000-CD=500-SCIR=500000-SBC=8000-RTT=100-LOSS=0%", "shaper, tiny buffer"),
        ("C=5-L=2000000-CD=500-SCIR=500000-SBC=100000-RTT=100-LOSS=0%", "shaper"),
        ("C=5-L=2000000-CD=500-SCIR=10000000-RTT=100-LOSS=2%", "random loss"),
        ("C=5-L=2000000-SCIR=10000000-LOSS=0%-XT=1-TCP=cubic", "shaper with a flow beside"),
    ],
)
def test_a_name_of_the_policing_study_is_its_family(name, family):
    assert policing.family(name) == family


def test_chunks_end_at_multiples_of_their_length():
    def data(ts, start, end):
        return {"ts_ns": ts, "direction": "resp", "seq_start": start, "seq_end": end, "ack": 0}

    def ack(ts, number):
        zeros = {"seq_start": 0, "seq_end": 0}
        return {"ts_ns": ts, "direction": "orig", "ack": number, **zeros}

    rows = [data(0, 0, 60), data(10, 60, 100), ack(15, 60), data(20, 60, 100), ack(30, 100)]
    rows += [data(100, 100, 150), ack(110, 150)]
    chunks = policing.chunks_of(rows, "resp", 100)
    assert chunks == [policing.Chunk(0, 20, 30), policing.Chunk(100, 100, 100)]


def test_what_is_right_follows_where_the_time_lies():
    chunks = [policing.Chunk(0, 80, 100), policing.Chunk(300, 400, 400)]
    assert policing.expectation("policer", chunks, 0, 100) == ("policer", ("policer",))
    assert policing.expectation("policer", chunks, 90, 290) == (
        policing.BETWEEN,
        ("application/idle",),
    )
    assert policing.expectation("policer", chunks, 60, 160) is None


def cases(*names):
    return [case for case in scenario.read_all(SCENARIOS) if case.name in names]


def test_scenarios_are_held_against_the_truth_and_shown():
    names = ("slow_start_short", "app_paced", "rwnd_clamp", "bottleneck_lan")
    found = [simulated.outcome(case) for case in cases(*names)]
    rows = [row for outcome in found for row in outcome.intervals]
    assert {row.name for row in rows} == {*names} - {"slow_start_short"}
    # It is over before half a second is: its whole half is judged.
    halves = {row.name for outcome in found for row in outcome.halves}
    assert halves == {*names}
    assert {row.tap for row in rows} == {"sender", "middle", "receiver"}
    paced = [row for row in rows if row.name == "app_paced"]
    assert all("application" in row.held for row in paced)
    assert not [doubt for outcome in found for doubt in outcome.left_out]
    for outcome in found:
        assert outcome.with_data >= 3
        assert all(sum(row.true) == pytest.approx(1) for row in outcome.shares)
    text = page.page(page.Findings(found, found, []))
    assert "| `application/paced` |" in text
    assert "| sender |" in text


def test_a_label_that_does_not_hold_is_doubted_and_left_out_of_the_held_out_part():
    (case,) = cases("rwnd_clamp")
    spec = copy.deepcopy(case.spec)
    del spec["flows"][0]["peer_tcp"]["window_clamp_bytes"]
    found = simulated.outcome(Case(case.name, "held out", "no clamp", spec))
    assert [doubt.expected for doubt in found.left_out] == ["receiver_window/buffer"]
    assert found.intervals == []


def test_a_pair_differs_in_the_remedy_alone():
    every = [pair for pair in remedies.pairs(cases(*NAMES)) if pair.part == "development"]
    pairs = {(pair.remedy, pair.limited.name): pair for pair in every}
    assert len({remedy for remedy, _ in pairs}) >= 12
    pair = pairs["lift the window clamp", "rwnd_clamp"]
    assert pair.limited.spec["links"] == pair.remedied.spec["links"]
    assert pair.limited.spec["flows"][0]["peer_tcp"] == {"window_clamp_bytes": 45_000}
    assert pair.remedied.spec["flows"][0]["peer_tcp"] == {}
    predictions = remedies.predictions(pair)
    assert {row.tap for row in predictions} == {"sender", "middle", "receiver"}
    assert all(row.reached_bps > 5 * row.now_bps for row in predictions)


NAMES = [name for remedy in remedies.REMEDIES for name in remedy.scenarios.split()]


def test_the_truth_names_who_held_the_sender_back():
    (case,) = cases("paced_socket")
    run = simulated.run(case, taps=("sender",))
    half = truth.Half(0, False)
    shares = run.truth.shares(half, 5_000_000_000, 10_000_000_000)
    assert shares == pytest.approx((1, 0, 0, 0), abs=0.02)
    assert truth.doubt(run.truth, case.expects[0]) is None


def test_a_mean_of_shares_counts_each_once():
    assert tables.mean_share([Rate(1, 2), Rate(10, 10), Rate(0, 0)]) == 0.75
    assert tables.mean_share([]) is None


def _interval(end_s, right, direction="forward"):
    row = dict.fromkeys([*wild.COLUMNS, *wild_whole.COLUMNS])
    span = {"start_ns": (end_s - 3) * 10**9, "end_ns": end_s * 10**9}
    flow = {"flow_limitation": "policer", "flow_confidence": "low", "flow_probability": 0.5}
    where = {"world": 7, "tap": "middle", "flow_id": 1, "direction": direction}
    return row | where | span | flow | {"true_limitations": right, "limitation": "transport"}


def test_a_whole_direction_is_right_by_the_longest_time():
    rows = [_interval(3, "transport"), _interval(6, "policer transport"), _interval(9, "policer")]
    found = wild_whole.directions([*rows, _interval(3, "transport", "backward")])
    assert [row["true_limitations"] for row in found] == ["transport policer", "transport"]
    assert [row["limitation"] for row in found] == ["policer", "policer"]
    assert [row.is_right for row in wild.told(found)] == [True, False]


def test_a_whole_direction_is_right_by_what_may_have_held_longest():
    either = [_interval(end, "transport unresponsive") for end in (3, 6, 9)]
    (found,) = wild_whole.directions([*either, _interval(12, "transport")])
    assert found["true_limitations"] == "transport unresponsive"
    # It is not where another one is right for longer without it.
    others = [_interval(end, "transport") for end in range(12, 24, 3)]
    (found,) = wild_whole.directions([*either, *others])
    assert found["true_limitations"] == "transport"


def test_what_is_right_of_all_intervals_is_right_of_the_whole():
    chance = np.random.default_rng(4)
    for count in [*range(1, 9)] * 50:
        length = chance.integers(1, 4, count).astype(float)
        right = chance.random((count, 4)) < chance.random()
        found = wild_whole.longest(length, right)
        assert found.any() == right.any()
        assert found[right.all(0)].all()
        assert not found[~right.any(0)].any()
        assert not right.any() or found[(length @ right).argmax()], "which is right for longest"


def test_a_range_says_how_far_the_draw_of_worlds_goes():
    worlds = range(400)
    # Nine of ten worlds are right; each interval by itself, or ten of a world alike.
    once = [(world, world % 10 > 0) for world in worlds]
    alike = [(world // 10, world // 10 % 10 > 0) for world in worlds]
    low, high = spread.between(once)
    # Two standard deviations of a share of 0.9 in 400 draws are 0.03.
    assert 0.86 < low < 0.88
    assert 0.92 < high < 0.94
    wide_low, wide_high = spread.between(alike)
    assert wide_low < low
    assert wide_high > high
    assert spread.ranged(once) == f"90.0 % ({100 * low:.0f}–{100 * high:.0f})"
    assert spread.between([(world, True) for world in worlds]) == (1, 1)
    assert spread.ranged([(7, True), (7, False)]) == "50.0 %"
    assert spread.ranged([]) == ""


def test_a_whole_direction_counts_where_its_truth_is_known():
    known = [_interval(end, "policer") for end in range(3, 30, 3)]
    assert len(wild_whole.directions([*known, _interval(30, None)])) == 1
    assert wild_whole.directions([*known[1:], _interval(30, None)]) == []
    assert wild_whole.directions([_interval(3, None)]) == []


def test_worlds_of_places_are_those_of_their_seeds():
    assert {places.name(seed) for seed in range(300)} == set(places.PLACES)
    assert places.scenario(7) == places.scenario(7) != places.scenario(8)
    assert f'title = "World 7 of places: {places.name(7)}"' in places.scenario(7)


def test_worlds_of_places_run_and_are_judged():
    found = list(elsewhere.run_all(range(16), 2))
    rows = [row for world in found for row in world.intervals]
    assert len(found) == 16
    assert len({row.world for row in rows}) > 12, "hardly a world has nothing to judge"
    assert {"sender", "middle", "receiver"} == {row.tap for row in rows}
    text = "\n\n".join(elsewhere.section(found))
    assert text.startswith("## Worlds of another generator\n\n16 worlds of places")
    for row in rows:
        assert f"| {places.name(row.world)} |" in text


def test_the_capacity_of_a_world_is_held_against_its_slowest_link():
    # The slowest of three links; then a program that asks 830 Mbit/s for a hundredth.
    found = wild.world(worlds.judged(100_001)).capacities
    assert {row.configured_bps for row in found} == {31_030_000}
    assert all(tables.is_capacity_near(row) for row in found)
    paced = wild.world(worlds.judged(100_349)).capacities
    assert {row.configured_bps for row in paced} == {830_200_000}
    assert {row.unknown for row in paced} <= {"sender_pace", "too_few_samples"}
    there = wild.world(elsewhere.judged(3), places.scenario).capacities
    assert {row.configured_bps for row in there} == {20_000_000}


def test_a_link_whose_rate_varies_has_no_capacity_to_be_held_against():
    # Nothing but a transfer without end.
    texts = {seed: places.scenario(seed) for seed in range(100) if places.name(seed) == "Wi-Fi"}
    bulk = "workload.bulk"
    seed = next(seed for seed, text in texts.items() if bulk in text.split("[[flows]]")[1])
    assert wild.world(elsewhere.judged(seed), places.scenario).capacities == []
