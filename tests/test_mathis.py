"""The Mathis study: its arithmetic on made-up transfers, a small run in the simulator."""

import json
from math import sqrt

import pytest

from tcpwhy.study.mathis import LOSSES, MSS_BYTES, RTT_S, Point, Study, claims, scenario


def exact(constant, exponent=-0.5, place="kernel", controller="reno", repeats=3):
    """Transfers that follow a formula without noise."""
    points = []
    for loss in LOSSES:
        rate = constant * MSS_BYTES * 8 / RTT_S * loss**exponent
        points += [Point(place, controller, loss, r, rate) for r in range(repeats)]
    return Study(tuple(points), 30)


def test_the_constant_is_found_again():
    [fit] = exact(0.93).fits()
    assert fit.constant == pytest.approx(0.93)
    assert (fit.constant_low, fit.constant_high) == pytest.approx((0.93, 0.93))
    assert fit.exponent == pytest.approx(-0.5)


def test_another_exponent_shows():
    [fit] = exact(0.1, exponent=-0.75, controller="cubic").fits()
    assert fit.exponent == pytest.approx(-0.75)


def test_the_article_in_numbers():
    """1 % of loss, 100 ms, 1460 bytes: 1400 kbit/s; C of 1.22 is the square root of 3/2."""
    [row] = [row for row in exact(sqrt(1.5)).rows() if row.loss == 0.01]
    assert row.ratio == pytest.approx(1, rel=0.01)
    assert row.mathis_bps * 1460 / MSS_BYTES == pytest.approx(1.4e6, rel=0.03)


def test_claims_are_computed():
    said = list(claims(exact(sqrt(1.5) * 2 / 3)))
    assert any("67 % of the model from 1 %" in text for text in said)
    assert any("the rate falls to 50 %" in text for text in said)


def test_the_scenario_has_a_link_for_each_transfer():
    text = scenario("simulator", ["reno", "bbr"], 0.01, 5, 2, 7)
    assert text.count("[links.") == text.count("[[flows]]") == 4
    assert text.count('"reno"') == text.count('"bbr1"') == 2


def test_quick_in_the_simulator(tcpwhy, tmp_path):
    target = tmp_path / "rows.csv"
    done = tcpwhy(
        "study", "mathis", "--quick", "--place", "simulator", "--format", "jsonl", "-o", target
    )
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert {row["controller"] for row in rows} == {"reno", "reno_per_ack", "cubic", "bbr"}
    by = {(row["controller"], row["loss"]): row["measured_bps"] for row in rows}
    assert by["reno", 0.004] > by["reno", 0.02]
    assert by["bbr", 0.02] > 10 * by["reno", 0.02]
    assert len(target.read_text().splitlines()) == len(rows) + 1


def test_an_interrupted_study_goes_on_where_it_stopped(tcpwhy, tmp_path):
    """What is in the file is taken from there: a mark put into it comes out again."""
    journal = tmp_path / "transfers.jsonl"
    command = ("study", "mathis", "--place", "simulator", "-C", "reno", "--seconds", "2")
    command += ("--repeats", "1", "--format", "jsonl", "--resume", journal)
    assert tcpwhy(*command, "--loss", "0.02").returncode == 0
    [line] = journal.read_text().splitlines()
    marked = json.loads(line) | {"throughput_bps": 12345.0}
    other = marked | {"seed": 7, "throughput_bps": 1.0}
    # As a run that was killed leaves it: the last line has no end.
    journal.write_text(f'{json.dumps(marked)}\n{json.dumps(other)}\n{{"seconds": 2.0, "se')
    done = tcpwhy(*command, "--loss", "0.02", "--loss", "0.05")
    assert done.returncode == 0, done.stderr
    assert "2 % loss" not in done.stderr
    assert "5 % loss" in done.stderr
    rows = {row["loss"]: row["measured_bps"] for row in map(json.loads, done.stdout.splitlines())}
    assert rows[0.02] == 12345.0
    assert rows[0.05] > 12345.0
    assert len([json.loads(line) for line in journal.read_text().splitlines()]) == 3


def test_a_file_of_something_else_is_refused(tcpwhy, tmp_path):
    journal = tmp_path / "notes.txt"
    journal.write_text("milk\nbread\n")
    done = tcpwhy("study", "mathis", "--quick", "--place", "simulator", "--resume", journal)
    assert done.returncode == 3
    assert "notes.txt, line 1" in done.stderr
    assert journal.read_text() == "milk\nbread\n"
