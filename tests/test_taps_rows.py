"""Two points by their rows, of stores, Parquet and DuckDB: no packet is needed again."""

import json
import shutil
from pathlib import Path

import duckdb
import pytest
from test_taps import SHIFT_S, directions, shifted

import tcpwhy as package
from tcpwhy import taps
from tcpwhy._core import InputError, UsageError
from tcpwhy.sinks import open_sink, pour

DATA = Path(__file__).parent / "data"


def store(capture, path, *, segments=False):
    """Analyse a capture into a store."""
    tables = ["flows", "segments"] if segments else ["flows"]
    sink = open_sink(f"{path}/", format=None, tables=tables)
    chosen = {"flow": 0} if segments else {}
    pour(package.analyze(capture, table=tables, **chosen).batches(), [sink])
    sink.close()
    return path


def parquet(capture, path):
    """Write the flows of a capture as one file."""
    with package.analyze(capture, table="flows").to_duckdb() as connection:
        connection.execute(f"COPY flows TO '{path}'")
    return path


def database(capture, path):
    """Write the flows of a capture into a file of DuckDB."""
    with package.analyze(capture, table="flows").to_duckdb() as connection:
        connection.execute(f"ATTACH '{path}' AS kept; CREATE TABLE kept.flows AS FROM flows")
    return path


def folder(capture, path):
    """Copy the Parquet files of a store elsewhere, without what says that it is one."""
    store(capture, path)
    (path / "tcpwhy.json").unlink()
    return path


def one(first, second):
    (pair,) = taps.pairs(first, second)
    return pair, next(row for row in pair.directions if row.direction == "orig")


KINDS = [(store, ""), (folder, ""), (parquet, ".parquet"), (database, ".duckdb")]


@pytest.mark.parametrize(("make", "suffix"), KINDS)
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("loss_sender", "loss_middle"),
        ("loss_middle", "loss_receiver"),
        ("bulk_tbf_receiver", "bulk_tbf_sender"),
    ],
)
def test_the_place_of_loss_is_that_of_the_packets(make, suffix, first, second, tmp_path):
    captures = [DATA / f"{name}.pcap" for name in (first, second)]
    points = [make(path, tmp_path / f"{path.stem}{suffix}") for path in captures]
    pair, row = one(*points)
    exact, expected = one(*captures)
    assert (pair.by_segments, exact.by_segments) == (False, True)
    assert Path(pair.near).stem == Path(exact.near).stem
    losses = ("sent", "lost_before", "lost_between", "lost_beyond", "unseen", "loss_place")
    assert [getattr(row, name) for name in losses] == [getattr(expected, name) for name in losses]
    assert row.delay_share is None
    # Sums know the handshake alone: the offset is as good as its round trip.
    apart = abs(pair.clocks.offset_ns - exact.clocks.offset_ns)
    assert apart <= pair.clocks.error_ns + exact.clocks.error_ns


def test_a_store_is_compared_with_a_capture(tmp_path):
    near = store(DATA / "loss_middle.pcap", tmp_path / "s")
    _, row = one(near, DATA / "loss_receiver.pcap")
    assert (row.lost_between, row.loss_place) == (13, "between")


def test_segments_that_were_kept_tell_all_that_packets_do(tmp_path):
    names = ("bulk_tbf_middle", "bulk_tbf_receiver")
    captures = [DATA / f"{name}.pcap" for name in names]
    points = [store(path, tmp_path / path.stem, segments=True) for path in captures]
    pair, row = one(*points)
    exact, expected = one(*captures)
    assert pair.by_segments
    assert (row, pair.clocks) == (expected, exact.clocks)
    assert row.delay_share > 0.95


@pytest.mark.parametrize("is_swapped", [False, True])
def test_another_clock_is_found_from_rows(is_swapped, tmp_path):
    copy = tmp_path / "receiver.pcap"
    shifted(DATA / "loss_receiver.pcap", copy, SHIFT_S)
    points = [
        store(DATA / "loss_middle.pcap", tmp_path / "a"),
        store(copy, tmp_path / "b"),
    ]
    sign = 1
    if is_swapped:
        points.reverse()
        sign = -1
    bounds = taps.clocks(*map(str, points))
    assert bounds.least_ns <= sign * SHIFT_S * 10**9 <= bounds.most_ns
    assert bounds.error_ns < 25e6
    rows = taps.merge_rows(*points).to_pylist()
    kept = taps.point(str(points[0])).flows()
    assert [row["flow_id"] for row in rows] == [kept[0]["flow_id"]] * 2
    assert abs(rows[0]["start_ns"] - kept[0]["start_ns"]) < 45e6
    # Of the half with the data, the row of the point nearer to its sender.
    (data,) = [row for row in rows if row["data_packets"]]
    assert data["data_packets"] == 1395


@pytest.mark.parametrize("seconds", [0, 37, -5])
@pytest.mark.parametrize("is_swapped", [False, True])
def test_rows_of_one_direction_each_become_one_connection(seconds, is_swapped, tmp_path):
    out, back = directions(DATA / "bulk_tbf_middle.pcap", tmp_path, seconds)
    points = [store(out, tmp_path / "a"), store(back, tmp_path / "b")]
    true_ns = seconds * 10**9
    if is_swapped:
        points.reverse()
        true_ns = -true_ns
    bounds = taps.clocks(*map(str, points))
    assert bounds.least_ns <= true_ns <= bounds.most_ns
    rows = taps.merge_rows(*points, bounds=bounds).to_pylist()
    assert [row["direction"] for row in rows] == ["orig", "resp"]
    assert len({row["flow_id"] for row in rows}) == 1
    assert {row["conn_state"] for row in rows} == {"SF"}
    assert all(row["handshake_seen"] for row in rows)
    assert rows[0]["end_ns"] - rows[0]["start_ns"] == pytest.approx(7.7e9, abs=1.1e9)
    with pytest.raises(InputError, match="no connection in common"):
        list(taps.pairs(*points))


def test_connections_that_one_point_has_alone_are_kept(tmp_path):
    a = store(DATA / "loss_middle.pcap", tmp_path / "a")
    store(DATA / "slow_reader.pcap", a)
    b = store(DATA / "loss_receiver.pcap", tmp_path / "b")
    rows = taps.merge_rows(a, b).to_pylist()
    assert len(rows) == len(taps.point(str(a)).flows())
    assert len({row["flow_id"] for row in rows}) == 2


def test_the_command_merges_stores_and_says_where_the_loss_is(tcpwhy, tmp_path):
    points = [
        store(DATA / f"{name}.pcap", tmp_path / name, segments=True)
        for name in ("bulk_tbf_middle", "bulk_tbf_receiver")
    ]
    target = tmp_path / "rows.jsonl"
    done = tcpwhy("taps", *points, "--merge", "-o", target)
    assert done.returncode == 0, done.stderr
    assert "loss arises between the two points" in done.stderr
    assert "100 % of the round trip's" in done.stderr
    rows = [json.loads(line) for line in target.read_text().splitlines()]
    assert {row["direction"] for row in rows} == {"orig", "resp"}
    done = tcpwhy("taps", *points, "--merge", "--flow", "1:none", "-o", target)
    assert (done.returncode, target.read_text()) == (0, "")


def test_what_is_no_point_is_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    duckdb.connect(tmp_path / "none.duckdb").close()
    with pytest.raises(InputError, match="no Parquet files in flows/"):
        taps.point(str(tmp_path / "empty"))
    with pytest.raises(UsageError, match="no table flows"):
        taps.point(str(tmp_path / "none.duckdb"))
    with pytest.raises(InputError, match="no such file"):
        taps.point(str(tmp_path / "missing.parquet"))
    a = store(DATA / "loss_middle.pcap", tmp_path / "a")
    b = store(DATA / "slow_reader.pcap", tmp_path / "b")
    with pytest.raises(InputError, match="no connection in common"):
        taps.clocks(str(a), str(b))
    shutil.rmtree(b / "flows")
    with pytest.raises(InputError, match="no Parquet files in flows/"):
        taps.point(str(b))
