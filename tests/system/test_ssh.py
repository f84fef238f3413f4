"""A real SSH over a long path: its window limits, and not one of TCP."""

import os
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

import tcpwhy as api
from tcpwhy.lab import scenario
from tcpwhy.lab.network import Network

PATH = """
title = "A long path without a limit of its own"
seed = 1
duration_s = 20

[hosts.S]
[hosts.D]

[links.wan]
forward = [
    { rate = { rate_bps = 400_000_000, queue.drop_tail.limit_bytes = 5_000_000 } },
    { delay.delay_ms = 50 },
]
backward = [{ rate.rate_bps = 100_000_000 }, { delay.delay_ms = 50 }]

[[flows]]
from = "S"
to = "D"
path = ["wan"]
workload.bulk = {}
"""
PORT = 2222
SECONDS = 9
SENT = f"""
    SELECT limitation, cause, confidence, evidence, remedy FROM intervals
    WHERE src_port = {PORT} AND unique_bytes > 10_000_000 ORDER BY start_ns
"""


@contextmanager
def running(host, *command):
    """Run a program in the namespace of a host."""
    inside = ["nsenter", "-t", str(host.pid()), "-n", *map(str, command)]
    process = subprocess.Popen(inside, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def transfer(folder, tool):
    """Give captures at both ends of a transfer over SSH, and what the kernel said meanwhile."""
    if os.geteuid() != 0:
        pytest.skip("network namespaces and sshd need root")
    sshd, ssh, keygen = (tool(name) for name in ("/usr/sbin/sshd", "ssh", "ssh-keygen"))
    for name in ("host", "user"):
        subprocess.run([keygen, "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    Path("/run/sshd").mkdir(exist_ok=True)
    (folder / "path.toml").write_text(PATH)
    world = scenario.load(folder / "path.toml")
    of_server = {
        "Port": PORT,
        "HostKey": folder / "host",
        "PidFile": folder / "sshd.pid",
        "AuthorizedKeysFile": folder / "user.pub",
        "StrictModes": "no",
        "PermitRootLogin": "yes",
    }
    options = [word for key, value in of_server.items() for word in ("-o", f"{key}={value}")]
    client = ["-p", PORT, "-i", folder / "user", "-o", "StrictHostKeyChecking=no"]
    client += ["-o", f"UserKnownHostsFile={folder}/known", f"root@{world.hosts['S']}"]
    dump = ("-i", "link0", "-s", "128", "-B", "32768", "-Z", "root", "-U", "-w")
    with Network(world) as network:
        network.begin(time.monotonic())
        hosts = {name: network.hosts[name] for name in "SD"}
        captures = {name: folder / f"{name}.pcap" for name in "SD"}
        with (
            running(hosts["S"], tool("tcpdump"), *dump, captures["S"], "tcp"),
            running(hosts["D"], tool("tcpdump"), *dump, captures["D"], "tcp"),
            running(hosts["S"], sshd, "-D", "-f", "/dev/null", *options),
        ):
            time.sleep(1)
            with running(hosts["D"], ssh, *client, "head -c 2G /dev/zero"):
                time.sleep(SECONDS)
                asked = ["nsenter", "-t", str(hosts["S"].pid()), "-n", "ss", "-tin"]
                kernel = subprocess.run(
                    [*asked, "sport", "=", f":{PORT}"], capture_output=True, text=True, check=True
                ).stdout
            time.sleep(0.5)
        network.stop()
    return captures, kernel


def test_the_window_of_ssh_is_the_applications(tmp_path, tool):
    """The kernel says so as well: it waited neither for its send buffer nor for the receiver."""
    captures, kernel = transfer(tmp_path, tool)
    assert "app_limited" in kernel, kernel
    assert "sndbuf_limited" not in kernel
    assert "rwnd_limited" not in kernel
    for capture in captures.values():
        analysis = api.analyze(capture, table=["intervals"]).to_duckdb()
        rows = analysis.execute(SENT).fetchall()
        assert len(rows) >= 2
        assert {limitation for limitation, *_ in rows} == {"application"}
        named = [row for row in rows if row[1] == "application/flow_control"]
        assert len(named) >= len(rows) - 1, "the first interval has its slow start"
        assert any(confidence == "high" for _, _, confidence, *_ in named)
        for *_, evidence, remedy in named:
            assert "of its waits ended right after a message of the other side" in evidence
            assert "the window of SSH" in remedy
