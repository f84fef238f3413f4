"""Random worlds: the same again for a seed, rows that belong together, truth as recorded."""

import subprocess
import sys
import tomllib

import pytest

from tcpwhy import UsageError, worlds

pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def rows():
    return worlds.judged(18)


def test_a_seed_gives_the_same_world_and_the_same_rows(rows):
    assert worlds.scenario(18) == worlds.scenario(18)
    assert worlds.judged(18).equals(rows)
    assert worlds.scenario(18) != worlds.scenario(19)


def test_rows_have_the_interval_the_truth_and_the_flow(rows):
    assert len(rows) > 0
    assert {"world", "tap", "limitation", "true_limitation", "flow_rtt_min_ns"} <= set(
        rows.column_names
    )
    for row in rows.to_pylist():
        assert row["flow_start_ns"] <= row["start_ns"]
        assert (row["true_limitation"] is None) == (row["untellable"] is not None)
        if row["true_limitations"]:
            assert row["true_limitations"].split()[0] == row["true_limitation"]
        assert 0 <= row["link_busy"] <= 1.01


def test_taps_can_be_chosen():
    rows = worlds.judged(18, taps=["sender"])
    assert set(rows["tap"].to_pylist()) == {"sender"}


SCENARIO = """
title = "a window of 20 kB over 40 ms"
duration_s = 10
[hosts.S]
[hosts.D]
[links.wan]
forward = [{ rate.rate_bps = 50_000_000 }, { delay.delay_ms = 20 }]
[[flows]]
from = "S"
to = "D"
path = ["wan"]
workload.bulk = {}
"""


@pytest.mark.parametrize(
    ("extra", "limitation"),
    [
        ("peer_tcp.receive_buffer_bytes = 20_000", "receiver_window"),
        ("tcp.send_buffer_bytes = 20_000", "sender_window"),
        ('tcp = { send_buffer_bytes = 20_000, nagle = "on" }', "sender_window"),
        ("tcp.pacing_rate_bps = 1_000_000", "application"),
        ("", "unshared_bottleneck"),
    ],
)
def test_the_truth_of_plain_cases(extra, limitation):
    assert second_interval(extra)["true_limitation"] == limitation


@pytest.mark.parametrize(
    ("extra", "right"),
    [
        ('tcp = { controller = "bbr1", cwnd_clamp_bytes = 30_000 }', "sender_window transport"),
        ('tcp.controller = "bbr1"\npeer_tcp.receive_buffer_bytes = 60_000', "receiver_window"),
        ('tcp.controller = "bbr1"', "unshared_bottleneck"),
    ],
)
def test_a_controller_that_paces_at_the_rate_of_a_window_is_held_by_it(extra, right):
    assert second_interval(extra)["true_limitations"] == right


def second_interval(extra):
    """Give the second interval of which the truth is known."""
    rows = worlds.judged_scenario("plain.toml", SCENARIO + extra).to_pylist()
    return [row for row in rows if row["true_limitation"]][1]


def test_a_bad_seed_is_refused():
    with pytest.raises(UsageError, match="seed of a world"):
        worlds.scenario(-1)


def test_the_command_writes_a_scenario_that_runs(tmp_path):
    tcpwhy = [sys.executable, "-m", "tcpwhy", "simulate"]
    path = tmp_path / "world.toml"
    subprocess.run([*tcpwhy, "--world", "18", "--write", str(path)], check=True)
    assert path.read_text() == worlds.scenario(18)
    assert tomllib.loads(path.read_text())["seed"] == 18
    shown = subprocess.run([*tcpwhy, "--world", "18"], check=True, capture_output=True, text=True)
    assert "what limits the sender" in shown.stdout
    refused = subprocess.run([*tcpwhy, "--write", "x.toml"], capture_output=True, text=True)
    assert refused.returncode == 2
    assert "--world" in refused.stderr
