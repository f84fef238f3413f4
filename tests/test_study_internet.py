"""The case study of the paper as a command: tables that can be checked by hand, and files."""

import csv
import json
from pathlib import Path

import duckdb
import pytest

from tcpwhy import _core
from tcpwhy.study import roots
from tcpwhy.study.survey import survey

pytest.importorskip("altair", reason="charts need the extra plot")
pytest.importorskip("vl_convert", reason="charts need the extra plot")

SECOND = 10**9
CAPTURES = ["tests/data/slow_reader.pcap", "tests/data/bulk_tbf_middle.pcap"]


@pytest.fixture
def connection(batch_of):
    """Tables with the rows that are given."""
    made = duckdb.connect()

    def fill(**given):
        for table in ("flows", "intervals", "periods"):
            rows = given.get(table, ())
            made.register("rows", batch_of(table, *rows) if rows else _core.Rows(table, []))
            made.execute(f"CREATE OR REPLACE TABLE {table} AS FROM rows")
        return made

    yield fill
    made.close()


def flow(n, **more):
    known = {"flow_id": n, "direction": "orig", "data_packets": 301, "handshake_seen": True}
    return known | {"end_ns": 100 * SECOND} | more


def interval(n, **more):
    known = {"flow_id": n, "direction": "orig", "data_packets": 9, "end_ns": SECOND}
    scores = {"dispersion_score": 0.9, "retransmission_score": 0.0, "rwnd_score": 0.0}
    scores |= {"burstiness_score": 0.99, "retransmission_seed": 0.0, "burstiness_seed": -1.0}
    return known | scores | {"limitation_siekkinen": "transport", "limitation": "policer"} | more


def test_the_tree_is_asked_where_the_paper_asks_it(connection):
    """Flows with a handshake, more than 300 data packets, a capacity, in bulk transfer."""
    flows = [flow(1), flow(2, handshake_seen=False), flow(3, data_packets=300)]
    rows = [
        interval(1),
        interval(1, dispersion_score=None),
        interval(1, limitation_siekkinen="application"),
        interval(1, limitation_siekkinen=None, limitation=None),
        interval(2),
        interval(3),
    ]
    counted, every, found = roots.roots(connection(flows=flows, intervals=rows))
    assert (counted, every) == (1, 6)
    by_word = {root.limitation: root for root in found}
    assert (by_word["transport"].tree, by_word["transport"].seed) == (1, 1)
    assert by_word["policer"].ours == 1
    assert by_word["none"].every == pytest.approx(1 / 6)


@pytest.mark.parametrize(
    ("scores", "answer"),
    [
        ({"dispersion_score": 0.19}, "unshared_bottleneck"),
        ({"retransmission_seed": 0.011}, "shared_bottleneck"),
        ({"rwnd_score": 0.51, "burstiness_seed": -999.0}, "receiver_window"),
        ({"rwnd_score": 0.51, "burstiness_seed": -1000.0}, "shared_bottleneck"),
        ({"rwnd_score": 0.51, "burstiness_seed": None}, "receiver_window"),
        ({"retransmission_seed": 0.001}, "mixed"),
        ({"rwnd_score": None}, "none"),
        ({}, "transport"),
    ],
)
def test_the_prototypes_formulas_go_through_the_papers_tree(connection, scores, answer):
    rows = [interval(1, **scores)]
    _, _, found = roots.roots(connection(flows=[flow(1)], intervals=rows))
    assert [root.limitation for root in found if root.seed] == [answer]


def test_idle_time_is_that_of_large_directions(connection):
    periods = [
        {"flow_id": 1, "direction": "orig", "kind": "ALP", "end_ns": 25 * SECOND},
        {"flow_id": 1, "direction": "orig", "kind": "BTP", "end_ns": 75 * SECOND},
        {"flow_id": 2, "direction": "orig", "kind": "ALP", "end_ns": 75 * SECOND},
    ]
    flows = [flow(1, share_application=0.5), flow(2, data_packets=3, share_application=1.0)]
    paper, ours = roots.idle(connection(flows=flows, periods=periods))
    assert (paper.directions, paper.points[50], paper.none) == (1, 0.25, 0)
    assert (ours.directions, ours.points[50]) == (1, 0.5)


def test_the_tree_with_the_right_formulas_is_that_of_the_rows():
    """Two ways to the same answer: the core's, and the study's SQL fed with the core's scores."""
    import tcpwhy

    captures = sorted(Path("tests/data").glob("*.pcap"))
    rows = tcpwhy.analyze(captures, table=["intervals"], interval="500ms").to_duckdb()
    tree = roots._SEED_TREE.replace("retransmission_seed", "retransmission_score")
    tree = tree.replace("burstiness_seed <= -1000", "burstiness_score <= 0.914")
    tree = tree.replace("rwnd_score", "greatest(rwnd_score, rwnd_time_score)")
    query = f"""SELECT count(*), count(*) FILTER (tree IS DISTINCT FROM limitation_siekkinen)
        FROM (SELECT *, {tree} AS tree FROM intervals)
        WHERE limitation_siekkinen <> 'application' AND dispersion_score IS NOT NULL"""
    compared, different = rows.execute(query).fetchall()[0]
    assert compared > 20
    assert different == 0


def test_each_capture_is_a_trace_and_the_shares_are_over_all():
    found = survey(CAPTURES)
    assert [trace.name for trace in found.traces] == ["slow_reader.pcap", "bulk_tbf_middle.pcap"]
    flows = [trace.study.trace.flows for trace in found.traces]
    assert found.whole.trace.flows == sum(flows) == 2
    assert all(trace.cpu_s > 0 for trace in found.traces)
    assert sum(root.every for root in found.roots) == pytest.approx(1)


def test_the_command_writes_tables_and_figures(tcpwhy, tmp_path):
    out = tmp_path / "study"
    done = tcpwhy("study", "internet", *CAPTURES, "-o", out, "--format", "jsonl")
    assert done.returncode == 0, done.stderr
    assert done.stdout == (out / "study.txt").read_text()
    assert "Table I" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100
    traces = [json.loads(line) for line in (out / "traces.jsonl").read_text().splitlines()]
    assert [row["trace"] for row in traces] == ["slow_reader.pcap", "bulk_tbf_middle.pcap"]
    assert {path.name for path in out.glob("*.png")} >= {"roots.png", "dispersion_score.png"}
    assert (out / "throughput.svg").read_text().startswith("<svg")


def test_what_cannot_be_read_is_told_and_the_rest_is_there(tcpwhy, tmp_path):
    bad = tmp_path / "bad.pcap"
    bad.write_bytes(b"no capture at all, but long enough for a head")
    out = tmp_path / "study"
    done = tcpwhy("study", "internet", bad, CAPTURES[0], "-o", out)
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1
    assert str(bad) in done.stderr
    rows = list(csv.DictReader((out / "traces.csv").read_text().splitlines()))
    assert [row["tcp_flows"] for row in rows] == ["", "1"]
    done = tcpwhy("study", "internet", bad)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (3, "", 1)
    done = tcpwhy("study", "internet", tmp_path / "nothing.pcap")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (3, "", 1)
