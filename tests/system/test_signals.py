"""Every command that lasts ends with 130 after a signal, and has written what was finished."""

import shutil
import signal
import subprocess
import sys
import time

import kernel
import packets
import pytest
from browser import analysed

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
PATIENCE_S = 60


@pytest.fixture
def running():
    started = []

    def start(*arguments, **options):
        command = [sys.executable, "-m", "tcpwhy", *map(str, arguments)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        started.append(subprocess.Popen(command, **pipes, **options))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def appears(path):
    """Wait for a file."""
    until = time.monotonic() + PATIENCE_S
    while not path.exists():
        assert time.monotonic() < until, f"no {path}"
        time.sleep(0.02)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_server_of_active_tests(running, number):
    process = running("measure", "--server", "--port", "0")
    assert "listening" in process.stderr.readline()
    process.send_signal(number)
    assert process.wait(PATIENCE_S) == 130
    assert process.stderr.read().strip() == ""


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("after_s", [0, 0.001, 0.005, 0.02, 0.1])
def test_a_dashboard_from_the_moment_it_says_where_it_is(running, number, after_s, tmp_path):
    store = analysed(tmp_path / "store", "slow_reader")
    ends_without_a_word(running("serve", store, "--port", "0"), number, after_s)


def ends_without_a_word(process, number, after_s):
    """Send a dashboard a signal so long after it said where it is."""
    assert "dashboard" in process.stderr.readline()
    time.sleep(after_s)
    process.send_signal(number)
    assert process.wait(PATIENCE_S) == 130
    assert process.stderr.read().strip() == ""


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("after_s", [0, 0.05, 0.1, 0.3, 0.6])
def test_a_dashboard_that_reads_its_store(running, number, after_s, tmp_path):
    """Of many parts, so that a thread is inside DuckDB when the signal comes."""
    store = analysed(tmp_path / "store", "slow_reader")
    part = next((store / "intervals").glob("*/*.parquet"))
    for copy in range(2000):
        shutil.copy(part, part.with_name(f"{copy}.parquet"))
    ends_without_a_word(running("serve", store, "--port", "0"), number, after_s)


@pytest.mark.parametrize("number", SIGNALS)
def test_sockets(running, number):
    process = running("sockets", "--all", "--watch", "--interval", "300ms", "--format", "jsonl")
    # It listens to signals before it looks for the first time; a second look follows the first.
    with subprocess.Popen([sys.executable, "-c", LISTENER], stdout=subprocess.PIPE) as other:
        other.stdout.readline()
        assert process.stdout.readline()
        process.send_signal(number)
        assert process.wait(PATIENCE_S) == 130
        other.kill()


WEEK = """
title = "A week"
duration_s = 604_800
hosts.S = {}
hosts.D = {}
links.l.forward = [{ ELEMENT }]
links.l.backward = [{ delay.delay_ms = 0.001 }]

[[flows]]
from = "S"
to = "D"
path = ["l"]
workload.bulk = {}
"""

LISTENER = """
import socket, time
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
print(flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("number", SIGNALS)
def test_a_paced_run(running, number, tmp_path):
    file = packets.write_transfer(tmp_path / "t.pcap", 5000)
    process = running("analyze", file, "--pace", "0.01", "-o", tmp_path / "store")
    appears(tmp_path / "store" / "flows")
    process.send_signal(number)
    assert process.wait(PATIENCE_S) == 130, process.stderr.read()


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("element", ["rate.rate_bps = 1_000_000_000", "delay.delay_ms = 0.001"])
def test_a_simulation(running, number, element, tmp_path):
    """A week, over a queue that is always full, and over a path where little time passes."""
    file = tmp_path / "week.toml"
    file.write_text(WEEK.replace("ELEMENT", element))
    process = running("simulate", file, "-o", tmp_path / "store")
    appears(tmp_path / "store" / "truth")
    process.send_signal(number)
    assert process.wait(PATIENCE_S) == 130, process.stderr.read()


@kernel.needs_root
@pytest.mark.parametrize("number", SIGNALS)
def test_a_lab(running, number, tmp_path):
    process = running("lab", "run", "recipe_slow_receiver", "-o", tmp_path)
    appears(tmp_path / "recipe_slow_receiver")
    process.send_signal(number)
    assert process.wait(PATIENCE_S) == 130


def test_a_signal_that_was_ignored_stays_ignored(running):
    """As under nohup."""

    def ignore():
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    process = running("measure", "--server", "--port", "0", preexec_fn=ignore)
    assert "listening" in process.stderr.readline()
    process.send_signal(signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.5)
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE_S) == 130
