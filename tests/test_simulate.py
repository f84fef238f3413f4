"""Simulations and the study, from the command line and from Python."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tcpwhy
from tcpwhy import UsageError
from tcpwhy.study import adaptivity

ROOT = Path(__file__).parents[1]
SCENARIOS = ROOT / "scenarios"


def run(*arguments, cwd=None):
    command = [sys.executable, "-m", "tcpwhy", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False)


def test_truth_covers_the_time_and_the_capture_is_what_the_tap_saw(tmp_path):
    run = tcpwhy.simulate(
        SCENARIOS / "rwnd_buffer.toml",
        table=["truth", "queues", "flows"],
        tap="sender",
        captures=tmp_path,
        duration="5s",
    )
    connection = run.to_duckdb()
    [(begin, end, spans)] = connection.execute(
        "SELECT min(start_ns), max(end_ns), sum(end_ns - start_ns) FROM truth"
        " WHERE side = 'forward'"
    ).fetchall()
    assert (begin, end, spans) == (0, 5 * 10**9, 5 * 10**9)
    [(limit,)] = connection.execute(
        "SELECT \"limit\" FROM truth WHERE side = 'forward'"
        ' GROUP BY "limit" ORDER BY sum(end_ns - start_ns) DESC LIMIT 1'
    ).fetchall()
    assert limit == "receiver_window"
    assert set(run.captures) == {"sender", "receiver", "middle"}
    read = tcpwhy.analyze(run.captures["sender"])
    assert read.rows("flows").__len__() == run.rows("flows").__len__() == 2
    assert read.counters["packets_read"] == run.counters["packets_read"]
    assert run.counters["simulated_packets"] >= run.counters["packets_read"]


def test_the_same_seed_gives_the_same_bytes_and_another_does_not(tmp_path):
    bytes_of = []
    for name, seed in [("a", 5), ("b", 5), ("c", 6)]:
        run = tcpwhy.simulate(
            SCENARIOS / "random_loss_reno.toml",
            seed=seed,
            duration="3s",
            captures=tmp_path / name,
        )
        run.rows()
        bytes_of.append(run.captures["middle"].read_bytes())
    assert bytes_of[0] == bytes_of[1] != bytes_of[2]


def test_several_scenarios_have_outputs_of_their_own(tmp_path):
    names = ["policer_reno", "rwnd_clamp"]
    paths = [SCENARIOS / f"{name}.toml" for name in names]
    outputs = ["-o", tmp_path / "t.csv", "-o", tmp_path / "store", "-o", "-"]
    done = run("simulate", *paths, *outputs, "--duration", "2s", "--captures", tmp_path / "caps")
    assert (done.returncode, done.stderr) == (0, "")
    assert [line for line in done.stdout.splitlines() if line.endswith(".toml:")] == [
        f"{path}:" for path in paths
    ]
    for name in names:
        assert (tmp_path / f"t.{name}.csv").stat().st_size > 1000
        assert (tmp_path / "caps" / f"{name}.sender.pcap").exists()
        store = tcpwhy.Store(tmp_path / "store" / name)
        assert store.query("SELECT count(*) FROM truth").fetchall()[0][0] > 10
    # Another simulation replaces the truth in its store.
    store = tmp_path / "store" / names[0]
    before = tcpwhy.Store(store).query("SELECT count(*) FROM truth").fetchall()
    assert run("simulate", paths[0], "-o", store, "--duration", "2s").returncode == 0
    assert tcpwhy.Store(store).query("SELECT count(*) FROM truth").fetchall() == before


def test_a_bad_scenario_is_named_with_line_key_and_what_is_allowed(tmp_path):
    earlier = tmp_path / "kept.csv"
    earlier.write_text("kept")
    bad = tmp_path / "bad.toml"
    bad.write_text('title = "x"\nduration_s = 1\nlinks.l.forward = [{ delay.delay_s = 1 }]\n')
    done = run("simulate", SCENARIOS / "rwnd_clamp.toml", bad, "-o", earlier)
    assert done.returncode == 2
    assert re.search(r"bad\.toml:3: links\.l\.forward\[0\]\.delay.*`delay_ms`", done.stderr)
    assert earlier.read_text() == "kept"
    assert run("simulate", tmp_path / "none.toml").returncode == 3
    with pytest.raises(UsageError, match="choose the tap"):
        tcpwhy.simulate(SCENARIOS / "rwnd_clamp.toml", table="flows")
    with pytest.raises(UsageError, match="it has sender, receiver, middle"):
        tcpwhy.simulate(SCENARIOS / "rwnd_clamp.toml", table="flows", tap="moon")


def test_scenarios_are_listed():
    done = run("simulate", "--list", cwd=ROOT)
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 1 + len(list(SCENARIOS.glob("*.toml")))


def test_a_figure_is_the_same_with_any_number_of_workers():
    def rows(workers):
        result = adaptivity(2, quick=True, points=3, workers=workers)
        return result.to_duckdb().execute("FROM adaptivity").fetchall()

    assert rows(1) == rows(3)
    assert len(rows(2)) == 4 * 3


def test_figures_take_other_settings_and_refuse_nonsense():
    result = adaptivity(14, quick=True, frequencies_hz=[0.4], values=[20, 60], rate_bps=500_000)
    asked = "SELECT buffer_packets, rate_bps, frequency_hz FROM adaptivity ORDER BY 1"
    assert result.to_duckdb().execute(asked).fetchall() == [
        (20, 500_000, 0.4),
        (60, 500_000, 0.4),
    ]
    for wrong, words in [
        ({"figure": 1}, "2 to 15"),
        ({"figure": 2, "frequencies_hz": [-1.0]}, "frequency must be above 0"),
        ({"figure": 2, "recovery": "vegas", "values": ["vegas"]}, "no recovery 'vegas'"),
        ({"figure": 4, "colour": 1}, "no setting 'colour'"),
        ({"figure": 4, "values": [1]}, "varies no setting"),
    ]:
        with pytest.raises(UsageError, match=words):
            adaptivity(**wrong)


def test_the_dip_shows_even_in_a_quick_figure(tmp_path):
    done = run(
        *("study", "adaptivity", "--figure", "2", "--recovery", "reno"),
        *("--frequency", "0.12", "--frequency", "0.45", "--phases", "1"),
        *("-o", tmp_path / "f.jsonl"),
    )
    assert (done.returncode, done.stderr) == (0, "")
    lines = [json.loads(line) for line in (tmp_path / "f.jsonl").read_text().splitlines()]
    goodput = {line["frequency_hz"]: line["norm_goodput"] for line in lines}
    assert goodput[0.12] > 0.92
    assert 0.60 < goodput[0.45] < 0.75


@pytest.mark.parametrize("figure", [2, 3, 4, 5, 7, 10, 15])
def test_every_kind_of_figure_is_drawn(figure, tmp_path):
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    result = adaptivity(figure, quick=True, points=None if figure in (4, 5, 7, 10) else 3)
    result.save(tmp_path / "figure.svg")
    drawn = (tmp_path / "figure.svg").read_text()
    assert f"Figure {figure}: {result.figure.title}" in drawn
    with pytest.raises(UsageError, match=r"known are \.svg, \.png, \.html"):
        result.save(tmp_path / "figure.gif")


def test_the_numbers_of_the_page_are_those_of_the_simulator():
    # The page is made in half a minute of two cores; a few of its numbers are made again here.
    page = (ROOT / "docs/adaptivity.md").read_text("utf-8")
    least, at = re.search(r"Reno: minimum ([\d.]+) at ([\d.]+)", page).groups()
    result = adaptivity(2, values=["reno"])
    rows = result.to_duckdb().sql(
        "SELECT frequency_hz, avg(norm_goodput) AS g FROM adaptivity GROUP BY 1 ORDER BY g"
    )
    f, goodput = rows.fetchall()[0]
    assert (f"{goodput:.2f}", f"{f:.2f}") == (least, at)
    for svg in (ROOT / "docs/adaptivity").glob("*.svg"):
        assert svg.stat().st_size < 200_000
