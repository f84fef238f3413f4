"""How the weights are fitted: rows keep their order, and no draw serves two purposes."""

import ast
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from weights_file import Weights

from accuracy import elsewhere, wild
from fit import gather
from kernel_worlds import judged
from ns3_worlds import draw

ROOT = Path(__file__).resolve().parent.parent
SHIPPED = Weights((ROOT / "crates/core/src/diagnosis/model/weights.bin").read_bytes())
ITEMS = len(gather.items())


def constant(path, name):
    """Read a constant of a module that may need what is not installed."""
    for node in ast.parse((ROOT / path).read_text()).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == name:
            return ast.literal_eval(node.value)
    raise AssertionError(f"{path} has no {name}")


def constant_of_core(path, name):
    """Read a number that core declares."""
    [number] = re.findall(rf"^const {name}: \w+ = ([\d.e-]+);", (ROOT / path).read_text(), re.M)
    return float(number)


def part(flows, starts, right, *, group="world 1", tap="sender"):
    """Make the arrays of a capture: item 0 of a row is its number."""
    count = len(flows)
    rows = pa.table(
        {
            "flow_id": flows,
            "direction": ["orig"] * count,
            "start_ns": starts,
            "end_ns": [start + 2 * 10**9 for start in starts],
            "limitation": [None, *["application"] * (count - 1)],
        }
    )
    numbers = np.arange(count, dtype=float)
    seen = {name: np.full(count, np.nan) for name in gather.items()}
    seen[gather.items()[0]] = numbers
    return gather.part(rows, pa.table(seen), right, group, tap, weight=2.0)


def test_a_part_keeps_directions_together_and_in_the_order_of_time():
    # Two flows whose intervals come in turns, the first of them backwards.
    made = part([9, 4, 9, 4], [30, 10, 20, 40], [["policer"], None, ["application"], ["policer"]])
    assert made["values"][:, 0].tolist() == [2, 0, 1, 3]
    assert made["series"].tolist() == [0, 0, 1, 1]
    words = [gather.CLASSES[number] if number >= 0 else None for number in made["main"]]
    assert words == ["application", "policer", None, "policer"]
    assert made["told"].tolist() == ["application", "", "application", "application"]
    assert made["seconds"].tolist() == [2.0] * 4
    assert set(made["weight"]) == {2.0}
    assert made["values"].shape == (4, ITEMS)
    assert np.isnan(made["values"][:, 1:]).all()


def test_several_answers_can_be_right_and_the_first_is_the_main_one():
    made = part([1, 1], [0, 10], [["policer", "random_loss"], ["no such word"]])
    flags = [[gather.CLASSES[at] for at in np.flatnonzero(row)] for row in made["right"]]
    assert [set(flag) for flag in flags] == [{"policer", "random_loss"}, set()]
    assert made["main"].tolist() == [gather.CLASSES.index("policer"), -1]


def test_of_a_world_with_many_intervals_some_stand_for_all():
    first = gather.CLASSES[0]
    many = part([1] * 60, list(range(0, 600, 10)), [[first]] * 60, group="world 1")
    few = part([2] * 3, [0, 10, 20], [[first], None, [first]], group="world 2")
    rows = gather.Rows(**gather.joined([many, few]))
    kept = gather.thinned(rows, 12)
    by_world = {name: kept.weight[kept.group == name] for name in ("world 1", "world 2")}
    assert len(by_world["world 1"]) == 12
    # 60 of weight 2 would be five each, and no row stands for more than four.
    assert set(by_world["world 1"]) == {2.0 * 4}
    # What nobody could tell is not kept.
    assert by_world["world 2"].tolist() == [2.0, 2.0]
    assert (kept.main >= 0).all()
    numbers = kept.values[kept.group == "world 1", 0]
    assert (np.diff(numbers) > 0).all()


def of_case(number):
    """Give two captures of a case: one of two flows, and one of a single flow."""
    word = gather.CLASSES[number % len(gather.CLASSES)]
    group = f"case {number}"
    first = part([1, 2, 1], [0, 0, 10], [[word], None, [word]], group=group)
    return [first, part([3], [5], [[word]], group=group, tap="receiver")]


def same(one, other):
    for name in vars(one):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


def test_joined_parts_have_series_of_their_own():
    made = gather.joined([*of_case(0), *of_case(1)])
    assert made["series"].tolist() == [0, 0, 1, 2, 3, 3, 4, 5]
    assert made["group"].tolist() == ["case 0"] * 4 + ["case 1"] * 4
    assert made["tap"].tolist() == (["sender"] * 3 + ["receiver"]) * 2


def test_sources_that_are_put_together_share_no_series():
    each = [gather.Rows(**gather.joined(of_case(number))) for number in range(3)]
    whole = gather.together(each)
    assert whole.series.tolist() == [0, 0, 1, 2, 3, 3, 4, 5, 6, 6, 7, 8]
    assert len(whole.main) == sum(len(one.main) for one in each)
    np.testing.assert_array_equal(whole.values, np.concatenate([one.values for one in each]))
    # Equal numbers lie together: the filter over time takes neighbours for one direction.
    assert (np.diff(whole.series) >= 0).all()
    # What is put together is not changed.
    assert each[1].series.tolist() == [0, 0, 1, 2]


@pytest.fixture
def in_threads(monkeypatch):
    """Gather two cases a file, without processes."""
    monkeypatch.setattr(
        gather, "ProcessPoolExecutor", lambda workers, mp_context: ThreadPoolExecutor(workers)
    )
    monkeypatch.setattr(gather, "PER_FILE", 2)


def test_a_run_that_was_stopped_goes_on_and_gives_the_same_rows(in_threads, tmp_path):
    whole = gather.gather("w", range(5), of_case, tmp_path / "whole")
    asked = []

    def until(last):
        def one(number):
            asked.append(number)
            if number > last:
                raise KeyboardInterrupt
            return of_case(number)

        return one

    with pytest.raises(KeyboardInterrupt):
        gather.gather("w", range(5), until(2), tmp_path / "cut")
    asked.clear()
    resumed = gather.gather("w", range(5), until(9), tmp_path / "cut")
    assert sorted(asked) == [2, 3, 4]
    same(resumed, whole)
    asked.clear()
    same(gather.gather("w", range(5), until(-1), tmp_path / "cut"), whole)
    assert asked == []


def test_other_cases_and_other_names_are_other_files(in_threads, tmp_path):
    gather.gather("w", range(2), of_case, tmp_path)
    other = gather.gather("w", range(2, 4), of_case, tmp_path)
    assert other.group.tolist() == ["case 2"] * 4 + ["case 3"] * 4
    gather.gather("held", range(2), of_case, tmp_path)
    assert len(list(tmp_path.glob("*.npz"))) == 3


def test_no_seed_of_a_world_serves_two_purposes():
    lines = [line for line in SHIPPED.head.splitlines() if "worlds: " in line]
    assert len(lines) > 1, "and those of the fits before"
    fitted = [
        range(int(first), int(last) + 1)
        for line in lines
        for first, last in re.findall(r"(\d+) to (\d+)", line)
    ]
    candidates_from = constant("tools/fit/__main__.py", "CANDIDATES_FROM")
    chosen = [found for line in lines for found in re.findall(r"chosen of (\d+) from (\d+)", line)]
    assert {int(first) for _, first in chosen} == {candidates_from}
    candidates = range(candidates_from, candidates_from + max(int(count) for count, _ in chosen))
    held = [int(s) for s in re.findall(r"seeds (\d+) to (\d+)", SHIPPED.line("calibrated"))[0]]
    assert held[0] == constant("tools/fit/__main__.py", "CALIBRATE_FROM")
    consistent = constant("tools/consistency/__main__.py", "WORLDS_FROM")
    others = [
        range(held[0], held[1] + 1),
        range(wild.JUDGED_FROM, wild.JUDGED_FROM + wild.WORLDS),
        range(consistent, consistent + constant("tools/consistency/__main__.py", "WORLDS")),
    ]
    assert all(len(span) > 0 for span in [*fitted, *others])
    for one in others:
        for other in [*fitted, candidates, *others]:
            apart = one.stop <= other.start or other.stop <= one.start
            assert apart or one is other, (one, other)
    # Whatever is below where judging begins may be fitted, and what is above the candidates.
    for span in [*fitted, others[0]]:
        assert span.stop <= wild.JUDGED_FROM or span.start >= candidates.stop


def seeds_of(line, kind):
    """Give the seeds of a generator that a line of the head names."""
    [(first, last)] = re.findall(rf"{kind} (\d+) to (\d+)", SHIPPED.line(line))
    return range(int(first), int(last) + 1)


def test_no_seed_of_another_generator_serves_two_purposes():
    for kind, judging in (("turned", elsewhere.TURNED), ("ns3", draw.JUDGING)):
        three = [seeds_of("others", kind), seeds_of("calibrated", kind), judging]
        three.sort(key=lambda span: span.start)
        assert all(len(span) > 0 for span in three)
        assert three[0].stop <= three[1].start, kind
        assert three[1].stop <= three[2].start, kind
    # A turned world and a plain one of the same seed have much in common.
    plain = seeds_of("worlds", "seeds")
    for span in (seeds_of("calibrated", "turned"), elsewhere.TURNED):
        assert plain.stop <= span.start or span.stop <= plain.start


def test_no_draw_of_variants_serves_two_purposes():
    judged = constant("tools/accuracy/__main__.py", "DRAW")
    draws = [gather.DRAW_FIT, gather.DRAW_CALIBRATE, judged]
    assert len(set(draws)) == len(draws)
    said = f"draw {gather.DRAW_FIT},"
    assert said in SHIPPED.line("variants")
    assert f"variants of draw {gather.DRAW_CALIBRATE};" in SHIPPED.line("calibrated")


def test_draws_are_different_variants():
    drawn = [gather.variants(draw, 1) for draw in (gather.DRAW_FIT, gather.DRAW_CALIBRATE)]
    fitted, held = ({(case.name, str(case.spec)) for case in cases} for cases in drawn)
    assert fitted
    assert not fitted & held
    # The same draw is the same variants.
    again = gather.variants(gather.DRAW_FIT, 1)
    assert {(case.name, str(case.spec)) for case in again} == fitted


def test_core_weighs_neighbours_as_they_were_weighed_in_the_fit():
    for file, name in (("hindsight", "LATER"), ("tally", "NEWEST"), ("model/around", "LEAST")):
        in_core = constant_of_core(f"crates/core/src/diagnosis/{file}.rs", name)
        assert in_core == constant("tools/fit/around.py", name), name


def test_real_captures_that_judge_are_not_fitted():
    fitted, judging = (
        {one.capture for found in gather.real_halves(judges) for one in found}
        for judges in (False, True)
    )
    assert fitted
    assert judging
    assert not fitted & judging


def test_recordings_are_of_worlds_of_one_purpose(tmp_path):
    seeds = range(800_000, 800_010)
    judging = {seed for seed in seeds if judged.purpose(seed) == "judge"}
    assert 0 < len(judging) < len(seeds)
    asked = []

    def judged_alone(seed):
        asked.append(seed)
        return []

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(judged, "seeds", lambda folder, span: list(seeds))
        patched.setattr(judged, "of_world", lambda folder, seed: judged_alone(seed))
        judged.report(tmp_path, None)
    assert set(asked) == judging


def test_the_shipped_weights_are_whole_and_their_calibration_rises():
    assert SHIPPED.left_over == b""
    assert SHIPPED.line("outputs").split() == [*gather.CLASSES, *wild.KINDS]
    assert SHIPPED.line("items").split() == gather.items()[: ITEMS // 2]
    curves = [
        (SHIPPED.knots, SHIPPED.cuts),
        (SHIPPED.revised_knots, SHIPPED.revised_cuts),
        (SHIPPED.whole_knots, SHIPPED.whole_cuts),
    ]
    for knots, cuts in curves:
        assert (np.diff(knots[:, 0]) > 0).all()
        assert (np.diff(knots[:, 1]) >= 0).all()
        assert 0 < cuts[0] < cuts[1] < 1
    assert SHIPPED.step.shape == (3 * len(gather.CLASSES) + 3, len(gather.CLASSES))
    # An answer is the likelier, the likelier it is by the interval itself and by those around.
    own, before, after = (SHIPPED.step[at : at + 9].diagonal() for at in (0, 9, 19))
    assert (own > 0).all()
    assert before.mean() > 0
    assert after.mean() > 0
    assert SHIPPED.prior.sum() == pytest.approx(1, abs=1e-3)
    assert (SHIPPED.prior >= 0).all()
