"""Leaves that get new values, on rows that are made up."""

import sys
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="fits need scikit-learn: pip install 'tcpwhy[fit]'")
pytest.importorskip("xgboost", reason="fits need XGBoost: pip install 'tcpwhy[fit]'")

from fit import __main__ as fit
from fit import forest, gather, mending

CLASSES = 3


def stump(threshold, *leaves):
    """A tree that asks one thing."""
    return forest.Tree(
        np.zeros(3, int),
        np.full(3, threshold, np.float32),
        np.zeros(3, bool),
        np.array([1, -1, -1]),
        np.array([2, 0, 1]),
        np.ones(3),
        np.array(leaves, np.float32),
    )


def loss(model, values, main):
    chances = forest.softmax(model.outputs(values))
    return -np.log(chances[np.arange(len(main)), main]).mean()


ONCE = mending.Stage(passes=1, first_rate=0.5, last_rate=0.5, held=10, ridge=0)


@pytest.fixture
def one_part(monkeypatch):
    monkeypatch.setattr(forest, "PARTS", 1)
    monkeypatch.setattr(mending, "STAGES", (ONCE,))
    monkeypatch.setattr(mending, "MOST", 99)


def test_a_leaf_takes_its_share_of_a_step_of_newton(one_part):
    tree = stump(0.5, [0, 0, 0], [0, 0, 0])
    values = np.repeat([[0.0], [1.0]], [40, 8], axis=0).astype(np.float32)
    main = np.repeat([0, 2], [40, 8]).astype(np.int8)
    right = np.eye(CLASSES, dtype=bool)[main]
    weight = np.repeat([1.0, 2.0], [40, 8])
    (found,) = mending.mended([tree], values, right, main, weight).trees()
    # All chances are a third at first: slope 1/3, or 1/3 - 1 of what is right; curvature 2/9.
    for leaf, mass, answer in ((0, 40, 0), (1, 16, 2)):
        expected = np.full(CLASSES, -mass / 3)
        expected[answer] += mass
        np.testing.assert_allclose(
            found.leaves[leaf], 0.5 * expected / (mass * 2 / 9 + 10), rtol=1e-4
        )


def test_a_ridge_draws_a_leaf_to_zero(one_part, monkeypatch):
    before = stump(0.5, [0, 0, 0], [4, -4, 0])
    values = np.zeros((40, 1), np.float32)
    main, right = np.zeros(40, np.int8), np.eye(CLASSES, dtype=bool)[[0] * 40]
    ask = partial(mending.mended, [before], values, right, main, np.ones(40))
    (plain,) = ask().trees()
    monkeypatch.setattr(mending, "STAGES", (replace(ONCE, ridge=90),))
    (drawn,) = ask().trees()
    # No row reaches the second leaf: it loses half of nine tenths.
    np.testing.assert_allclose(plain.leaves[1], [4, -4, 0])
    np.testing.assert_allclose(drawn.leaves[1], np.array([4, -4, 0]) * 0.55, rtol=1e-6)
    assert 0 < drawn.leaves[0, 0] < plain.leaves[0, 0], "and the first one learns less"


def test_leaves_of_an_earlier_fit_stay_near_what_they_said(one_part, monkeypatch):
    before = replace(stump(0.5, [1, 0, 0], [0, 1, 0]), weight=np.array([1, 0.75, 0.25]))
    values, main = np.array([[0.0], [1.0]] * 20, np.float32), np.full(40, 2, np.int8)
    ask = partial(mending.mended, [before], values, np.eye(CLASSES, dtype=bool)[main], main)
    (free,) = ask(np.ones(40), earlier=1).trees()
    monkeypatch.setattr(mending, "STAGES", (replace(ONCE, kept=400),))
    (held,) = ask(np.ones(40), earlier=1).trees()
    (later,) = ask(np.ones(40), earlier=0).trees()
    np.testing.assert_array_equal(later.leaves, free.leaves)
    moved = [abs(each.leaves - before.leaves).max(axis=1) for each in (free, held)]
    # The rows of both leaves say as much, and three quarters of those before were in the first.
    chance = 1 / (np.e + 2)
    curve = 20 * chance * (1 - chance) + 10
    for leaf, kept in ((0, 300), (1, 100)):
        share = held.leaves[leaf, 2] / free.leaves[leaf, 2]
        assert share == pytest.approx(curve / (curve + kept), rel=1e-4)
    assert (moved[1] < moved[0]).all()


def test_no_leaf_says_too_much(one_part, monkeypatch):
    before = stump(0.5, [9, -9, 0.5], [0, 0, 0])
    values, main = np.ones((5, 1), np.float32), np.zeros(5, np.int8)
    right = np.eye(CLASSES, dtype=bool)[main]
    monkeypatch.setattr(mending, "MOST", 2)
    (found,) = mending.mended([before], values, right, main, np.ones(5)).trees()
    np.testing.assert_array_equal(found.leaves[0], [2, -2, 0.5])


def test_what_a_tree_asks_stays_and_so_do_leaves_that_no_row_reaches(one_part):
    before = [stump(0.5, [1, 0, 0], [0, 1, 0]), stump(7, [0, 0, 1], [2, 3, 4])]
    values = np.array([[0.0], [1.0], [2.0], [np.nan]], np.float32)
    main = np.array([1, 1, 0, 2], np.int8)
    right = np.eye(CLASSES, dtype=bool)[main]
    # What is not known goes right: to the second leaf of both.
    model = mending.mended(before, values[:3], right[:3], main[:3], np.ones(3))
    for old, new in zip(before, model.trees(), strict=True):
        for name in ("column", "threshold", "unknown_goes_left", "left", "right", "weight"):
            np.testing.assert_array_equal(getattr(new, name), getattr(old, name))
    np.testing.assert_array_equal(model.trees()[1].leaves[1], [2, 3, 4])
    assert not np.array_equal(model.trees()[1].leaves[0], [0, 0, 1])
    np.testing.assert_array_equal(before[0].leaves, [[1, 0, 0], [0, 1, 0]], "they are copied")


def test_trees_that_grew_on_little_say_more_of_rows_that_they_did_not_see(monkeypatch):
    chance = np.random.default_rng(5)
    monkeypatch.setattr(forest, "ROUNDS", 30)

    def drawn(count):
        values = chance.normal(0, 1, (count, 4)).astype(np.float32)
        noisy = values[:, 0] + values[:, 1] * values[:, 2] + chance.normal(0, 0.5, count)
        return values, np.digitize(noisy, [-0.5, 0.5]).astype(np.int8)

    (few, few_main), (many, many_main), (fresh, fresh_main) = map(drawn, (900, 12_000, 6_000))
    eye = np.eye(CLASSES, dtype=bool)
    grown = forest.fit(few, eye[few_main], few_main, np.ones(len(few)), 1)
    model = mending.mended(grown.trees(), many, eye[many_main], many_main, np.ones(len(many)))
    assert len(model.trees()) == len(grown.trees())
    assert loss(model, fresh, fresh_main) < 0.95 * loss(grown, fresh, fresh_main)
    # In one part a step is held back less; more or less it is the same.
    monkeypatch.setattr(forest, "PARTS", 1)
    whole = mending.mended(grown.trees(), many, eye[many_main], many_main, np.ones(len(many)))
    after = loss(model, fresh, fresh_main)
    assert loss(whole, fresh, fresh_main) == pytest.approx(after, rel=0.05)


def test_trees_whose_leaves_say_the_same_go_first():
    trees = [
        stump(0.5, [1, 0, 0], [0, 1, 0]),
        stump(0.5, [9, 9, 9], [9, 9, 9]),
        stump(9, [5, 0, 0], [0, 0, 5]),
        stump(0.5, [0, 0, 0.1], [0, 0, 0]),
    ]
    # No row reaches the second leaf of the third, so it says the same of all.
    values = np.array([[0.0], [1.0], [2.0]], np.float32)
    assert mending.without_least(trees, values, 2) == [trees[0], trees[3]]
    assert mending.without_least(trees, values, 3) == [trees[0]]
    assert mending.without_least(trees, values, 0) == trees


def test_rows_that_show_what_trees_say_are_a_sample(monkeypatch):
    monkeypatch.setattr(fit, "SHOW", 100)
    values = np.arange(5000.0)[:, None]
    shown = fit.some(values)
    assert len(np.unique(shown)) == 100
    assert 2000 < shown.mean() < 3000
    np.testing.assert_array_equal(fit.some(values[:7]), values[:7])


def test_every_tree_has_its_turn_in_each_pass():
    turns = list(mending.turns(7, mending.STAGES))
    assert len(turns) == 7 * sum(stage.passes for stage in mending.STAGES)
    for begin in range(0, len(turns), 7):
        assert sorted(at for at, *_ in turns[begin : begin + 7]) == list(range(7))
    for stage in mending.STAGES:
        rates = [rate for _, rate, of in turns if of is stage]
        assert rates[0] == pytest.approx(stage.first_rate)
        assert rates[-1] == pytest.approx(stage.last_rate)
        assert all(a > b for a, b in pairwise(rates))


def test_how_many_trees_grow_depends_on_what_they_grow_onto(monkeypatch, tmp_path, capsys):
    def count(*words):
        monkeypatch.setattr(sys, "argv", ["fit", *words])
        return fit.parse().grow

    old = str(tmp_path / "weights.bin")
    assert count() == forest.ROUNDS
    assert count("--onto", old) == forest.ROUNDS_ONTO
    assert count("--onto", old, "--grow", "0") == 0
    assert count("--grow", "7") == 7
    for words in (("--grow", "0"), ("--onto", old, "--grow", "-1")):
        with pytest.raises(SystemExit):
            count(*words)
        assert "--grow is a count of trees" in capsys.readouterr().err


def test_trees_are_left_out_only_of_earlier_ones(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["fit", "--drop", "5"])
    with pytest.raises(SystemExit):
        fit.parse()
    assert "--drop goes with --onto FILE" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", ["fit", "--drop", "-5", "--onto", str(fit.WEIGHTS)])
    with pytest.raises(SystemExit):
        fit.parse()
    assert "--drop is a count of trees" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", ["fit", "--drop", "9999", "--onto", str(fit.WEIGHTS)])
    with pytest.raises(SystemExit, match=r"--drop 9999 leaves none of \d+ trees"):
        fit.main()


def rows(*main, mass=1.0, group="some"):
    """Rows of three to a group."""
    count = len(main)
    return gather.Rows(
        values=np.zeros((count, 1), np.float32),
        right=np.ones((count, CLASSES), bool),
        main=np.array(main, np.int8),
        series=np.arange(count),
        seconds=np.ones(count, np.float32),
        group=np.array([f"{group} {number // 3}" for number in range(count)]),
        tap=np.full(count, "sender"),
        told=np.full(count, ""),
        weight=np.full(count, mass),
    )


def test_recordings_weigh_more_when_leaves_are_mended():
    found = fit.again({"worlds": rows(0, -1, 1, mass=2.0), "recordings": rows(1, -1, mass=16.0)})
    np.testing.assert_array_equal(found, [2, 2, 16 * fit.WEIGHT_AGAIN["recordings"]])


def test_other_generators_weigh_their_share_beside_the_plain_worlds(monkeypatch, tmp_path):
    asked = {}

    def gathered(name, cases, one, cache, workers):
        asked[name] = list(cases)
        return rows(*[0] * (90 if "at a tap" in name else 12), group=name)

    monkeypatch.setattr(gather, "gather", gathered)
    words = ["fit", "--turned", "4", "--ns3", "0", "--captures", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", words)
    found = fit.sources(fit.parse(), [])
    assert asked["turned worlds"] == list(range(40_000_000, 40_000_004))
    assert "ns3 worlds" not in found
    plain, beside = (float(found[name].weight.sum()) for name in ("worlds", "turned worlds"))
    assert beside == pytest.approx(fit.BESIDE["turned"] * plain)
    # What is known besides weighs more the more worlds there are.
    more = (plain + beside) / fit.WEIGHT_AT
    assert found["variants"].weight.sum() == pytest.approx(12 * fit.WEIGHT["variants"] * more)
