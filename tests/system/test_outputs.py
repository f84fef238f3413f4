"""Outputs of a live run that block, fail and come back; links that go; a run that is killed."""

import array
import fcntl
import json
import os
import re
import select
import signal
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path

import duckdb
import link as links
import packets
import pytest

import tcpwhy as api

PATIENCE_S = 60
OFTEN = ("--table", "intervals", "--interval", "50ms")


@pytest.fixture
def link():
    with links.link() as made:
        yield made


class Watcher:
    """A monitor whose messages can be waited for."""

    def __init__(self, link, *arguments):
        command = link.python("-m", "tcpwhy", "monitor", links.NEAR, *arguments)
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self.said = []
        self._heard = threading.Condition()
        self._listener = threading.Thread(target=self._listen)
        self._listener.start()
        self.wait("watching")

    def _listen(self):
        for line in self.process.stderr:
            with self._heard:
                self.said.append(line)
                self._heard.notify_all()

    def has_said(self, what):
        return any(what in line for line in self.said)

    def wait(self, what, meanwhile=lambda: None):
        """Wait until it has said something."""
        until = time.monotonic() + PATIENCE_S
        while not self.has_said(what):
            assert time.monotonic() < until, (what, self.said)
            assert self.process.poll() is None, self.said
            meanwhile()
            with self._heard:
                self._heard.wait(0.05)

    def close(self):
        """Be done with it."""
        self.process.kill()
        self.process.wait()
        self._listener.join()
        self.process.stderr.close()

    def end(self, number=signal.SIGINT):
        self.process.send_signal(number)
        code = self.process.wait(PATIENCE_S)
        self._listener.join()
        return code


@pytest.fixture
def watch(link):
    started = []

    def start(*arguments):
        started.append(Watcher(link, *arguments))
        return started[-1]

    yield start
    for watcher in started:
        watcher.close()


class Traffic:
    """A connection that sends a little more whenever it is asked to."""

    def __init__(self, link):
        self._link = link
        self._frames = iter([data for _, data in packets.transfer(20_000)])

    def __call__(self):
        self._link.send([next(self._frames) for _ in range(10)])


@pytest.fixture
def small_disk(tmp_path):
    """Make a file system of 4 MB."""
    folder = tmp_path / "small"
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", folder], capture_output=True, text=True
    )
    if made.returncode:
        pytest.skip(f"no tmpfs can be mounted: {made.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def rows_in(file):
    return [json.loads(line) for line in file.read_text().splitlines()]


def fill(folder):
    """Leave no room on a disk."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                continue
    return filler


def test_a_full_disk_loses_what_it_cannot_take_and_says_so(link, watch, small_disk, tmp_path):
    every, some, store = tmp_path / "all.jsonl", small_disk / "some.jsonl", small_disk / "store"
    watcher = watch(*OFTEN, "-o", every, "-o", some, "-o", store)
    send = Traffic(link)
    until = time.monotonic() + PATIENCE_S
    while not (some.exists() and some.stat().st_size) and time.monotonic() < until:
        send()
        time.sleep(0.02)
    filler = fill(small_disk)
    watcher.wait("some.jsonl: ", meanwhile=send)
    watcher.wait(f"{store}: ", meanwhile=send)
    filler.unlink()
    watcher.wait("some.jsonl: works again", meanwhile=send)
    watcher.wait(f"{store}: works again", meanwhile=send)
    assert watcher.end() == 130
    lines = {file: rows_in(file) for file in (every, some)}
    lost = len(lines[every]) - len(lines[some])
    assert lost > 0
    assert watcher.has_said(f"{some}: {lost:,} rows were lost"), watcher.said
    assert all(row in lines[every] for row in lines[some]), "whole lines of the run"
    [(kept,)] = api.Store(store).query("SELECT count(*) FROM intervals").fetchall()
    assert kept == len(lines[every]), "a store holds rows back until there is room"


def test_a_disk_that_stays_full_is_counted_at_the_end(link, watch, small_disk, tmp_path):
    whole, store = tmp_path / "whole", small_disk / "store"
    watcher = watch(*OFTEN, "-o", whole, "-o", store)
    fill(small_disk)
    watcher.wait(f"{store}: ", meanwhile=Traffic(link))
    assert watcher.end() == 130
    rows = "SELECT (SELECT count(*) FROM intervals) + (SELECT count(*) FROM counters)"
    [wanted], [kept] = (api.Store(path).query(rows).fetchall()[0] for path in (whole, store))
    assert wanted > kept
    said = [line for line in watcher.said if "rows were lost" in line]
    assert said == [f"tcpwhy: {store}: {wanted - kept:,} rows were lost\n"]


def test_a_reader_that_pauses_costs_rows_and_nothing_else(link, watch, tmp_path):
    every, slow = tmp_path / "all.jsonl", tmp_path / "slow.jsonl"
    os.mkfifo(slow)
    reader = os.open(slow, os.O_RDONLY | os.O_NONBLOCK)
    watcher = watch("--table", "intervals", "--interval", "10ms", "-o", every, "-o", slow)
    send = Traffic(link)
    watcher.wait("slow.jsonl: too slow", meanwhile=send)
    read = bytearray()

    def take():
        while select.select([reader], [], [], 0)[0] and (data := os.read(reader, 1 << 16)):
            read.extend(data)

    def both():
        send()
        take()

    watcher.wait("slow.jsonl: caught up", meanwhile=both)
    watcher.process.send_signal(signal.SIGTERM)
    while watcher.process.poll() is None:
        take()
    take()
    os.close(reader)
    assert watcher.process.returncode == 130
    rows = [json.loads(line) for line in read.decode().splitlines()]
    whole = rows_in(every)
    lost = len(whole) - len(rows)
    assert lost > 0
    assert watcher.has_said(f"{slow}: {lost:,} rows were lost"), watcher.said


def test_when_all_readers_have_left_the_run_ends(link, tmp_path):
    command = link.python("-m", "tcpwhy", "monitor", links.NEAR, *OFTEN, "--format", "jsonl")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert b"watching" in process.stderr.readline()
        process.stdout.close()
        send, until = Traffic(link), time.monotonic() + PATIENCE_S
        while process.poll() is None and time.monotonic() < until:
            send()
            time.sleep(0.05)
        assert process.wait(5) == 0, process.stderr.read()


def test_a_link_that_goes_down_is_said(link, watch, tmp_path):
    file = tmp_path / "flows.jsonl"
    watcher = watch("-o", file)
    frames = [data for _, data in packets.transfer(40)]
    link.send(frames[:20])
    link.set("down")
    watcher.wait(f"{links.NEAR} is down")
    link.set("up")
    watcher.wait(f"{links.NEAR} is up again")
    link.send(frames[20:])
    assert watcher.end(signal.SIGHUP) == 130
    found = rows_in(file)
    assert [row["data_packets"] for row in found if row["data_packets"]] == [40]


def test_a_second_signal_ends_a_run_whose_output_blocks(link, watch, tmp_path):
    slow = tmp_path / "slow.jsonl"
    os.mkfifo(slow)
    reader = os.open(slow, os.O_RDONLY | os.O_NONBLOCK)
    watcher = watch("--table", "intervals", "--interval", "10ms", "-o", slow)
    watcher.wait("too slow", meanwhile=Traffic(link))
    watcher.process.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        watcher.process.wait(1)
    watcher.process.send_signal(signal.SIGINT)
    assert watcher.process.wait(PATIENCE_S) == 130
    os.close(reader)


def test_after_kill_9_the_store_has_all_but_the_last_interval(link, watch, tmp_path):
    store = tmp_path / "store"
    watcher = watch(*OFTEN, "-o", store)
    frames = [data for _, data in packets.transfer(300)][:-3]
    for start in range(0, len(frames), 20):
        link.send(frames[start : start + 20])
        time.sleep(0.02)
    newest = "SELECT coalesce(max(end_ns), 0), coalesce(sum(unique_bytes), 0) FROM intervals"
    until = time.monotonic() + PATIENCE_S
    # Only the interval under way is not yet there, however long one waits.
    last_ns = time.time_ns()
    while True:
        [(end_ns, before)] = api.Store(store).query(newest).fetchall()
        if end_ns > last_ns - 60 * 10**9 and before > 0 and settled(store, newest):
            break
        assert time.monotonic() < until
    watcher.end(signal.SIGKILL)
    [(_, after)] = api.Store(store).query(newest).fetchall()
    assert after == before
    whole = 300 * packets.MSS
    assert whole - 50 * packets.MSS <= after <= whole, "at most the last 50 ms are missing"
    again = watch(*OFTEN, "-o", store)
    assert again.end() == 130


def test_a_parquet_file_is_one_file_after_ctrl_c_and_a_store_after_kill_9(link, watch, tmp_path):
    target, lines = tmp_path / "rows.parquet", tmp_path / "rows.jsonl"
    first = watch(*OFTEN, "-o", target, "-o", lines)
    first.wait("rows that wait in")
    send = Traffic(link)
    until = time.monotonic() + PATIENCE_S
    while lines.read_text().count("\n") < 5 and time.monotonic() < until:
        send()
        time.sleep(0.02)
    assert first.end() == 130
    [(rows,)] = duckdb.sql(f"SELECT count(*) FROM '{target}'").fetchall()
    assert rows == len(rows_in(lines))
    assert {path.name for path in tmp_path.iterdir()} == {"rows.parquet", "rows.jsonl"}

    whole = target.read_bytes()
    second = watch(*OFTEN, "-o", target)
    (parts,) = tmp_path.glob("rows.parquet.*.parts")
    count = "SELECT count(*) FROM intervals"
    until = time.monotonic() + PATIENCE_S
    while api.Store(parts).query(count).fetchall() == [(0,)] and time.monotonic() < until:
        send()
        time.sleep(0.02)
    second.end(signal.SIGKILL)
    assert api.Store(parts).query(count).fetchall() > [(0,)]
    assert target.read_bytes() == whole, "the file of the run before is as it was"
    assert watch(*OFTEN, "-o", target).has_said(f"another run has rows in {parts}")


def settled(store, question):
    """Say whether a store has stopped growing: two looks with a flush between them."""
    before = api.Store(store).query(question).fetchall()
    time.sleep(3.5)
    return api.Store(store).query(question).fetchall() == before


def test_files_are_complete_up_to_the_last_line(tmp_path):
    """A disk that fills up leaves whole lines."""
    from tcpwhy.sinks._text import append

    path = Path(tmp_path, "rows")
    with path.open("wb") as file:
        append(file, b"first\n")
        limit(8)
        try:
            with pytest.raises(OSError, match="too large"):
                append(file, b"second\n")
        finally:
            limit(-1)
        append(file, b"third\n")
    assert path.read_bytes() == b"first\nthird\n"


def limit(size):
    """Let this process write files of no more than this size."""
    import resource

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))


def test_a_paced_run_whose_reader_pauses_says_how_many_rows_it_lost(tmp_path):
    capture = tmp_path / "transfer.pcap"
    capture.write_bytes(packets.pcap(packets.transfer(20_000)))
    options = ["--pace", "1000", "--interval", "1us", "--table", "intervals", "--format", "jsonl"]
    command = [sys.executable, "-m", "tcpwhy", "analyze", str(capture), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        # The pipe fills up, and the run goes on to the end of the capture.
        waiting, until = 0, time.monotonic() + PATIENCE_S
        while time.monotonic() < until and (waiting == 0 or waiting != bytes_in(process.stdout)):
            waiting = bytes_in(process.stdout)
            time.sleep(2)
        rows, said = process.communicate(timeout=60)
    (lost,) = re.findall(r"tcpwhy: ([\d,]+) rows were lost", said.decode())
    whole = api.analyze(capture, table="intervals", interval="1us").rows()
    assert len(rows.splitlines()) + int(lost.replace(",", "")) == len(whole)


def bytes_in(pipe):
    """Give how many bytes wait in a pipe."""
    count = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, count)
    return count[0]
