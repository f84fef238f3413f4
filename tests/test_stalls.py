"""The stalls table names gaps that Wireshark shows and that a scenario made."""

import subprocess
from pathlib import Path

import pytest

from tcpwhy import UsageError, analyze, simulate, vocabulary

DATA = Path("tests/data")
SECOND = 10**9

SCENARIO = """
title = "A link of 20 Mbit/s and 40 ms"
duration_s = 12
[hosts.S]
[hosts.D]
[links.wan]
forward = [{{ delay.delay_ms = 20 }}, {{ rate.rate_bps = 20_000_000 }}{element}]
backward = [{{ delay.delay_ms = 20 }}]
[[flows]]
from = "S"
to = "D"
path = ["wan"]
{flow}
"""


def rows(result, columns):
    """Read the rows of the table, the longest of each direction first."""
    query = f"SELECT {columns} FROM stalls ORDER BY direction, rank"
    return result.to_duckdb().execute(query).fetchall()


@pytest.fixture
def simulated(tmp_path):
    """Simulate a flow, and read the stalls that a capture at its sender shows."""

    def run(flow, columns, element="", table="stalls"):
        path = tmp_path / "scenario.toml"
        path.write_text(SCENARIO.format(flow=flow, element=element))
        return rows(simulate(path, table=table, tap="sender"), columns)

    return run


@pytest.fixture
def shark(tool):
    """Ask tshark for fields of the frames of a capture that a filter selects."""

    def ask(capture, shown, *fields):
        command = [tool("tshark"), "-r", capture, "-Y", shown, "-T", "fields"]
        command += [word for field in fields for word in ("-e", field)]
        run = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
        return [line.split("\t") for line in run.stdout.splitlines()]

    return ask


def test_the_longest_pauses_are_those_that_tshark_shows(shark):
    capture = DATA / "application.pcap"
    found = rows(analyze(capture, table="stalls"), "frame_before, frame_after, end_ns - start_ns")
    deltas = shark(capture, "tcp", "frame.number", "frame.time_delta_displayed")
    longest = sorted(deltas, key=lambda row: (-float(row[1]), int(row[0])))[:10]
    assert [after for _, after, _ in found] == [int(frame) for frame, _ in longest]
    for (before, after, length), (_, delta) in zip(found, longest, strict=True):
        assert before == after - 1
        assert length / SECOND == pytest.approx(float(delta), abs=1e-8)


def test_closed_windows_end_where_tshark_sees_an_update(shark):
    capture = DATA / "slow_reader.pcap"
    columns = "frame_before, frame_after, ended_by, stall_cause"
    found = rows(analyze(capture, table="stalls"), columns)
    updates = shark(capture, "tcp.analysis.window_update", "frame.number")
    closed = shark(capture, "tcp.analysis.zero_window", "frame.number")
    assert {after for _, after, *_ in found} <= {int(frame) for (frame,) in updates}
    assert {ended for *_, ended, _ in found} == {"window_update"}
    of_zero = {before for before, *_, cause in found if cause == "zero_window"}
    assert of_zero
    assert of_zero <= {int(frame) for (frame,) in closed}


def test_a_transfer_that_losses_never_stop_has_none():
    assert rows(analyze(DATA / "loss_sender.pcap", table="stalls"), "*") == []


def test_a_reader_that_pauses_closes_the_window(simulated):
    flow = "workload.bulk = {}\nreader.pausing.pauses_s = [[2.0, 7.0]]"
    columns = "end_ns - start_ns, flight_size, ended_by, owner, stall_cause"
    longest = simulated(flow, columns)[0]
    assert longest[1:] == (0, "window_update", "receiver_window", "zero_window")
    # The buffer fills before the window closes, and the window opens when the pause ends.
    assert 4 * SECOND < longest[0] < 5 * SECOND


def test_an_outage_is_waited_out_timeout_by_timeout(simulated):
    columns = "end_ns - start_ns, ended_by, owner, stall_cause, frame_before, frame_after"
    found = simulated("workload.bulk = {}", columns, ", { outage.spans_s = [[2.0, 3.5]] }")
    again, lost, first = found[:3]
    assert [row[1:4] for row in (first, lost, again)] == [
        ("rto_retransmission", "recovery", "retransmission_timeout"),
        ("rto_retransmission", "recovery", "lost_retransmission"),
        ("rto_retransmission", "recovery", "lost_retransmission"),
    ]
    # The timer doubles (RFC 6298 section 5.5), and each wait begins with the frame that failed.
    assert again[0] / lost[0] == pytest.approx(2, abs=0.01)
    assert (first[5], lost[5]) == (lost[4], again[4])


def test_an_idle_application_stalls_between_its_writes(simulated):
    flow = "workload.chunks = { chunk_bytes = 20_000, interval_ms = 1_500, count = 5 }"
    found = simulated(flow, "end_ns - start_ns, flight_size, stall_cause, stall_events, rank")
    assert [row[1:4] for row in found] == [(0, "nothing_to_send", 4)] * 4
    # A chunk takes a round trip or two of the 1.5 s.
    assert all(1.3 * SECOND < length < 1.5 * SECOND for length, *_ in found)
    assert found == sorted(found, key=lambda row: row[4])


def test_a_server_is_told_from_the_client_that_it_waits_for(simulated):
    flow = """workload.request_response = { request_bytes = 300, response_bytes = 20_000,
        think_ms = 900, serve_ms = 400, count = 4 }"""
    columns = "direction, stall_cause, round((end_ns - start_ns) / 1e7)::INT"
    found = simulated(flow, columns)
    assert found == [
        *[("orig", "nothing_to_send", 90)] * 3,
        *[("orig", "peer_awaited", 40)] * 4,
        *[("resp", "peer_awaited", 90)] * 3,
        # Of 400 ms and the way of the answer, seen at the client.
        *[("resp", "nothing_to_send", 44)] * 4,
    ]


def test_more_than_ten_are_counted(tmp_path):
    columns = "rank, stall_events, stall_total_ns, end_ns - start_ns"
    result = analyze(DATA / "application.pcap", table=("stalls", "counters"))
    connection = result.to_duckdb()
    found = connection.execute(f"SELECT {columns} FROM stalls ORDER BY rank").fetchall()
    assert [row[0] for row in found] == [*range(1, 11)]
    assert {row[1] for row in found} == {39}
    assert found[0][2] > sum(row[3] for row in found)
    counted = "SELECT value FROM counters WHERE name = 'stalls_left_out'"
    assert connection.execute(counted).fetchall() == [(29,)]


def test_every_cause_has_its_words():
    words = [reason.word for reason in vocabulary.reasons("stall_cause")]
    assert "zero_window" in words
    assert len(set(words)) == len(words)
    with pytest.raises(UsageError):
        analyze(DATA / "application.pcap", table="stall")


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet", "txt", ""])
def test_every_format_has_them(tcpwhy, tmp_path, suffix):
    target = tmp_path / f"stalls.{suffix}" if suffix else f"{tmp_path}/store/"
    run = tcpwhy("analyze", DATA / "application.pcap", "--table", "stalls", "-o", target)
    assert run.returncode == 0, run.stderr
    if suffix == "":
        count = tcpwhy("query", target, "SELECT count(*) AS n FROM stalls", "--format", "csv")
        assert count.stdout.split() == ["n", "10"]
    elif suffix != "parquet":
        assert "nothing_to_send" in target.read_text()


def test_a_store_tells_the_stalls_of_its_flows(tcpwhy, tmp_path):
    store = f"{tmp_path}/store/"
    assert tcpwhy("analyze", DATA / "slow_reader.pcap", "-o", store).returncode == 0
    told = " ".join(tcpwhy("explain", store).stdout.split())
    assert "Stalls 234 ms from 1.04 s on: the receiver's window had no room" in told
    assert "There were 33 stalls" in told
