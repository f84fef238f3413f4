"""The active test on the real kernel, over paths whose limits are known."""

import json
import sys
import time

import pytest
from kernel import SCENARIOS, measure_in, needs_root

from tcpwhy.analysis import analyze
from tcpwhy.lab.network import DEVICE, Network
from tcpwhy.lab.scenario import load

HERE = SCENARIOS

CASES = {
    "receive buffer": ("wide", ["--rcvbuf", "64Ki"], {"receiver_window/buffer"}),
    "window clamp": ("wide", ["--window-clamp", "20000"], {"receiver_window/buffer"}),
    "slow reader": (
        "wide",
        ["--read", "4M", "--rcvbuf", "256Ki"],
        {"receiver_window/slow_reader"},
    ),
    "send buffer": (
        "wide",
        ["--sndbuf", "32Ki", "--length", "8Ki"],
        {"sender_window/send_buffer"},
    ),
    "paced socket": ("wide", ["--pace", "7M"], {"application/paced"}),
    "slow program": ("wide", ["-b", "5M"], {"application/idle", "application/paced"}),
    "narrow link": (
        "narrow",
        [],
        {"unshared_bottleneck/queue", "unshared_bottleneck/loss"},
    ),
    "narrow link, BBR": ("narrow", ["-C", "bbr"], {"unshared_bottleneck/queue"}),
    "random loss": ("lossy", ["-C", "reno"], {"random_loss"}),
    "two streams": (
        "narrow",
        ["-P", "2"],
        {"shared_bottleneck/queue", "shared_bottleneck/loss"},
    ),
    "short transfer": ("wide", ["-n", "60k"], {"transport/slow_start"}),
}


SAME_LIMIT = [
    "receive buffer",
    "window clamp",
    "slow reader",
    "send buffer",
    "slow program",
    "paced socket",
    "narrow link",
    "random loss",
]
"""Cases whose capture at the sender gives the verdict of the active test: one run, asked twice."""


def ends(lines):
    return [line for line in lines if line["kind"] == "end"]


@needs_root
@pytest.mark.parametrize("case", [case for case in CASES if case not in SAME_LIMIT])
def test_measure_names_the_limit_that_was_made(case):
    name, options, words = CASES[case]

    with Network(load(HERE / f"{name}.toml")) as network:
        lines = measure_in(network, *options)
    assert ends(lines)
    for end in ends(lines):
        assert end["word"] in words, end


def measured_and_captured(tool, capture, name, options):
    """Give the end of one run by the kernel's accounts, and its flow in a capture at the sender."""
    with Network(load(HERE / f"{name}.toml")) as network:
        command = [tool("tcpdump"), "-i", DEVICE, "-s", "128", "-Z", "root", "-w", str(capture)]
        network.hosts["S"].call("start", name="tcpdump", command=command, ready="listening on")
        [active] = ends(measure_in(network, *options))
        time.sleep(1.2)
        network.hosts["S"].call("stop", name="tcpdump")
    flows = analyze(capture).to_arrow().to_pylist()
    return active, max(flows, key=lambda flow: flow["unique_bytes"])


@needs_root
@pytest.mark.parametrize("case", SAME_LIMIT)
def test_measure_and_a_capture_name_the_limit_that_was_made(tool, tmp_path, case):
    name, options, words = CASES[case]
    active, passive = measured_and_captured(tool, tmp_path / "sender.pcap", name, options)
    told = [passive[column] for column in ("limitation", "cause", "evidence")]
    assert active["word"] in words, active
    assert passive["limitation"] == active["limitation"], (told, active["word"], active["evidence"])


@needs_root
def test_it_reaches_what_iperf3_reaches(tool):
    iperf3 = tool("iperf3")
    with Network(load(HERE / "wide.toml")) as network:
        receiver = network.scenario.hosts["D"]
        network.hosts["D"].call("start", name="iperf3", command=[iperf3, "-s", "-p", "5210"])
        time.sleep(0.5)
        command = [iperf3, "-c", receiver, "-p", "5210", "-t", "4", "-C", "cubic", "-J"]
        theirs = json.loads(network.hosts["S"].call("run", command=command))
        [end] = [x for x in measure_in(network, seconds="4s") if x["kind"] == "end"]
    ours_bps = end["moved_bytes"] * 8 / end["seconds"]
    assert ours_bps >= 0.9 * theirs["end"]["sum_received"]["bits_per_second"]


REMEDIES = {
    "a larger receive buffer": (
        ["--rcvbuf", "128Ki", "--sndbuf", "200Ki", "--length", "16Ki"],
        ["--sndbuf", "200Ki", "--length", "16Ki"],
        "sender_window/send_buffer",
    ),
    "a larger send buffer": (
        ["--sndbuf", "100Ki", "--rcvbuf", "256Ki", "--length", "16Ki"],
        ["--rcvbuf", "256Ki", "--length", "16Ki"],
        "receiver_window",
    ),
    "a larger window clamp": (
        ["--window-clamp", "64000", "--pace", "12M"],
        ["--pace", "12M"],
        "application/paced",
    ),
}


@needs_root
@pytest.mark.parametrize("remedy", REMEDIES)
def test_a_remedy_gains_what_was_promised(tmp_path, remedy):
    before, after, then = REMEDIES[remedy]
    path = tmp_path / "far.toml"
    text = (HERE / "wide.toml").read_text()
    path.write_text(text.replace("delay_ms = 19", "delay_ms = 49").replace("340", "2000"))

    with Network(load(path)) as network:
        options = ("--omit", "1s")
        [limited] = ends(measure_in(network, *options, *before, seconds="4s"))
        [remedied] = ends(measure_in(network, *options, *after, seconds="4s"))
    assert limited["next_limitation"] == then.split("/")[0]
    assert remedied["word"].startswith(then)
    reached = remedied["moved_bytes"] * 8 / (remedied["seconds"] - 1)
    assert limited["headroom_bps"] == pytest.approx(reached, rel=0.2)


@needs_root
def test_a_pace_in_step_with_the_round_trip_is_never_surely_a_window(tool, tmp_path):
    """At 8 Mbit/s two segments leave each 2.9 ms; fourteen such steps are a round trip.

    So each pair leaves 0.2 ms after an acknowledgement, as from a program that room in the send
    buffer wakes. The capture cannot tell them apart; the kernel's accounts can.
    """
    capture = tmp_path / "sender.pcap"
    active, passive = measured_and_captured(tool, capture, "wide", ["--pace", "8M"])
    assert active["word"] == "application/paced"
    assert passive["limitation"] in {"application", "sender_window"}
    assert passive["limitation"] == "application" or passive["confidence"] != "high"


BYSTANDER = {
    "receive buffer": ("wide", ["--rcvbuf", "64Ki"], {"receiver_window/buffer"}),
    "slow reader": (
        "wide",
        ["--read", "4M", "--rcvbuf", "256Ki"],
        # Seen from the sender alone, a window that stays small and one that is read slowly from.
        {"receiver_window/slow_reader", "receiver_window/buffer"},
    ),
    "send buffer": (
        "wide",
        ["--sndbuf", "32Ki", "--length", "8Ki"],
        {"sender_window/send_buffer"},
    ),
    "slow program": ("wide", ["-b", "5M"], {"application/idle", "application/paced"}),
    "paced socket": ("wide", ["--pace", "8M"], {"application/paced"}),
    "random loss": ("lossy", ["-C", "reno"], {"random_loss"}),
    "narrow link": ("narrow", [], {"unshared_bottleneck/queue", "unshared_bottleneck/loss"}),
}
"""What `tcpwhy sockets` says of a test that it knows nothing of but the kernel's diagnostics."""


@needs_root
@pytest.mark.parametrize("case", BYSTANDER)
def test_a_bystander_names_the_limit_too(case):
    name, options, words = BYSTANDER[case]
    tcpwhy = [sys.executable, "-m", "tcpwhy"]

    with Network(load(HERE / f"{name}.toml")) as network:
        near, far = network.hosts["S"], network.scenario.hosts["D"]
        server = [*tcpwhy, "measure", "-s", "--one-off"]
        network.hosts["D"].call("start", name="server", command=server, ready="listening")
        controller = [] if "-C" in options else ["-C", "cubic"]
        test = [*tcpwhy, "measure", far, "-t", "30s", *controller, *options]
        near.call("start", name="test", command=test)
        time.sleep(3)
        watch = [*tcpwhy, "sockets", "--interval", "3s", "--count", "1", "--format", "jsonl"]
        said = near.call("run", command=watch)
        assert near.call("running", name="test")
    [row] = [row for row in map(json.loads, said.splitlines()) if row["out_bytes"] > 10_000]
    assert row["dst"] == far
    assert row["cause"] in words, row["evidence"]


@needs_root
def test_interfaces_lose_nothing():
    with Network(load(HERE / "wide.toml")) as network:
        measure_in(network, seconds="2s")
        for host in network.hosts.values():
            counts = host.call("statistics", device=DEVICE)
            assert counts["tx_drop"] == counts["rx_drop"] == 0
