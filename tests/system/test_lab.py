"""The lab on the real kernel: the emulator's accuracy, runs that check themselves, no remains."""

import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest
from kernel import SCENARIOS as HERE
from kernel import left_instances, needs_root

from tcpwhy._core import TcpwhyError, UsageError
from tcpwhy.host import tcpinfo
from tcpwhy.lab import check, scenario, verify
from tcpwhy.lab.network import Network
from tcpwhy.lab.run import run
from tcpwhy.lab.scenario import load
from tcpwhy.simulation import find

SCENARIOS = Path(__file__).parents[2] / "scenarios"


@needs_root
@pytest.mark.parametrize("rate_bps", [10_000_000, 100_000_000])
def test_the_rate_is_exact(tmp_path, rate_bps):
    # So long a queue that the link stays busy when the source is held up for a while.
    text = (HERE / "wide.toml").read_text()
    path = tmp_path / "rate.toml"
    path.write_text(text.replace("340", "5000").replace("100_000_000", str(rate_bps)))
    one = load(path)
    sender, receiver = one.hosts["S"], one.hosts["D"]
    with Network(one) as network:
        network.hosts["D"].call("sink", local=(receiver, 9))
        network.hosts["S"].call(
            "flood",
            local=(sender, 10),
            remote=(receiver, 9),
            size=1400,
            pps=2 * rate_bps / 8 / 1442,
            seconds=1.0,
        )
        arrivals = network.hosts["D"].call("arrivals")
        facts = network.stop()
    # Without Ethernet's 4 bytes of checksum: 1400 of payload, 8 UDP, 20 IP, 14 Ethernet.
    seconds = (arrivals[-1] - arrivals[0]) / 1e9
    measured = 1442 * 8 * (len(arrivals) - 1) / seconds
    assert measured == pytest.approx(rate_bps, rel=0.005)
    assert facts["sent"] == facts["delivered"] + facts["dropped"] + facts["unroutable"]


@needs_root
def test_the_delay_is_that_of_the_links():
    one = load(HERE / "wide.toml")
    with Network(one) as network:
        network.hosts["D"].call("echo", local=(one.hosts["D"], 7))
        times = network.hosts["S"].call(
            "round_trips",
            local=(one.hosts["S"], 8),
            remote=(one.hosts["D"], 7),
            count=100,
            every_s=0.01,
        )
    added_ms = [t * 1e3 - 40.0 for t in times if t is not None]
    assert len(added_ms) == 100
    assert min(added_ms) >= 0
    # Both ways together; the requirement is for one.
    assert statistics.median(added_ms) / 2 < 0.5


def true_run(name, tmp_path):
    """Run a scenario of the tests, again on a machine with too much to do; its labels are true."""
    one = load(HERE / f"{name}.toml")
    for _ in range(3):
        shutil.rmtree(tmp_path / name, ignore_errors=True)
        done = run(one, tmp_path / name)
        if not any("too busy" in problem for problem in done.problems):
            break
    assert not done.problems
    checks = [item for expect in one.expect for item in verify.verify(done, expect)]
    assert all(item.holds for item in checks), [str(item) for item in checks]
    return one, done


@needs_root
def test_a_run_leaves_captures_samples_and_facts(tmp_path):
    one, done = true_run("clamp", tmp_path)
    assert set(done.captures) == {"S", "D", "middle"}
    assert all(sample["snd_cwnd"] <= 20 for sample in done.samples(0, "forward"))
    again = check.load(tmp_path / "clamp", one)
    assert again.samples(0, "forward") == done.samples(0, "forward")
    scores, numbers = check.check(again)
    assert {point for point, _, _ in scores} == {"sender", "middle", "receiver"}
    for item in numbers:
        if item.what == "retransmitted_bytes":
            assert item.found == item.true == 0
        if item.what == "unique_bytes":
            assert item.found == pytest.approx(item.true, rel=0.02), item
        if item.what == "rtt_min_ms" and item.point == "sender":
            assert item.found == pytest.approx(item.true, abs=0.3), item


@needs_root
def test_a_proxy_passes_on_what_it_holds_no_more_of(tmp_path):
    one, done = true_run("proxy", tmp_path)
    read, written = (done.deeds(flow, side) for flow, side in ((0, "backward"), (1, "forward")))
    held_bytes = one.flows[1].workload["relay"]["buffer_bytes"]
    assert 0 <= read["bytes"] - written["bytes"] <= held_bytes
    assert written["bytes"] * 8 / one.duration_s == pytest.approx(5e6, rel=0.2)


@needs_root
def test_a_firewall_takes_options_out_of_frames(tmp_path):
    """The kernel at both ends believes that the other one offered nothing."""
    _, done = true_run("firewall", tmp_path)
    for side in ("forward", "backward"):
        assert done.samples(0, side)[-1]["snd_mss"] == 1000
        assert not done.samples(0, side)[-1]["options"] & tcpinfo.OPTION_WSCALE


@needs_root
def test_data_leave_in_the_syn_with_fast_open(tmp_path):
    _, done = true_run("fast_open", tmp_path)
    first, second = (done.samples(flow, "forward")[-1]["options"] for flow in (0, 1))
    assert not first & tcpinfo.OPTION_SYN_DATA
    assert second & tcpinfo.OPTION_SYN_DATA


@needs_root
def test_times_of_the_links_are_those_of_the_traffic(tmp_path):
    """An outage from 2 to 3 s: what the receiver has in between is what was under way."""
    _, done = true_run("outage", tmp_path)
    delivered = [
        (sample["at_s"], sample["bytes_received"])
        for sample in done.samples(0, "backward")
        if sample["bytes_received"]
    ]

    def bytes_at(seconds):
        return max(count for at_s, count in delivered if at_s <= seconds)

    assert bytes_at(1.95) - bytes_at(1.55) > 0.8 * 0.4 * 5e6 / 8
    assert bytes_at(2.95) == bytes_at(2.25)
    assert bytes_at(5) > bytes_at(2.95)


@needs_root
def test_a_label_that_is_not_true_is_refused(tmp_path, tcpwhy):
    """A clamp that never binds: the path is narrower."""

    done = tcpwhy("lab", "run", HERE / "false_label.toml", "-o", tmp_path, "--attempts", "1")
    assert done.returncode == 1
    assert "NOT cwnd is the clamp" in done.stderr


@needs_root
def test_what_linux_does_not_have_is_named():
    with pytest.raises(TcpwhyError, match="no controller bbr3 in Linux"):
        run(load(SCENARIOS / "bottleneck_bbr3.toml"), Path("unused"))


@needs_root
def test_what_is_missing_is_named(tool, tmp_path):
    command = [tool("setpriv"), "--bounding-set=-all", "--inh-caps=-all", sys.executable, "-m"]
    command += ["tcpwhy", "lab", "run", HERE / "wide.toml", "-o", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 4
    assert "CAP_SYS_ADMIN" in done.stderr


def remains():
    """What a lab could leave behind: processes, interfaces, namespaces, settings."""
    listing = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True)
    named = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True)
    sysctls = [
        f"{name} = {Path(f'/proc/sys/net/ipv4/{name}').read_text()}"
        for name in ("tcp_congestion_control", "tcp_rmem", "tcp_wmem", "tcp_no_metrics_save")
    ]
    interfaces = sorted(line.split(":")[1].strip() for line in listing.stdout.splitlines())
    names = [line.split()[0] for line in named.stdout.splitlines()]
    return interfaces, names, sysctls, left_instances()


def inside(mark):
    """Processes whose command line or environment has a mark."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                environment = (entry / "environ").read_bytes()
            except OSError:
                continue
            if mark in environment:
                found.append(int(entry.name))
    return found


def count(word):
    return lambda lines: sum(word in line for line in lines)


MOMENTS = {
    "its tracer starts": (count("lab.tracer"), 1, []),
    "the first host is made": (count("lab.inside"), 1, []),
    "the last host is made": (count("lab.inside"), 2, []),
    "the first capture starts": (count("tcpdump"), 1, []),
    "the last capture runs": (count("tcpdump"), 2, []),
    "a router is made": (count("lab.inside"), 3, ["--emulator", "kernel"]),
    "disciplines are tried": (count("tc -batch"), 1, ["--emulator", "kernel"]),
    "captures of the kernel's path run": (count("tcpdump"), 2, ["--emulator", "kernel"]),
}
"""When it is killed: what runs then, how often, and with which options."""


def slow_tc(folder):
    """A folder with a `tc` that takes its time: on its own it is gone before anyone looks."""
    folder.mkdir()
    tool = folder / "tc"
    tool.write_text(f'#!/bin/sh\nsleep 0.3\nexec {shutil.which("tc")} "$@"\n')
    tool.chmod(0o755)
    return folder


def start_lab(folder, mark, options):
    """A lab whose processes are known by a mark in their environment."""
    name, value = mark.split("=")
    one = "queue_only" if options else "wide"
    command = [sys.executable, "-m", "tcpwhy", "lab", "run", HERE / f"{one}.toml", "-o", folder]
    path = f"{slow_tc(folder / 'tools')}:{os.environ['PATH']}" if options else os.environ["PATH"]
    environment = {**os.environ, name: value, "PATH": path}
    return subprocess.Popen([*command, *options], env=environment, stderr=subprocess.DEVNULL)


def lines_of(mark):
    """Command lines of the processes with a mark."""
    for number in inside(mark.encode()):
        try:
            line = Path(f"/proc/{number}/cmdline").read_bytes()
        except OSError:
            continue
        yield line.replace(b"\0", b" ").decode(errors="replace")


def assert_nothing_is_left(mark, before):
    deadline = time.monotonic() + 20
    while inside(mark.encode()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert inside(mark.encode()) == []
    # Others may make and remove namespaces and interfaces of their own meanwhile: what is gone is
    # not ours, and what is new must go.
    while (new := added(before, remains())) and time.monotonic() < deadline:
        time.sleep(0.5)
    assert new == []


def added(before, after):
    """What is there now and was not, and settings that are others."""
    interfaces, names, settings, instances = (
        set(now) - set(was) for was, now in zip(before, after, strict=True)
    )
    return sorted(interfaces | names | instances) + sorted(settings)


@needs_root
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["KILL", "TERM"])
@pytest.mark.parametrize("moment", MOMENTS)
def test_ended_when_something_has_begun_nothing_is_left(tmp_path, moment, number):
    how_many, least, options = MOMENTS[moment]
    before = remains()
    mark = f"TCPWHY_TEST_MARK={os.getpid()}-{moment}-{number}"
    lab = start_lab(tmp_path, mark, options)
    while lab.poll() is None and how_many(lines_of(mark)) < least:
        time.sleep(0.001)
    assert lab.poll() is None, "it ended before that moment"
    lab.send_signal(number)
    lab.wait(timeout=20)
    assert_nothing_is_left(mark, before)


@needs_root
@pytest.mark.parametrize("seed", range(4))
def test_killed_at_any_moment_nothing_is_left(tmp_path, seed):
    before = remains()
    mark = f"TCPWHY_TEST_MARK={os.getpid()}-{seed}"
    lab = start_lab(tmp_path, mark, [])
    time.sleep(random.Random(seed).uniform(0.2, 6))
    lab.send_signal(signal.SIGKILL)
    lab.wait()
    assert_nothing_is_left(mark, before)


@needs_root
def test_interrupted_it_ends_at_once(tmp_path):
    lab = subprocess.Popen(
        [sys.executable, "-m", "tcpwhy", "lab", "run", HERE / "wide.toml", "-o", tmp_path],
        stderr=subprocess.DEVNULL,
    )
    time.sleep(2)
    lab.send_signal(signal.SIGINT)
    assert lab.wait(timeout=10) == 130


def test_every_scenario_is_one_for_the_kernel_or_says_why_not():
    for path in scenario.every():
        one = load(path)
        assert all(isinstance(reason, str) and reason for reason in one.obstacles())
        for expect in one.expect:
            assert 0 <= expect.from_s < expect.to_s <= one.duration_s
            assert expect.admits(expect.limitation, expect.cause)
            assert not expect.admits("nonsense", "nonsense")


def test_an_unknown_scenario_is_named():
    with pytest.raises(UsageError, match="no scenario 'nowhere'"):
        find("nowhere")
