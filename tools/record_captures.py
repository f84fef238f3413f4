#!/usr/bin/env python3
"""Records the captures of tests/data with the kernel's TCP in network namespaces.

    sudo python3 tools/record_captures.py [NAME…] [--output DIR]

Each scenario has one intended limit. After a recording its facts must show that this limit bound:
TCP_INFO of the sender, counters of the shaper and of the drop rule, lateness of the delay links;
else the recording fails and nothing is kept. The facts go to facts.json beside the captures.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path as FilePath
from typing import Any

from capture_path import Path
from capture_scenarios import SCENARIOS, Scenario

TOOLS = FilePath(__file__).parent
DATA = TOOLS.parent / "tests" / "data"
PORT = 5001
FILE_BYTES_MAX = 1_000_000
# A delay link later than this in 1 of 100 frames did not make the path that was meant.
LATE_US_P99_MAX = 2_000

Facts = dict[str, Any]
# Where tcpdump runs for each suffix of a file name.
TAPS = {
    "sender": ("sender", "s0"),
    "middle": ("middle", "m0"),
    "receiver": ("receiver", "r0"),
    "any": ("middle", "any"),
    "mon": ("middle", "mon"),
}


def record(scenario: Scenario, folder: FilePath) -> Facts:
    """Runs one scenario and leaves its captures in `folder`; gives the facts."""
    with Path(scenario.limits) as path:
        receiver = path.start(
            "receiver",
            sys.executable,
            str(TOOLS / "capture_peer.py"),
            "receive",
            str(PORT),
            *scenario.receive,
        )
        assert receiver.stdout is not None
        receiver.stdout.readline()
        dumps = [start_tcpdump(path, scenario, tap, folder) for tap in scenario.taps]
        sender = path.start(
            "sender",
            sys.executable,
            str(TOOLS / "capture_peer.py"),
            "send",
            scenario.limits.receiver,
            str(PORT),
            f"--bytes={scenario.bytes}",
            *scenario.send,
        )
        try:
            samples, errors = sender.communicate(timeout=40)
            received, _ = receiver.communicate(timeout=10)
        except subprocess.TimeoutExpired as late:
            raise RuntimeError(f"{scenario.name}: the transfer did not end in time") from late
        if sender.returncode or receiver.returncode:
            raise RuntimeError(f"{scenario.name}: {errors}")
        time.sleep(1.5)  # libpcap hands over a block of frames after 1 s at the latest
        captured = {tap: stop_tcpdump(dump) for tap, dump in zip(scenario.taps, dumps, strict=True)}
        final = json.loads(samples.splitlines()[-1])
        facts: Facts = {
            "sender": final,
            "receiver": json.loads(received.splitlines()[-1]),
            "tcpdump": captured,
        } | path.facts()
    check(scenario, facts)
    return facts


def file_name(scenario: Scenario, tap: str) -> str:
    """The name of a capture: with the place only where one scenario was captured at several."""
    return f"{scenario.name}{f'_{tap}' if len(scenario.taps) > 1 else ''}.pcap"


def start_tcpdump(
    path: Path, scenario: Scenario, tap: str, folder: FilePath
) -> subprocess.Popen[str]:
    """Starts a capture and waits until it runs."""
    role, device = TAPS[tap]
    dump = path.start(
        role,
        "tcpdump",
        "-n",
        "-i",
        device,
        "-s",
        str(scenario.snaplen),
        "-B",
        "8192",
        "--time-stamp-precision=nano",
        "-Z",
        "root",
        "-U",
        "-w",
        str(folder / file_name(scenario, tap)),
        "tcp",
        "and",
        "port",
        str(PORT),
    )
    assert dump.stderr is not None
    for line in dump.stderr:
        if "listening on" in line:
            return dump
    raise RuntimeError(f"tcpdump on {device} did not start")


def stop_tcpdump(dump: subprocess.Popen[str]) -> dict[str, int]:
    """Ends a capture; how many packets it has and how many the kernel dropped."""
    dump.terminate()
    _, text = dump.communicate(timeout=10)
    numbers = {
        line.split(" ", 1)[1]: int(line.split()[0])
        for line in text.splitlines()
        if line[:1].isdigit()
    }
    captured = next(n for words, n in numbers.items() if words.endswith("captured"))
    return {"captured": captured, "dropped": numbers["packets dropped by kernel"]}


def check(scenario: Scenario, facts: Facts) -> None:
    """Refuses a recording in which the intended limit did not bind, or that is incomplete."""
    sender: dict[str, float] = facts["sender"]
    tbf: dict[str, int] = facts.get("tbf", {})
    busy = max(sender["busy_time"], 1)
    numbers = sender | {
        "goodput_bps": scenario.bytes * 8 / sender["seconds"],
        "busy_share": sender["busy_time"] / 1e6 / sender["seconds"],
        "rwnd_share": sender["rwnd_limited"] / busy,
        "tbf_drops": tbf.get("drops", 0),
        "dropped_by_rule": facts.get("dropped_by_rule", 0),
    }
    facts["shown"] = {
        key: numbers[key] for key in ("goodput_bps", "busy_share", "rwnd_share", "total_retrans")
    }
    if facts["receiver"]["received"] != scenario.bytes:
        raise RuntimeError(f"{scenario.name}: not all bytes arrived: {facts['receiver']}")
    if not scenario.bound(numbers):
        raise RuntimeError(f"{scenario.name}: the intended limit did not bind: {facts}")
    for link in facts["links"]:
        for direction in link:
            if direction.get("late_us_p99", 0) > LATE_US_P99_MAX or direction["dropped"]:
                raise RuntimeError(f"{scenario.name}: the machine was too busy: {link}")
    for tap, counts in facts["tcpdump"].items():
        if counts["dropped"]:
            raise RuntimeError(f"{scenario.name}: the capture at {tap} lost packets: {counts}")
    expected = sender["segs_out"] + sender["segs_in"]
    captured = facts["tcpdump"].get("sender", {}).get("captured", expected)
    # The last FIN or ACK may come after the last look at the counters.
    if not scenario.limits.offload and not 0 <= captured - expected <= 2:
        raise RuntimeError(f"{scenario.name}: {expected} segments sent and received, {facts}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="scenarios; all when none")
    parser.add_argument("--output", type=FilePath, default=DATA)
    parser.add_argument("--attempts", type=int, default=3, help="tries when the machine is busy")
    options = parser.parse_args()
    known = {scenario.name: scenario for scenario in SCENARIOS}
    if unknown := [name for name in options.names if name not in known]:
        parser.error(f"unknown scenario {unknown[0]}; known: {' '.join(known)}")
    if os.geteuid() != 0:
        parser.error("network namespaces need root: run it with sudo")
    if missing := [
        tool for tool in ("ip", "tc", "nft", "ethtool", "tcpdump") if not shutil.which(tool)
    ]:
        parser.error(f"missing: {' '.join(missing)}")
    facts_file = options.output / "facts.json"
    facts = json.loads(facts_file.read_text()) if facts_file.exists() else {}
    for scenario in (known[name] for name in options.names or known):
        facts[scenario.name] = {
            "about": scenario.about,
            "kernel": platform.release().split("-")[0],
            **record_and_keep(scenario, options),
        }
        facts_file.write_text(json.dumps(facts, indent=1) + "\n")
    return 0


def record_and_keep(scenario: Scenario, options: argparse.Namespace) -> Facts:
    """Records until one attempt is good, and moves its captures to where they belong."""
    for attempt in range(1, options.attempts + 1):
        with tempfile.TemporaryDirectory() as folder:
            try:
                facts = record(scenario, FilePath(folder))
            except RuntimeError as failed:
                print(f"attempt {attempt}: {failed}", file=sys.stderr)
                continue
            for capture in sorted(FilePath(folder).iterdir()):
                if (size := capture.stat().st_size) > FILE_BYTES_MAX:
                    raise SystemExit(f"{capture.name} has {size} bytes: shorten {scenario.name}")
                shutil.move(capture, options.output / capture.name)
                print(f"{capture.name}: {size} bytes", file=sys.stderr)
            return facts
    raise SystemExit(f"{scenario.name}: no attempt succeeded")


if __name__ == "__main__":
    sys.exit(main())
