"""Which links vary their rate by themselves, as the worlds and scenarios tell the fit."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("xgboost", reason="fits need XGBoost: pip install 'tcpwhy[fit]'")

from accuracy import wild
from fit import gather, varying
from tcpwhy import worlds

OWN = gather.CLASSES.index("unshared_bottleneck")
POLICER = gather.CLASSES.index("policer")


def rows(groups, mains):
    right = np.eye(len(gather.CLASSES), dtype=bool)[mains]
    empty = np.zeros(len(mains))
    return gather.Rows(
        empty, right, np.array(mains), empty, empty, np.array(groups), empty, empty, empty
    )


def test_scenarios_and_worlds_tell_and_captures_do_not():
    seeds = {
        kind: next(seed for seed in range(500) if kind in worlds.scenario(seed))
        for kind in ("wifi = ", "walk = ", "trace = ")
    }
    steady = next(seed for seed in range(500) if not wild.kinds(seed))
    groups = [
        "bottleneck_wifi as it is",
        "bottleneck_cubic a longer path",
        *(f"world {seed}" for seed in seeds.values()),
        f"recording {steady}",
        "a0058",
    ]
    told, is_known = varying.known(np.array(groups))
    wifi, steady = [True, False], [False, False]
    assert told[:2].tolist() == [wifi, steady]
    for row, kind in ((2, 0), (3, 1), (4, 1)):
        assert told[row, kind]
    assert told[5:].tolist() == [steady, steady]
    assert is_known.tolist() == [True] * 6 + [False]


def test_a_link_of_ones_own_has_the_output_of_its_kind_and_all_where_nobody_knows():
    made = rows(
        ["bottleneck_wifi", "bottleneck_cubic", "a0058", "bottleneck_wifi", "bottleneck_trace"],
        [OWN, OWN, OWN, POLICER, OWN],
    )
    right, main = varying.outputs(made)
    first = len(gather.CLASSES)
    assert right.shape == (5, first + 2)
    assert right[:, [OWN, first, first + 1]].tolist() == [
        [False, True, False],
        [True, False, False],
        [True, True, True],
        [False, False, False],
        [False, False, True],
    ]
    assert main.tolist() == [first, OWN, OWN, POLICER, first + 1]
    either = replace(made, right=made.right | np.eye(first, dtype=bool)[POLICER])
    assert varying.outputs(either)[0][:, POLICER].all()
