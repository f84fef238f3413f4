"""What the tests on the real kernel share."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCENARIOS = Path(__file__).parent / "lab"
needs_root = pytest.mark.skipif(
    os.geteuid() != 0 or not Path("/dev/net/tun").exists() or not shutil.which("ethtool"),
    reason="the lab needs root, /dev/net/tun and ethtool (apt-get install ethtool)",
)


def measure_in(network, *options, seconds="5s"):
    """Run the active test between the two hosts of a network; its lines of JSON."""
    hosts = network.scenario.hosts
    tcpwhy = [sys.executable, "-m", "tcpwhy", "measure"]
    network.hosts["D"].call(
        "start", name="server", command=[*tcpwhy, "-s", "--one-off"], ready="listening"
    )
    controller = [] if "-C" in options else ["-C", "cubic"]
    length = [] if "-n" in options else ["-t", seconds]
    command = [*tcpwhy, hosts["D"], "--json", *controller, *length, *options]
    said = network.hosts["S"].call("run", command=command)
    return [json.loads(line) for line in said.splitlines()]


def instances():
    """What tracers of the lab have in the kernel; read without mounting anything here."""
    script = "mount -t tracefs n /sys/kernel/tracing 2>/dev/null; ls /sys/kernel/tracing/instances"
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True)
    return [name for name in done.stdout.split() if name.startswith("tcpwhy-")]


def left_instances():
    """Those whose tracer is gone: other labs may run meanwhile."""
    gone = [name for name in instances() if not Path("/proc", name[len("tcpwhy-") :]).exists()]
    # A tracer removes its instance as the last thing it does.
    return [name for name in gone if name in instances()]
