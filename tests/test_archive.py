"""Many captures, each on its own: found, done once, done again where they changed, and reported."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import packets
import pytest

from tcpwhy import archive
from tcpwhy._core import InputError

SECOND = 10**9
DATA = Path(__file__).parent / "data"


@pytest.fixture
def captures(tmp_path):
    """Make a folder of captures, each with one transfer from a port of its own."""
    folder = tmp_path / "captures"
    folder.mkdir()
    for at in range(6):
        made = packets.transfer(50 + at, rtt=SECOND // 50, port=40_000 + at)
        (folder / f"{at}.pcap").write_bytes(packets.pcap(made))
    return folder


def flows(store):
    """Read what identifies the flows of a store, and what they carried."""
    with duckdb.connect() as connection:
        rows = f"FROM read_parquet('{store}/flows/*/*.parquet', union_by_name = true)"
        return connection.execute(
            f"SELECT flow_id, direction, unique_bytes {rows} ORDER BY ALL"
        ).fetchall()


def test_captures_are_found_by_name_pattern_and_list(captures, tmp_path):
    names = tmp_path / "list.txt"
    names.write_text(f"# two of them\n{captures}/1.pcap\n\n{captures}/[23].pcap\n")
    found = archive.find([f"{captures}/0.pcap", f"@{names}", f"{captures}/1*"])
    assert [Path(capture.name).name for capture in found] == [f"{at}.pcap" for at in range(4)]


def test_captures_are_found_in_an_object_store(captures):
    pytest.importorskip("fsspec", reason="URLs need fsspec: pip install 'tcpwhy[archive]'")
    found = archive.find([f"file://{captures}/*.pcap"])
    assert len(found) == 6
    with archive.inputs.local_path(found[0].name) as path:
        assert Path(path).read_bytes() == (captures / "0.pcap").read_bytes()


@pytest.mark.parametrize("name", ["nothing.pcap", "no/*.pcap", "@no-list", "file:///no/*.pcap"])
def test_what_fits_nothing_is_named(name):
    with pytest.raises(InputError, match=r"no|nothing"):
        archive.find([name])


def test_a_list_names_its_line(tmp_path):
    names = tmp_path / "list.txt"
    names.write_text("\nmissing.pcap\n")
    with pytest.raises(InputError, match=r"list\.txt, line 2: missing\.pcap"):
        archive.find([f"@{names}"])


def test_each_gives_what_one_by_one_gives_and_goes_on_where_it_stopped(captures, tmp_path, tcpwhy):
    for capture in sorted(captures.iterdir()):
        assert tcpwhy("analyze", capture, "-o", tmp_path / "alone").returncode == 0
    store = tmp_path / "store"
    assert tcpwhy("analyze", "--each", f"{captures}/[0-3].pcap", "-o", store).returncode == 0
    done = tcpwhy("analyze", "--each", f"{captures}/*.pcap", "-o", store)
    assert done.returncode == 0, done.stderr
    assert "4 of them were done by an earlier run" in done.stderr
    assert flows(store) == flows(tmp_path / "alone")


def test_a_capture_that_changed_is_done_again_and_its_rows_are_replaced(captures, tmp_path, tcpwhy):
    store = tmp_path / "store"
    tcpwhy("analyze", "--each", f"{captures}/*.pcap", "-o", store)
    before = flows(store)
    longer = packets.transfer(80, rtt=SECOND // 50, port=40_000)
    (captures / "0.pcap").write_bytes(packets.pcap(longer))
    done = tcpwhy("analyze", "--each", f"{captures}/*.pcap", "-o", store)
    assert "5 of them were done by an earlier run" in done.stderr
    after = flows(store)
    assert len(after) == len(before)
    assert sum(row[2] for row in after) == sum(row[2] for row in before) + 30 * packets.MSS


def test_one_that_is_damaged_is_reported_and_stops_nothing(captures, tmp_path, tcpwhy):
    whole = (captures / "2.pcap").read_bytes()
    (captures / "2.pcap").write_bytes(whole[: len(whole) // 2 + 7])
    (captures / "3.pcap").write_bytes(b"no capture at all, only some text")
    done = tcpwhy("analyze", "--each", f"{captures}/*.pcap", "-o", tmp_path / "store")
    assert done.returncode == 3
    assert "2.pcap: damaged at byte" in done.stderr
    assert "3.pcap: " in done.stderr
    assert len({row[0] for row in flows(tmp_path / "store")}) == 5


def test_a_process_that_dies_costs_only_its_own_capture(captures, tmp_path):
    store = tmp_path / "store"
    outcomes = archive.analyze_each([f"{captures}/*.pcap"], str(store), processes=2)
    names = [next(outcomes).name]
    tree = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    below = [
        child
        for parent in tree
        for child in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    ]
    for child in below:
        os.kill(int(child), signal.SIGKILL)
    names += [outcome.name for outcome in outcomes]
    assert sorted(Path(name).name for name in names) == [f"{at}.pcap" for at in range(6)]
    assert len({row[0] for row in flows(store)}) == 6


def test_an_interrupted_run_says_how_to_go_on(tmp_path):
    folder = tmp_path / "many"
    folder.mkdir()
    for at in range(60):
        shutil.copy(DATA / "slow_reader.pcap", folder / f"{at}.pcap")
    command = [sys.executable, "-m", "tcpwhy", "analyze", "--each", f"{folder}/*.pcap"]
    with subprocess.Popen(
        [*command, "-o", tmp_path / "store", "--processes", "1"], stderr=subprocess.PIPE, text=True
    ) as run:
        notes = tmp_path / "store" / "captures"
        deadline = time.monotonic() + 60
        while not list(notes.glob("*.json")) and time.monotonic() < deadline:
            time.sleep(0.05)
        run.send_signal(signal.SIGINT)
        said = run.communicate(timeout=60)[1]
    assert run.returncode == 130
    assert "the same command goes on" in said
    assert 0 < len(list(notes.glob("*.json"))) < 60


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-o", "rows.parquet"], "a path without a suffix"),
        ([], "--output FOLDER"),
        (["-o", "store", "--workers", "2"], "choose --processes"),
        (
            ["-o", "store", "--cluster", "tcp://127.0.0.1:1"],
            "no Dask scheduler at tcp://127.0.0.1:1",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, said, captures, tmp_path, tcpwhy):
    done = tcpwhy("analyze", "--each", f"{captures}/*.pcap", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_note_tells_what_was_counted(captures, tmp_path):
    outcome = next(archive.analyze_each([f"{captures}/0.pcap"], str(tmp_path / "store")))
    (note,) = (tmp_path / "store" / "captures").glob("*.json")
    said = json.loads(note.read_text())
    assert said["counters"]["packets_read"] == outcome.counters["packets_read"] > 0


def test_a_capture_that_is_split_gives_the_rows_of_the_whole(tmp_path, tcpwhy):
    """All columns of all tables, and the counters add up; the parts are none of them empty.

    Connections between the same hosts are in the same part, since each is judged beside the others.
    """
    frames = [
        # After thirty frames each pauses for a second.
        (ts + SECOND * (at > 30), *rest)
        for port in range(40_000, 40_012)
        for at, (ts, *rest) in enumerate(
            packets.transfer(40 + port % 7, rtt=SECOND // 50, port=port, server=2 + port % 6)
        )
    ]
    capture = tmp_path / "many.pcap"
    capture.write_bytes(packets.pcap(sorted(frames)))
    stores = tmp_path / "whole", tmp_path / "split"
    assert tcpwhy("analyze", "--each", capture, "-o", stores[0]).returncode == 0
    done = tcpwhy("analyze", "--each", capture, "-o", stores[1], "--split", "3")
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith(f"1 captures, {len(frames):,} packets, 12 flows in ")
    for table in ("flows", "intervals", "periods", "stalls"):
        whole, split = (every_row(store, table) for store in stores)
        assert split == whole
        assert whole
    notes = [json.loads(path.read_text()) for path in (stores[1] / "captures").glob("*.json")]
    assert sorted(note["part"] for note in notes) == [0, 1, 2]
    assert all(note["counters"]["flows"] > 0 for note in notes)
    (one,) = (json.loads(path.read_text()) for path in (stores[0] / "captures").glob("*.json"))
    for name, value in one["counters"].items():
        assert sum(note["counters"].get(name, 0) for note in notes) == value, name
    again = tcpwhy("analyze", "--each", capture, "-o", stores[1], "--split", "3")
    assert "1 of them were done by an earlier run" in again.stderr


def every_row(store, table):
    with duckdb.connect() as connection:
        rows = f"FROM read_parquet('{store}/{table}/*/*.parquet', union_by_name = true)"
        # The number of a connection in its capture takes all of them: a part has NULL.
        columns = connection.execute(f"SELECT * {rows} LIMIT 0").description
        own = ", ".join(name for name, *_ in columns if name != "stream")
        return connection.execute(f"SELECT {own} {rows} ORDER BY ALL").fetchall()


def test_damage_of_a_capture_that_is_split_is_told_once(captures, tmp_path, tcpwhy):
    (captures / "3.pcap").write_bytes(b"no capture at all, only some text")
    store = tmp_path / "store"
    done = tcpwhy("analyze", "--each", f"{captures}/3.pcap", "-o", store, "--split", "2")
    assert done.returncode == 3
    assert done.stderr.count("3.pcap: ") == 1
