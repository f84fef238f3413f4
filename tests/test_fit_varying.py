"""Which links vary their rate by themselves, as the worlds and scenarios tell the fit."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("xgboost", reason="fits need XGBoost: pip install 'tcpwhy[fit]'")

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
    steady = next(seed for seed in range(500) if not varying.VARIES.search(worlds.scenario(seed)))
    groups = [
        "bottleneck_wifi as it is",
        "bottleneck_cubic a longer path",
        *(f"world {seed}" for seed in seeds.values()),
        f"recording {steady}",
        "a0058",
    ]
    yes, no = varying.known(np.array(groups))
    assert yes.tolist() == [True, False, True, True, True, False, False]
    assert no.tolist() == [False, True, False, False, False, True, False]


def test_a_link_of_ones_own_has_the_output_of_its_kind_and_both_where_nobody_knows():
    made = rows(
        ["bottleneck_wifi", "bottleneck_cubic", "a0058", "bottleneck_wifi"],
        [OWN, OWN, OWN, POLICER],
    )
    right, main = varying.outputs(made)
    last = len(gather.CLASSES)
    assert right.shape == (4, last + 1)
    assert right[:, [OWN, last]].tolist() == [
        [False, True],
        [True, False],
        [True, True],
        [False, False],
    ]
    assert main.tolist() == [last, OWN, OWN, POLICER]
    either = replace(made, right=made.right | np.eye(last, dtype=bool)[POLICER])
    assert varying.outputs(either)[0][:, POLICER].all()
