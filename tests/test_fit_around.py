"""The step by the intervals before and after one, on rows that are made up."""

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="fits need scikit-learn: pip install 'tcpwhy[fit]'")
pytest.importorskip("xgboost", reason="fits need XGBoost: pip install 'tcpwhy[fit]'")

from fit import around, calibration, forest
from fit.gather import Rows

CLASSES = 3


def rows_of(main, long, told="a"):
    """Make rows of directions with `long` intervals each."""
    count = len(main)
    return Rows(
        values=np.zeros((count, 1), np.float32),
        right=np.eye(CLASSES, dtype=bool)[main],
        main=np.asarray(main, np.int8),
        series=np.arange(count) // long,
        seconds=np.ones(count, np.float32),
        group=np.array([f"world {number // (5 * long)}" for number in range(count)]),
        tap=np.full(count, "sender"),
        told=np.full(count, told),
        weight=np.ones(count),
    )


def lasting(seed, count=12_000, long=6):
    """Draw directions that have one limit, and log-odds of each interval that often err."""
    chance = np.random.default_rng(seed)
    main = np.repeat(chance.integers(CLASSES, size=count // long), long)
    logits = chance.normal(0, 1, (count, CLASSES))
    logits[np.arange(count), main] += 1
    return rows_of(main, long), logits


def test_neighbours_are_of_one_direction_alone_and_looks_so_far_and_no_farther():
    long = around.LATER + 3
    logits = np.log(forest.softmax(np.random.default_rng(1).normal(0, 1, (2 * long, CLASSES))))
    chances = np.exp(logits)
    found = around.Neighbours.of(rows_of(np.zeros(2 * long, int), long), logits)
    assert found.has[:, 0].tolist() == [False, *[True] * (long - 1)] * 2
    assert found.has[:, 1].tolist() == [*[True] * (long - 1), False] * 2
    np.testing.assert_allclose(found.own, logits, atol=1e-6)
    first, last = long, 2 * long - 1
    np.testing.assert_allclose(found.before[first + 1], chances[first], atol=1e-6)
    mean = 0.75 * chances[first] + 0.25 * chances[first + 1]
    np.testing.assert_allclose(found.before[first + 2], mean, atol=1e-6)
    later = chances[first + 1 : first + 1 + around.LATER]
    np.testing.assert_allclose(found.after[first], later.mean(0), atol=1e-6)
    np.testing.assert_allclose(found.after[last - 1], chances[last], atol=1e-6)
    assert not found.before[first].any()
    assert not found.after[last].any()


def test_intervals_without_an_answer_are_passed_over():
    logits = np.log(forest.softmax(np.random.default_rng(2).normal(0, 1, (4, CLASSES))))
    rows = rows_of(np.zeros(4, int), long=4)
    rows.told[1] = ""
    found = around.Neighbours.of(rows, logits)
    np.testing.assert_allclose(found.before[2], np.exp(logits[0]), atol=1e-6)
    np.testing.assert_allclose(found.after[0], np.exp(logits[2:]).mean(0), atol=1e-6)
    assert not found.has[1].any()


def test_a_step_of_nothing_leaves_chances_as_they_are():
    rows, logits = lasting(3, count=60)
    neighbours = around.Neighbours.of(rows, logits)
    columns = neighbours.columns().shape[1]
    nothing = around.Step(around.nothing(columns, CLASSES))
    np.testing.assert_allclose(
        forest.softmax(nothing.logits(neighbours)), forest.softmax(logits), atol=2e-4
    )


def test_what_lasts_is_told_better_by_the_intervals_around():
    rows, logits = lasting(4)
    neighbours = around.Neighbours.of(rows, logits)
    step = around.fit(neighbours, rows.right, rows.main, rows.weight)
    fresh, logits = lasting(5)
    told = step.logits(around.Neighbours.of(fresh, logits)).argmax(1)
    alone = (logits.argmax(1) == fresh.main).mean()
    assert alone < 0.7
    assert (told == fresh.main).mean() > alone + 0.12


def test_a_calibration_says_of_fresh_rows_how_often_they_are_right():
    rows, logits = lasting(6)
    found = calibration.calibrate(rows, logits, rows.weight)
    fresh, logits = lasting(7)
    chances, probability, high = found.judged(fresh, logits)
    right = calibration.are_right(fresh, chances)
    assert right.mean() > 0.75
    assert calibration.expected_error(probability, right) < 0.03
    assert not high.any() or right[high].mean() > 0.97


def test_a_whole_is_known_by_the_limitation_of_the_longest_time_alone():
    main = np.array([0, 0, 1, 1, 1, 1, 2, 2, 2])
    rows = rows_of(main, long=3)
    rows.seconds[2] = 3
    chances = np.full((9, CLASSES), 0.1)
    chances[np.arange(9), [0, 0, 1, 1, 1, 2, 2, 2, 0]] = 0.8
    rows.told[8] = ""
    rows.main[3] = -1
    top, answer, right, weight = calibration.wholes(rows, chances, np.full(9, 0.9), np.arange(9.0))
    # 0 for 2 s and 1 for 3 s; the second is not known well enough; of the third two were told.
    assert top.tolist() == pytest.approx([(0.1 + 0.1 + 3 * 0.9) / 5, 0.9])
    assert answer.tolist() == [1, 2]
    assert right.tolist() == [True, True]
    assert weight.tolist() == [0, 6]


def test_a_whole_is_right_where_its_answer_may_have_held_longest():
    rows = rows_of(np.array([0, 0, 0, 1, 1, 1]), long=3)
    rows.right[:, :2] = [[True, True], [True, True], [True, False]] * 2
    chances = np.full((6, CLASSES), 0.1)
    chances[np.arange(6), [1, 1, 0, 2, 2, 0]] = 0.8
    _, answer, right, _ = calibration.wholes(rows, chances, np.full(6, 0.9), np.ones(6))
    # Each interval of the first is right; of the second the answer is right nowhere.
    assert answer.tolist() == [1, 2]
    assert right.tolist() == [True, False]
