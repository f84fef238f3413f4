"""The forest, its file and its calibration, on rows that are made up."""

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="fits need scikit-learn: pip install 'tcpwhy[fit]'")
pytest.importorskip("xgboost", reason="fits need XGBoost: pip install 'tcpwhy[fit]'")

from weights_file import Weights

from fit import around, calibration, forest, weights
from fit.gather import Rows

CLASSES = 3


def rows_of(right, main, *, long=4):
    """Make rows of directions with `long` intervals of one second each."""
    count = len(main)
    return Rows(
        values=np.zeros((count, 1), np.float32),
        right=right,
        main=main,
        series=np.arange(count) // long,
        seconds=np.ones(count, np.float32),
        group=np.array([f"world {number // (5 * long)}" for number in range(count)]),
        tap=np.full(count, "sender"),
        told=np.full(count, "a"),
        weight=np.ones(count),
    )


def drawn(seed, count=6000, boast=1.0):
    """Draw rows whose chances are known: log-odds that exaggerate them by a factor."""
    chance = np.random.default_rng(seed)
    truth = chance.normal(0, 1.5, (count, CLASSES))
    chances = forest.softmax(truth)
    main = np.array([chance.choice(CLASSES, p=row) for row in chances], np.int8)
    # Each interval is a direction of its own: there is nothing to follow.
    rows = rows_of(np.eye(CLASSES, dtype=bool)[main], main, long=1)
    return rows, truth * boast


def calibrated(knots):
    """Make a calibration of two answers, with a number of its own in each place of the step."""
    step = around.Step(np.arange(9 * 2).reshape(9, 2) / 7)
    lean = np.array([0.5, -0.25])
    curves = [calibration.Curve(knots / n, lean / n, (0.75, 0.92 + n / 50)) for n in (1, 2, 3)]
    alone, revised, whole = curves
    return calibration.Calibration(0.5, 0.75, np.full(2, 1 / 2), alone, step, revised, whole)


def test_each_answer_is_said_to_be_right_as_often_as_it_is():
    top, answer = np.tile([0.9, 0.7], 1000), np.repeat([0, 1], 1000)
    right = np.random.default_rng(5).random(2000) < np.where(answer, 0.6, 0.95)
    said = calibration.Said(top, answer, right, np.ones(2000))
    curve = calibration.Curve.of(said, answers=3)
    assert curve.lean[0] > 0 > curve.lean[1]
    assert curve.lean[2] == 0, "nothing is known of an answer that was never given"
    for one in (0, 1):
        stated = curve.stated(top, answer)[answer == one]
        assert stated.mean() == pytest.approx(right[answer == one].mean(), abs=0.01)
    few = calibration.Said(top[:4], answer[:4], np.zeros(4, bool), np.ones(4))
    assert calibration.leanings(np.full(4, 0.5), few, answers=1)[0] > -1.5, "four rows say little"


def test_expected_error_of_made_up_answers():
    right = np.array([True] * 60 + [False] * 40)
    assert calibration.expected_error(np.full(100, 0.6), right, bins=1) == pytest.approx(0)
    assert calibration.expected_error(np.full(100, 0.8), right, bins=1) == pytest.approx(0.2)
    # Two bins that are off by 0.1 and by 0.3, of equal counts.
    probability = np.repeat([0.4, 0.7], 50)
    right = np.repeat([True, False, True, False], [25, 25, 50, 0])
    assert calibration.expected_error(probability, right, bins=2) == pytest.approx(0.2)


def test_high_begins_where_answers_are_right_often_enough():
    probability = np.linspace(0.5, 1, 50_001)
    right = probability >= 0.9
    cut = calibration.high_from(probability, right, np.ones(len(right)), calibration.HIGH)
    assert np.average(right[probability >= cut]) >= calibration.HIGH
    below = probability >= cut - 0.003
    assert np.average(right[below]) < calibration.HIGH
    never = np.zeros(len(right), bool)
    assert calibration.high_from(probability, never, np.ones(len(right)), 0.5) == 0.998


def test_the_filter_starts_anew_with_each_direction_and_follows_on_within_it():
    prior = np.full(CLASSES, 1 / CLASSES)
    logits = np.array([[4.0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 1.0, 0]])
    main = np.zeros(4, np.int8)
    rows = rows_of(np.eye(CLASSES, dtype=bool)[main], main, long=2)
    forgets = calibration.filtered(rows, logits, 0.0, 1.0, prior)
    np.testing.assert_allclose(forgets, forest.softmax(logits), atol=1e-9)
    keeps = calibration.filtered(rows, logits, 1.0, 1.0, prior)
    # An interval that says nothing says what the one before it said.
    np.testing.assert_allclose(keeps[1], keeps[0], atol=1e-9)
    np.testing.assert_allclose(keeps[2], prior, atol=1e-9)
    np.testing.assert_allclose(keeps[3], forest.softmax(logits[3:])[0], atol=1e-9)


def test_calibration_rises_and_takes_exaggeration_back():
    rows, logits = drawn(1, boast=3.0)
    found = calibration.calibrate(rows, logits, rows.weight)
    for curve in (found.alone, found.revised):
        assert (np.diff(curve.knots[:, 0]) > 0).all()
        assert (np.diff(curve.knots[:, 1]) >= 0).all()
        assert ((curve.knots >= 0) & (curve.knots <= 1)).all()
        assert curve.cuts[0] < curve.cuts[1]
    assert found.prior.sum() == pytest.approx(1)
    # On rows that it did not see.
    fresh, logits = drawn(2, boast=3.0)
    chances = calibration.filtered(fresh, logits, found.stay_a_second, found.trust, found.prior)
    answer, top = chances.argmax(1), chances.max(1)
    right = fresh.right[np.arange(len(answer)), answer]
    stated = calibration.expected_error(top, right)
    mended = calibration.expected_error(found.alone.probability(chances), right)
    assert mended < 0.03
    assert mended < stated / 2


@pytest.fixture(scope="module")
def grown():
    """A forest that tells three classes by two columns, one of them often unknown."""
    chance = np.random.default_rng(3)
    values = chance.normal(0, 1, (3000, 4)).astype(np.float32)
    main = np.where(values[:, 0] > 0.3, 2, np.where(values[:, 1] > 0, 1, 0)).astype(np.int8)
    values[chance.random(len(values)) < 0.3, 1] = np.nan
    right = np.eye(CLASSES, dtype=bool)[main]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(forest, "ROUNDS", 20)
        patched.setattr(forest, "FIRST_RATE", 0.12)
        patched.setattr(forest, "LAST_RATE", 0.12)
        model = forest.fit(values, right, main, np.ones(len(main)), 1)
    return model, values, main


def test_the_forest_learns_what_is_plain(grown):
    model, values, main = grown
    known = ~np.isnan(values[:, 1])
    assert (model.outputs(values).argmax(1) == main)[known].mean() > 0.95


def test_a_written_file_says_what_the_forest_says(grown, tmp_path):
    model, values, _ = grown
    knots = np.array([[0.2, 0.3], [0.9, 0.8]])
    kept = calibrated(knots)
    path = tmp_path / "new" / "weights.bin"
    weights.write(path, ["a model", "outputs: a b b/c"], model, kept)
    read = Weights(path.read_bytes())
    assert read.left_over == b""
    assert len(read.trees) == len(model.trees()) == 20
    assert (read.stay, read.trust) == (0.5, 0.75)
    np.testing.assert_allclose(read.knots, knots, rtol=1e-6)
    assert read.lean == pytest.approx([0.5, -0.25])
    assert read.cuts == pytest.approx((0.75, 0.94))
    np.testing.assert_allclose(read.step, kept.step.weights, rtol=1e-6)
    np.testing.assert_allclose(read.revised_knots, kept.revised.knots, rtol=1e-6)
    assert read.revised_lean == pytest.approx([0.25, -0.125])
    assert read.revised_cuts == pytest.approx((0.75, 0.96))
    np.testing.assert_allclose(read.whole_knots, kept.whole.knots, rtol=1e-6)
    assert read.whole_cuts == pytest.approx((0.75, 0.98))
    # Values on a threshold go the way that they went in the fit.
    column, threshold, *_ = next(tree for tree in read.trees if isinstance(tree, tuple))
    some = np.concatenate([values[:300], np.full((1, 4), np.nan, np.float32), values[:1]])
    some[-1, column] = threshold
    error = np.abs(read.summed(some) - model.outputs(some)).max()
    # A leaf is off by half a step of its tree at most, and every tree has one.
    assert error <= sum(read.steps) * read.scale * 0.51
    assert np.abs(model.outputs(some)).max() > 100 * error


def test_a_few_trees_grown_onto_those_of_a_file_mend_what_these_say_wrong(
    grown, tmp_path, monkeypatch
):
    # Of all rows and columns, every tree finds something to ask.
    monkeypatch.setattr(forest, "PARTS", 1)
    monkeypatch.setattr(forest, "SETTINGS", forest.SETTINGS | {"colsample_bynode": 1})
    monkeypatch.setattr(forest, "FIRST_RATE", 0.12)
    monkeypatch.setattr(forest, "LAST_RATE", 0.12)
    monkeypatch.setattr(forest, "ROUNDS_ONTO", 30)
    model, values, main = grown
    kept = calibrated(np.eye(2))
    path, onto = tmp_path / "weights.bin", tmp_path / "onto.bin"
    weights.write(path, ["a model", "outputs: a b b/c", "items: a b"], model, kept)
    head, before = weights.read(path, CLASSES, ["a", "b", "before_a", "before_b"])
    assert head == ["a model", "outputs: a b b/c", "items: a b"]
    known = ~np.isnan(values[:, 1])
    np.testing.assert_allclose(
        forest.summed(before, values), model.outputs(values), atol=len(before) * 1e-3
    )
    # The trees ask for the same items where others have come between.
    _, moved = weights.read(path, CLASSES, ["new", "b", "a", "before_new", "before_b", "before_a"])
    wider = np.full((len(values), 6), np.nan, np.float32)
    wider[:, [2, 1, 5, 4]] = values
    np.testing.assert_array_equal(forest.summed(moved, wider), forest.summed(before, values))
    # What was class 2 turns out to be class 0 where a third column is high.
    moved = np.where((main == 2) & (values[:, 2] > 0), 0, main).astype(np.int8)
    right = np.eye(CLASSES, dtype=bool)[moved]
    more = forest.fit(values, right, moved, np.ones(len(moved)), 1, before)
    weights.write(onto, head, more, kept)
    written = Weights(onto.read_bytes())
    assert len(written.trees) == len(before) + forest.ROUNDS_ONTO
    for answer in (more.outputs(values).argmax(1), written.summed(values).argmax(1)):
        assert (answer == moved)[known].mean() > 0.95
    assert (model.outputs(values).argmax(1) == moved)[known].mean() < 0.9


def test_what_asks_nothing_is_said_by_the_tree_before(monkeypatch):
    # Where all rows are alike there is nothing to be asked.
    monkeypatch.setattr(forest, "ROUNDS_ONTO", 4)
    values = np.zeros((300, 4), np.float32)
    main = np.zeros(300, np.int8)
    right = np.eye(CLASSES, dtype=bool)[main]
    asked = forest.Tree(
        np.zeros(3, int),
        np.full(3, 0.5, np.float32),
        np.zeros(3, bool),
        np.array([1, -1, -1]),
        np.array([2, 0, 1]),
        np.ones(3),
        np.zeros((2, CLASSES), np.float32),
    )
    model = forest.fit(values, right, main, np.ones(300), 1, [asked])
    trees = model.trees()
    assert len(trees) == 1
    np.testing.assert_allclose(forest.summed(trees, values), model.outputs(values), atol=1e-5)
    assert model.outputs(values)[0, 0] > 0
