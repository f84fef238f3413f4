"""Which worlds are fitted besides: those that teach most, each for what is left out."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from test_fit import part

from fit import gather
from tcpwhy import worlds

choose = pytest.importorskip("fit.choose", reason="needs the packages of `make fit`")


class Told:
    """Says the same number of each world by one of its numbers."""

    def __init__(self, column, scale=1.0):
        self.column, self.scale = column, scale

    def predict(self, data):
        return self.scale * data.get_data().toarray()[:, self.column]


def test_a_world_is_described_by_its_numbers_and_words():
    found = {}
    scenario = {
        "rate_bps": 8,
        "forward": [{"delay": {"delay_ms": 3.0}}, {"loss": 0.1}],
        "flows": [{"controller": "reno"}] * 5,
        "tso": True,
    }
    choose.describe("", scenario, found)
    assert found[".rate_bps"] == 8
    assert found[".forward.delay.delay_ms"] == 3
    assert found[".forward.loss"] == 0.1
    assert found[".flows.0.controller=reno"] == 1
    # Of many flows those beyond the third are described together.
    assert found[".flows.count"] == 5
    assert max(name for name in found if name.startswith(".flows.")).startswith(".flows.count")
    assert ".flows.4.controller=reno" not in found
    assert found[".tso"] == 1


def test_no_number_tells_the_seed_of_a_world():
    for seed in (3, 4, 5):
        assert not {".seed", ".title", ".about"} & set(choose.numbers(seed))
    assert choose.numbers(3) == choose.numbers(3) != choose.numbers(4)


def test_worlds_are_taken_for_those_that_are_not(monkeypatch):
    # Worlds with an odd seed teach nine times as much, and cost the same.
    monkeypatch.setattr(choose, "numbers", lambda seed: {"error": 9.0 if seed % 2 else 1.0})
    chooser = choose.Chooser(["error"], Told(0), Told(0, 0.0), 2.0)
    taken = dict(chooser.weights(range(8000)))
    assert taken == dict(chooser.weights(range(8000)))
    odd = [weight for seed, weight in taken.items() if seed % 2]
    even = [weight for seed, weight in taken.items() if not seed % 2]
    assert len(odd) == pytest.approx(3 * len(even), rel=0.15)
    assert odd == pytest.approx([1 / 1.5] * len(odd))
    assert even == pytest.approx([2.0] * len(even))
    # Each kind weighs as much as it is drawn.
    assert sum(odd) == pytest.approx(sum(even), rel=0.15)
    assert sum(odd) + sum(even) == pytest.approx(8000 / choose.MOST, rel=0.1)


def test_no_world_weighs_more_than_its_bound(monkeypatch):
    monkeypatch.setattr(choose, "numbers", lambda seed: {"error": 1e-9})
    chooser = choose.Chooser(["error"], Told(0), Told(0, 0.0), 1e6)
    weights = [weight for _, weight in chooser.weights(range(2000))]
    assert weights == pytest.approx([1 / choose.LEAST] * len(weights))


def test_error_and_cost_are_learned_from_worlds_that_were_run(monkeypatch):
    monkeypatch.setattr(choose, "ProcessPoolExecutor", lambda n, **_: ThreadPoolExecutor(n))
    monkeypatch.setattr(choose, "OFTEN", 1)
    monkeypatch.setattr(choose, "ROUNDS", 60)
    monkeypatch.setattr(choose, "SETTINGS", choose.SETTINGS | {"min_child_weight": 1, "eta": 0.2})
    # A world costs as much as its seed says, and the trees know nothing of every third one.
    monkeypatch.setattr(choose, "numbers", lambda seed: {"cost": seed % 5, "hard": seed % 3 == 0})
    monkeypatch.setattr(choose, "events", lambda seed: 10 ** (1 + seed % 5))
    classes = len(gather.CLASSES)
    parts = []
    for seed in range(300):
        # A tree that says "policer" is right of all but every third.
        words = [["application"] if seed % 3 == 0 else ["policer"]]
        parts.append(part([1], [1], words, group=f"world {seed}"))
    rows = gather.Rows(**gather.joined(parts))
    leaves = np.zeros((1, classes + 2), np.float32)
    leaves[0, gather.CLASSES.index("policer")] = 9
    tree = choose.forest.Tree(*(np.array([each]) for each in (0, 0.0, False, -1, 0, 1.0)), leaves)
    seeds, errors = choose.errors_of(rows, [tree])
    assert sorted(seeds) == list(range(300))
    by_seed = dict(zip(seeds, errors, strict=True))
    assert by_seed[3] > 100 * by_seed[4]
    chooser = choose.Chooser.learn(rows, [tree], 1)
    worth = chooser.worth(
        choose.matrix([choose.numbers(seed) for seed in range(15)], chooser.names)
    )
    # The same error at ten times the cost is worth the root of ten less.
    assert worth[0] / worth[6] == pytest.approx(10**0.5, rel=0.1)
    assert worth[0] > 3 * worth[10]


def test_a_world_costs_the_events_of_its_run():
    assert choose.events(3) == choose.events(3) > 100


def test_rows_of_a_world_are_named_by_its_seed():
    # The chooser finds the seed of a row in its group.
    [first, *_] = gather.of_world_at_one_tap(7)
    assert set(first["group"]) == {"world 7"}
    assert worlds.name(7) == "world-7"
