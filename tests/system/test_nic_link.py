"""What is said of the interfaces that this machine has, and of links made for a test."""

import json
import re
import shutil
import subprocess

import link as links
import pytest

from tcpwhy.host import ethtool
from tcpwhy.host.ethtool import Setting


@pytest.fixture
def interfaces():
    """Name interfaces of every kind that is here."""
    return ethtool.names()


def test_facts_are_those_of_ethtool(interfaces):
    if shutil.which("ethtool") is None:
        pytest.skip("ethtool is not installed")
    compared = sum(compare(name) for name in interfaces)
    assert compared > 0


def compare(name):
    """Compare one interface, and count what could be compared."""
    device, compared = ethtool.read(name), 0
    listed = re.findall(r"^\s*([\w-]+): (on|off)( \[fixed\])?", run("-k", name), re.M)
    ours = {"generic-receive-offload": "rx-gro", "large-receive-offload": "rx-lro"}
    ours |= {"rx-gro-hw": "rx-gro-hw", "tx-vlan-offload": "tx-vlan-hw-insert"}
    ours |= {"tx-tcp-segmentation": "tx-tcp-segmentation"}
    for theirs, state, fixed in listed:
        if theirs in ours and device.features:
            feature = device.features[ours[theirs]]
            assert (feature.active, feature.fixed) == (state == "on", bool(fixed)), theirs
            compared += 1
    rings = re.findall(r"^RX:\s+(\d+)$", run("-g", name), re.M)
    if rings:
        most, now = map(int, rings)
        assert device.rx_ring == Setting(now, most)
        compared += 1
    clock = re.search(
        r"(?:PTP Hardware Clock|Hardware timestamp provider index): (\w+)", run("-T", name)
    )
    if clock:
        number = int(clock[1]) if clock[1].isdigit() else None
        assert device.times.clock == number
        compared += 1
    return compared


def run(*arguments):
    return subprocess.run(["ethtool", *arguments], capture_output=True, text=True).stdout


@pytest.mark.parametrize("taps", [False, True], ids=["veth", "tap"])
def test_doctor_looks_at_interfaces_without_a_card(taps):
    with links.link(taps=taps) as link:
        command = link.python("-m", "tcpwhy", "doctor", links.NEAR, "lo", "--format", "jsonl")
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    found = {row["subject"]: row["state"] for row in rows}
    driver = "tun" if taps else "veth"
    assert found[links.NEAR] == f"driver {driver}"
    assert f"not offered by {driver}" in found[f"{links.NEAR}: timestamps"]
    assert "not offered by loopback" in found["lo: receive ring"]
    assert done.returncode == 0


def test_hardware_timestamps_are_refused_where_there_are_none():
    with links.link() as link:
        command = link.python("-m", "tcpwhy", "monitor", links.NEAR, "--timestamps", "hardware")
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2, done.stderr
    assert "offers no hardware timestamps" in done.stderr
    assert f"tcpwhy doctor {links.NEAR}" in done.stderr
