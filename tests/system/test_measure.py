"""The active test over loopback: iperf3 at either end, and what today's tools get wrong."""

import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import tcpwhy as package
from tcpwhy.active.session import Parameters

TCPWHY = [sys.executable, "-m", "tcpwhy"]


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class Background:
    """A server that says on standard error or output when it is ready; ended by its own handle."""

    def __init__(self, command, ready):
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.said = ""
        for line in self.process.stdout:
            self.said += line
            if ready in line:
                return
        raise AssertionError(self.said)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
        self.said += self.process.communicate(timeout=10)[0]

    def end(self):
        """Await its own end."""
        self.said += self.process.communicate(timeout=20)[0]
        return self.said


def our_server(port, *options):
    return Background([*TCPWHY, "measure", "-s", "-p", str(port), *options], "listening")


@pytest.fixture
def iperf3_server(tool):
    port = free_port()
    command = [tool("iperf3"), "-s", "-1", "-p", str(port), "--forceflush"]
    with Background(command, "Server listening") as server:
        yield server, port


def measure(tcpwhy, port, *options):
    done = tcpwhy("measure", f"127.0.0.1:{port}", "--json", "-t", "1s", *options)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {kind: [line for line in lines if line["kind"] == kind] for kind in KINDS}


def receive_buffer_max():
    return int(Path("/proc/sys/net/ipv4/tcp_rmem").read_text().split()[2])


KINDS = ("tcp_info", "interval", "end")


@pytest.mark.parametrize(
    ("options", "streams"),
    [([], [True]), (["-R"], [False]), (["-P", "3"], [True] * 3), (["--bidir"], [True, False])],
    ids=["forward", "reverse", "parallel", "both ways"],
)
def test_a_server_of_iperf3_is_enough(tcpwhy, iperf3_server, options, streams):
    server, port = iperf3_server
    ends = measure(tcpwhy, port, *options)["end"]
    assert [end["sends"] for end in ends] == streams
    said = server.end()
    assert "error" not in said
    for end in ends:
        assert end["moved_bytes"] > 0
        if end["sends"]:
            # What iperf3 has read is what was acknowledged, but for what came after the last look,
            # and for what waited unread when it stopped.
            assert end["peer_bytes"] <= 1.2 * end["moved_bytes"]
            assert end["peer_bytes"] >= 0.8 * end["moved_bytes"] - receive_buffer_max()
            assert end["limitation"]
        else:
            assert end["limitation"] is None
            assert "only the sender's kernel knows" in end["evidence"]


@pytest.mark.parametrize(
    "options", [[], ["-R"], ["-P", "3"], ["--bidir"], ["-w", "64K"], ["-6"]], ids=" ".join
)
def test_a_client_of_iperf3_is_served(tool, options):
    port = free_port()
    with our_server(port, "--one-off") as server:
        host = "::1" if "-6" in options else "127.0.0.1"
        command = [tool("iperf3"), "-c", host, "-p", str(port), "-t", "1", "-J", *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
        result = json.loads(done.stdout)
        assert "error" not in result, result["error"]
        assert result["end"]["sum_received"]["bytes"] > 0
        assert result["end"]["sum_sent"]["bytes"] >= result["end"]["sum_received"]["bytes"]
        assert re.search(r"bytes over \d streams? in", server.end())


def test_both_ends_ours_tell_both_sides(tcpwhy):
    port = free_port()
    with our_server(port, "--one-off"):
        found = measure(tcpwhy, port, "-R")
    [end] = found["end"]
    assert end["limitation"]
    assert all(row["cwnd_bytes"] and row["rcvbuf_bytes"] for row in found["interval"])


def test_bytes_are_counted_where_they_arrive(tcpwhy):
    """Bytes counted at write() show more than a link carries: 10.7 to 13.1 of 10 Mbit/s."""
    port = free_port()
    with our_server(port, "--one-off"):
        # The reader takes 20 Mbit/s; buffers take megabytes at once.
        found = measure(tcpwhy, port, "--read", "20M")
    [end] = found["end"]
    assert end["program_bytes"] > end["moved_bytes"]
    assert all(row["moved_bytes"] < end["program_bytes"] for row in found["interval"])


def test_samples_come_while_a_write_blocks(tcpwhy):
    port = free_port()
    with our_server(port, "--one-off"):
        found = measure(tcpwhy, port, "--read", "1M", "--sndbuf", "16Ki", "--rcvbuf", "16Ki")
    [end] = found["end"]
    assert len(found["tcp_info"]) >= 8
    assert end["syscalls"] <= len(found["tcp_info"])
    assert end["word"].startswith(("receiver_window", "sender_window"))


def test_raw_bytes_are_kept(tcpwhy):
    port = free_port()
    with our_server(port, "--one-off"):
        found = measure(tcpwhy, port)
    from base64 import b64decode

    from tcpwhy.host import tcpinfo

    sample = found["tcp_info"][-1]
    assert tcpinfo.decode(b64decode(sample["raw"]))["bytes_acked"] == sample["bytes_acked"]


def test_a_number_of_bytes_is_that_number(tcpwhy):
    port = free_port()
    with our_server(port, "--one-off"):
        [end] = measure(tcpwhy, port, "-n", "3000001")["end"]
    assert end["program_bytes"] == 3_000_001
    assert end["peer_bytes"] == 3_000_001


def test_the_controller_holds_from_the_syn_on(tcpwhy):
    port = free_port()
    with our_server(port, "--one-off"):
        found = measure(tcpwhy, port, "-C", "reno")
    assert {line["controller"] for line in found["tcp_info"]} == {"reno"}


def test_a_busy_server_says_so(tcpwhy):
    port = free_port()
    with our_server(port), socket.create_connection(("127.0.0.1", port)) as first:
        first.sendall(b"a" * 36 + b"\0")
        assert first.recv(1) == b"\x09"
        text = json.dumps({"tcp": True, "parallel": 1, "time": 5}).encode()
        first.sendall(len(text).to_bytes(4, "big") + text)
        assert first.recv(1) == b"\x0a"
        with socket.create_connection(("127.0.0.1", port)) as data:
            data.sendall(b"a" * 36 + b"\0")
            assert first.recv(2, socket.MSG_WAITALL) == b"\x01\x02"
            done = tcpwhy("measure", f"127.0.0.1:{port}")
    assert done.returncode == 3
    assert "busy" in done.stderr


def test_lines_appear_as_time_passes():
    """Text is there each second, also when nobody's terminal reads it."""
    port = free_port()
    with our_server(port, "--one-off"):
        command = [*TCPWHY, "measure", f"127.0.0.1:{port}", "-t", "3s"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as client:
            begin = time.monotonic()
            lines = []
            for line in client.stdout:
                lines.append((time.monotonic() - begin, line))
            client.wait(timeout=10)
    rows = [at for at, line in lines if re.match(r"\s+\d+\.\d\d ", line)]
    last = lines[-1][0]
    assert len(rows) >= 2
    assert rows[0] < last - 0.5, "the first row came with the last"


def test_the_python_api_is_the_same_verb():
    port = free_port()
    with our_server(port, "--one-off"):
        found = package.measure("127.0.0.1", port=port, duration="1s", pace_bps=80_000_000)
    [advice] = found.advice()
    assert advice.word == "application/paced"
    # The first ten segments of loopback, 64 kB each, leave before pacing begins.
    assert found.throughput_bps == pytest.approx(8e7, rel=0.2)
    assert found.to_json()[-1]["cause"] == "application/paced"
    with pytest.raises(package.UsageError, match="exclude each other"):
        package.measure("127.0.0.1", reverse=True, bidir=True)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["measure"], "name a HOST"),
        (["measure", "127.0.0.1:x"], "is no number"),
        (["measure", "127.0.0.1", "-R", "--bidir"], "exclude each other"),
        (["measure", "127.0.0.1", "--sndbuf", "much"], "is not understood"),
        (["measure", "127.0.0.1", "--sweep", "mood=good"], "a sweep is WHAT=VALUE"),
    ],
)
def test_usage(tcpwhy, arguments, says):
    done = tcpwhy(*arguments)
    assert done.returncode == 2
    assert says in done.stderr


def test_nobody_there(tcpwhy):
    done = tcpwhy("measure", f"127.0.0.1:{free_port()}")
    assert done.returncode == 3
    assert "start `tcpwhy measure --server` or `iperf3 -s` there" in done.stderr


def test_a_port_that_is_taken_is_named(tcpwhy):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = tcpwhy("measure", "--server", "--bind", "127.0.0.1", "-p", port)
    assert done.returncode == 3
    assert f"127.0.0.1 port {port}: Address already in use" in done.stderr
    assert "--port" in done.stderr


def test_a_controller_that_is_not_there_is_named(tcpwhy):
    port = free_port()
    with our_server(port, "--one-off"):
        done = tcpwhy("measure", f"127.0.0.1:{port}", "-C", "nonsuch")
    assert done.returncode == 3
    assert "--cc" in done.stderr


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["text", "json"])
def test_what_was_found_is_told_when_the_server_dies(tcpwhy, options):
    port = free_port()
    with our_server(port) as server:
        timer = threading.Timer(2.5, server.process.kill)
        timer.start()
        done = tcpwhy("measure", f"127.0.0.1:{port}", "-t", "20s", *options)
        timer.join()
    assert done.returncode == 3
    assert "the test ended after" in done.stderr
    if options:
        assert json.loads(done.stdout.splitlines()[-1])["moved_bytes"] > 0
    else:
        assert "Transferred" in done.stdout
        assert "\nlimit     " in done.stdout


def test_a_second_interrupt_is_not_needed():
    """Ctrl-C ends a test in order: totals and answer are there."""
    port = free_port()
    with our_server(port, "--one-off"):
        command = [*TCPWHY, "measure", f"127.0.0.1:{port}", "-t", "30s"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as client:
            assert client.stdout.readline().startswith("Connected")
            client.send_signal(signal.SIGINT)
            said = client.stdout.read()
            assert client.wait(timeout=10) == 130
    assert "\nlimit     " in said or said.startswith("limit") or "Transferred" in said


def test_an_interval_can_be_chosen(tcpwhy):
    port = free_port()
    with our_server(port, "--one-off"):
        done = tcpwhy("measure", f"localhost:{port}", "-t", "2s", "-i", "500ms")
    rows = re.findall(r"^ +(\d\.\d\d) ", done.stdout, re.MULTILINE)
    assert len(rows) >= 3
    assert float(rows[1]) - float(rows[0]) == pytest.approx(0.5, abs=0.2)
    assert tcpwhy("measure", "localhost", "-i", "50ms").returncode == 2


def test_no_number_of_bytes_ends_a_test_of_time():
    """The page's tool ends after 10 GiB when nothing is asked for: too soon above 8.6 Gbit/s."""
    parameters = Parameters()
    assert (parameters.bytes, parameters.bytes_of(0)) == (None, None)
    assert (parameters.to_json()["num"], parameters.to_json()["time"]) == (0, 10)


def test_streams_are_told_apart(tcpwhy):
    port = free_port()
    with our_server(port, "--one-off"):
        done = tcpwhy("measure", f"127.0.0.1:{port}", "-t", "1s", "-P", "2")
    assert "Stream 1: transferred" in done.stdout
    assert "Stream 3: transferred" in done.stdout
    assert re.search(r"^In all: [\d,]+ bytes over 2 streams, ", done.stdout, re.MULTILINE)


def test_a_sweep_draws_a_bar_for_each_value(tcpwhy):
    port = free_port()
    with our_server(port):
        done = tcpwhy("measure", f"127.0.0.1:{port}", "-t", "1s", "--sweep", "pace=8M,80M")
    assert done.returncode == 0, done.stderr
    head, *lines = done.stdout.splitlines()
    assert head.split() == ["pace", "throughput", "limit"]
    assert [line.split()[0] for line in lines] == ["8000000", "80000000"]
    assert all("application/paced" in line and "█" in line for line in lines)
