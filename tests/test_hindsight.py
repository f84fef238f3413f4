"""Intervals in doubt are judged again by those that follow, where a run can wait for them."""

import pytest

import tcpwhy
from tcpwhy import worlds

WORLD = 320_020
"""A random world in whose 13 intervals what is in doubt is judged again."""
AROUND = "the intervals before and after"
VERDICT = {
    "limitation",
    "cause",
    "confidence",
    "probability",
    "alternative",
    "alternative_probability",
    "headroom_bps",
    "gain_unknown",
    "next_limitation",
    "evidence",
    "remedy",
    "speaks_for",
    "speaks_against",
}


@pytest.fixture(scope="module")
def capture(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    path = folder / "world.toml"
    path.write_text(worlds.scenario(WORLD), "utf-8")
    run = tcpwhy.simulate(path, captures=folder)
    for table in run.tables:
        run.to_arrow(table)
    return run.captures["sender"]


@pytest.fixture(scope="module")
def read(capture):
    """Give the intervals as a file tells them, and as a link does: when they end."""
    names = ["intervals", "flows"]
    of_file = tcpwhy.analyze(capture, table=names)
    of_link = tcpwhy.analyze(capture, table=names, pace=5_000.0)
    return [run.to_arrow("intervals").to_pylist() for run in (of_file, of_link)]


def key(row):
    return row["src"], row["src_port"], row["start_ns"]


def test_rows_come_once_each_and_in_the_order_of_time(read):
    of_file, of_link = read
    assert [key(row) for row in of_file] == sorted(map(key, of_file))
    assert len(set(map(key, of_file))) == len(of_file)
    assert sorted(map(key, of_link)) == [key(row) for row in of_file]


def test_what_is_sure_by_itself_stays_and_a_doubt_is_not(read):
    of_file, of_link = read
    at_once = {key(row): row for row in of_link}
    changed = 0
    for row in of_file:
        other = at_once[key(row)]
        if other["confidence"] == "high":
            assert row == other
        else:
            changed += row["limitation"] != other["limitation"]
    assert changed, "of this world the intervals around tell more"


def test_facts_are_the_same(read):
    of_file, of_link = read
    at_once = {key(row): row for row in of_link}
    for row in of_file:
        other = at_once[key(row)]
        for name in row.keys() - VERDICT:
            if not name.startswith("share_"):
                assert row[name] == other[name], name


def test_the_argument_says_what_the_intervals_around_weighed(read):
    of_file, of_link = read

    def argument(row):
        return f"{row['speaks_for']} {row['speaks_against']}"

    assert any(f"{AROUND} (+" in argument(row) for row in of_file)
    assert not any(AROUND in argument(row) for row in of_link)
    # What its own items are sure of needs no others.
    high = [row for row in of_file if row["probability"] and row["probability"] > 0.99]
    assert high
    assert not any(AROUND in argument(row) for row in high)


@pytest.mark.parametrize("workers", [1, 2])
def test_rows_do_not_depend_on_workers_or_on_other_tables(capture, read, workers):
    again = tcpwhy.analyze(capture, table="intervals", workers=workers)
    assert again.to_arrow("intervals").to_pylist() == read[0]
    whole = [
        tcpwhy.analyze(capture, table=names, workers=workers).to_arrow("flows").to_pylist()
        for names in (["flows"], ["flows", "intervals"])
    ]
    assert whole[0] == whole[1]
