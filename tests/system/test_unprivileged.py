"""Without root: what needs it says so and how to get it, and what does not works."""

import json
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest
from kernel import SCENARIOS
from unprivileged import command, run

WIDE = (SCENARIOS / "wide.toml").resolve()
ALLOWED = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control")


def test_doctor_says_what_is_missing_and_how_to_get_it():
    done = run("doctor", "--format", "jsonl")
    assert done.returncode == 0, done.stderr
    findings = {row["subject"]: row for row in map(json.loads, done.stdout.splitlines())}
    for subject in ("cap_net_raw", "lab: real time", "lab: tcp_probe"):
        assert findings[subject]["remedy"], subject
        assert "root" in findings[subject]["remedy"]
    tun = findings["lab: /dev/net/tun"]
    assert bool(tun["remedy"]) != (tun["state"] == "there: emulated links")
    assert findings["lab: qdiscs"]["state"]


@pytest.fixture
def folder():
    """A folder that everybody may write to; pytest's own are for root."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        yield name


def test_lab_says_what_is_missing(folder):
    done = run("lab", "run", WIDE, "-o", folder)
    if done.returncode == 0:
        pytest.skip("everything that the lab needs is allowed to everybody here")
    assert "Traceback" not in done.stderr
    if done.returncode == 1:
        # All is allowed but tcpdump, which gives up root: a user namespace has no other user.
        assert "tcpdump: Couldn't change" in done.stderr
        assert "not good: wide" in done.stderr
        return
    assert done.returncode == 4, done.stderr
    assert "run as root" in done.stderr
    assert "tcpwhy doctor" in done.stderr


def test_the_kernels_path_needs_root(folder):
    done = run("lab", "run", WIDE, "--emulator", "kernel", "-o", folder)
    assert done.returncode == 4, done.stderr
    assert "needs root" in done.stderr


@pytest.fixture
def server():
    """A server of nobody's, for one test, and its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    line = command("measure", "-s", "--one-off", "-p", port)
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True, cwd="/") as process:
        assert "listening" in process.stderr.readline()
        yield port, process
        process.terminate()


def test_measure_works_in_both_roles(server):
    port, _ = server
    controller = ALLOWED.read_text().split()[0]
    done = run("measure", "127.0.0.1", "-p", port, "-t", "1s", "-C", controller, "--json")
    assert done.returncode == 0, done.stderr
    [end] = [row for row in map(json.loads, done.stdout.splitlines()) if row["kind"] == "end"]
    assert end["moved_bytes"] > 0
    assert end["limitation"]


def test_a_controller_that_is_not_allowed_is_named(server):
    available = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    if not (others := set(available) - set(ALLOWED.read_text().split())):
        pytest.skip("every controller is allowed to everybody here")
    port, process = server
    [other, *_] = others
    done = run("measure", "127.0.0.1", "-p", port, "-t", "1s", "-C", other)
    assert done.returncode != 0
    assert "the server cannot set what was asked for (--cc" in done.stderr
    said = process.stderr.read()
    assert f"not without root: {other}; allowed are" in said
    assert "tcp_allowed_congestion_control" in said


def test_sockets_of_ones_own_are_shown():
    done = run("sockets", "--count", "1", "--all")
    assert done.returncode == 0, done.stderr
