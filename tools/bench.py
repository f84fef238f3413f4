#!/usr/bin/env python3
"""Measures what users run and the engine in it: CPU time per packet, memory, scaling, peers.

    tools/bench.py [SET…] [--runs 3] [--peers] [--instructions] [--stored] [--write]

CPU time (user and system, of the whole process) is what counts, since machines are shared; wall
time is shown only for scaling. Every ratio is between runs of one call, which alternate. The floor
is `hash`: read, decode and hash in the same program. `command` is `tcpwhy analyze` with flows to
Parquet, as it is installed. Memory is anonymous memory, sampled while a program runs. The sets are
made once by the `traffic` example and kept in target/bench. So are the results of each set, with
the commit, the day and the machine that were measured, until it is measured again. `--write` puts
the tables into docs/performance.md.

Instructions are counted by `perf` where the processor lends its counters. `--instructions` counts
them under valgrind instead, of the engine over the small sets alone: they are the same under any
load.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import bench_report
from bench_machine import PERF, commit, counts_instructions, machine, today

ROOT = Path(__file__).parents[1]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
RESULTS = "results.json"
EXAMPLES = TARGET / "release" / "examples"
# A program that takes longer is stopped, and its figure is a lower bound.
CPU_SECONDS_MAX, PEER_CPU_SECONDS_MAX = 300, 60
SAMPLE_S, SAMPLES_MIN = 0.005, 20


@dataclass(frozen=True)
class Traffic:
    """One set of traffic: its name and how it is made."""

    name: str
    make: tuple[str, ...]
    packed_by: tuple[str, ...] = ()
    """What compresses it, if it is to be read compressed."""


SETS = {
    traffic.name: traffic
    for traffic in (
        Traffic("paper-1", ("paper", "1", "--seconds", "1000")),
        Traffic("paper-128", ("paper", "128")),
        Traffic("paper-1024", ("paper", "1024")),
        Traffic("paper-8192", ("paper", "8192")),
        Traffic("paced-8192", ("paced", "8192")),
        Traffic("paced-1024-long", ("paced", "1024", "--seconds", "80")),
        Traffic("chunks-1024", ("chunks", "1024")),
        Traffic("asked-1024", ("asked", "1024")),
        Traffic("mawi-400k", ("mawi", "400000")),
        Traffic("mawi-1m", ("mawi", "1000000", "--flow-packets-max", "3000")),
        Traffic("open-1m", ("open", "1000000")),
        Traffic("hour", ("paced", "16", "--seconds", "3600")),
        Traffic("full-size", ("paper", "256", "--snaplen", "65535")),
        Traffic("compressed", ("paper", "1024"), ("gzip", "-1")),
    )
}
# Small enough for valgrind, which is fifty times slower.
SMALL_SETS = {
    traffic.name: traffic
    for traffic in (
        Traffic("mawi-10k", ("mawi", "10000")),
        Traffic("paper-512", ("paper", "512")),
        Traffic("paced-512", ("paced", "512")),
        Traffic("open-20k", ("open", "20000")),
    )
}
MODES = {
    "read": ("read", "1"),
    "decode": ("decode", "1"),
    "hash": ("hash", "1"),
    "paper": ("paper", "1"),
    "analyze": ("analyze", "1"),
    "analyze, 2 workers": ("analyze", "2"),
}
# The command, with its options, for each capture and each file that it writes.
COMMANDS = {
    "command": ("--workers", "1"),
    "command, 2 workers": ("--workers", "2"),
}
VALGRIND = ("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null")
# Peers and the sets that they can finish, or nearly; `cat` and tcpdump show the floor.
PEERS = {
    "cat": ("cat {file}", tuple(SETS)),
    "tcpdump -w /dev/null": (
        "tcpdump -r {file} -w /dev/null",
        tuple(name for name, traffic in SETS.items() if not traffic.packed_by),
    ),
    "tcptrace -l -n -r": ("tcptrace -l -n -r {file}", tuple(SETS)[:5]),
    "tshark -z conv,tcp": ("tshark -n -q -z conv,tcp -r {file}", ("paper-128", "paper-1024")),
}


@dataclass
class Measured:
    """All runs of one program over one set."""

    packets: int
    flows: int
    commit: str = ""
    cpu_s: list[float] = field(default_factory=list)
    wall_s: list[float] = field(default_factory=list)
    rss_bytes: int = 0
    anon_bytes: int = 0
    """Anonymous memory at its most."""
    anon_slope: float = 0.0
    """Bytes by which it grew for each packet of the second half."""
    cut: bool = False
    day: str = ""
    machine: str = ""
    instructions: list[int] = field(default_factory=list)

    def ns_per_packet(self) -> float:
        """Median CPU time per packet."""
        return statistics.median(self.cpu_s) * 1e9 / self.packets

    def spread(self) -> tuple[float, float]:
        """Least and most CPU time per packet in ns."""
        return min(self.cpu_s) * 1e9 / self.packets, max(self.cpu_s) * 1e9 / self.packets


Results = dict[str, dict[str, Measured]]


def stored(cache: Path) -> Results:
    """The results of every set as they were measured last."""
    path = cache / RESULTS
    known = json.loads(path.read_text()) if path.exists() else {}
    return {
        name: {program: Measured(**values) for program, values in known[name].items()}
        for name in (*SETS, *SMALL_SETS)
        if name in known
    }


def store(results: Results, cache: Path) -> None:
    """Keeps the results."""
    plain = {
        name: {program: asdict(measured) for program, measured in by_program.items()}
        for name, by_program in results.items()
    }
    (cache / RESULTS).write_text(json.dumps(plain, indent=1))


def build() -> None:
    """Builds both examples."""
    command = ["cargo", "build", "--release", "-q", "-p", "tcpwhy-io"]
    subprocess.run(
        [*command, "--example", "traffic", "--example", "throughput"], cwd=ROOT, check=True
    )


def generate(traffic: Traffic, cache: Path) -> tuple[Path, dict[str, Any]]:
    """The capture of a set and what is in it; made when it is not there or its recipe changed."""
    cache.mkdir(parents=True, exist_ok=True)
    plain, note = cache / f"{traffic.name}.pcap", cache / f"{traffic.name}.json"
    capture = cache / f"{plain.name}.packed" if traffic.packed_by else plain
    generator = EXAMPLES / "traffic"
    made = hashlib.sha256(generator.read_bytes()).hexdigest()
    recipe = {"make": [*traffic.make, *traffic.packed_by], "generator": made}
    if capture.exists() and note.exists():
        shape: dict[str, Any] = json.loads(note.read_text())
        if shape["recipe"] == recipe:
            return capture, shape
    kind, flows, *options = traffic.make
    command = [str(generator), kind, flows, str(plain), *options]
    print(f"making {capture.name}", file=sys.stderr)
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=True)
    if traffic.packed_by:
        with plain.open("rb") as read, capture.open("wb") as written:
            subprocess.run(traffic.packed_by, stdin=read, stdout=written, check=True)
        plain.unlink()
    shape = json.loads(done.stderr) | {"recipe": recipe}
    note.write_text(json.dumps(shape))
    return capture, shape


class Memory(threading.Thread):
    """Samples the anonymous memory of a process until it ends."""

    def __init__(self, pid: int, *, behind_perf: bool = False) -> None:
        super().__init__(daemon=True)
        self.samples: list[int] = []
        self._folder = Path("/proc", str(pid))
        self._behind_perf = behind_perf
        self.start()

    def run(self) -> None:
        """Read it every few milliseconds."""
        while True:
            try:
                folder = self._folder
                if self._behind_perf:
                    children = (folder / "task" / folder.name / "children").read_text().split()
                    folder = Path("/proc", children[0]) if children else folder
                found = re.search(r"RssAnon:\s+(\d+) kB", (folder / "status").read_text())
            except OSError:
                return
            if not found:
                return
            self.samples.append(int(found[1]) * 1024)
            time.sleep(SAMPLE_S)

    def slope(self, packets: int) -> float:
        """Bytes per packet from the middle of the run to nine tenths of it, before rows leave."""
        if len(self.samples) < SAMPLES_MIN:
            return 0.0
        middle, late = (self.samples[len(self.samples) * part // 10] for part in (5, 9))
        return (late - middle) / (packets * 0.4)


def measure(command: list[str], limit_s: int, into: Measured) -> None:
    """Runs a program once and adds what it used."""
    begin = time.monotonic()
    limited = ["prlimit", f"--cpu={limit_s}", "--", *command]
    counted = Path(tempfile.gettempdir(), f"tcpwhy-bench-{os.getpid()}")
    if counts_instructions():
        limited = [*PERF, "-o", str(counted), "--", *limited]
    with tempfile.TemporaryFile() as words:
        process = subprocess.Popen(limited, stdout=words, stderr=subprocess.DEVNULL)
        memory = Memory(process.pid, behind_perf=counts_instructions())
        _, status, used = os.wait4(process.pid, 0)
        memory.join()
        process.returncode = os.waitstatus_to_exitcode(status)
        words.seek(max(0, words.seek(0, os.SEEK_END) - 1000))
        said = words.read().decode(errors="replace")
    if process.returncode < 0:
        into.cut = True
    elif process.returncode:
        raise SystemExit(f"{' '.join(command)} failed with {process.returncode}")
    if found := counted.exists() and re.search(r"^(\d+),", counted.read_text(), re.MULTILINE):
        into.instructions.append(int(found[1]))
        counted.unlink()
    into.cpu_s.append(used.ru_utime + used.ru_stime)
    into.wall_s.append(time.monotonic() - begin)
    # The kernel's figure for a child includes that of this interpreter, from which it was forked.
    resident = re.search(r"(\d+) kB resident", said)
    bytes_used = int(resident[1]) * 1024 if resident else used.ru_maxrss * 1024
    into.rss_bytes = max(into.rss_bytes, bytes_used)
    into.anon_bytes = max(into.anon_bytes, *memory.samples, 0)
    into.anon_slope = max(into.anon_slope, memory.slope(into.packets))


def begin(shape: dict[str, Any]) -> Measured:
    """Nothing measured yet, of a set of this shape."""
    packets, flows = shape["packets"], shape["tcp_flows"]
    return Measured(packets, flows, commit=commit(), day=today(), machine=machine())


def count_set(traffic: Traffic, options: argparse.Namespace) -> dict[str, Measured]:
    """Counts the instructions of the engine and of its floor over one set."""
    capture, shape = generate(traffic, options.cache)
    results = {}
    for name in ("hash", "paper", "analyze"):
        command = [*VALGRIND, str(EXAMPLES / "throughput"), *MODES[name], str(capture)]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
        found = re.search(r"Collected : (\d+)", said)
        if not found:
            raise SystemExit(f"valgrind says: {said}")
        measured = begin(shape)
        measured.instructions.append(int(found[1]))
        results[name] = measured
        each = measured.instructions[0] / measured.packets
        print(f"{traffic.name}: {name}: {each:,.0f} instructions a packet", file=sys.stderr)
    return results


def run_set(traffic: Traffic, options: argparse.Namespace) -> dict[str, Measured]:
    """Measures every mode, and every peer when asked, over one set, turn by turn."""
    capture, shape = generate(traffic, options.cache)
    programs = {
        name: [str(EXAMPLES / "throughput"), *mode, str(capture)]
        for name, mode in MODES.items()
        if name in ("hash", *(options.only or MODES))
    }
    for name, words in COMMANDS.items():
        if name not in (options.only or COMMANDS):
            continue
        written = str(options.cache / "rows.parquet")
        asked = ["analyze", str(capture), "--table", "flows", "--output", written, *words]
        programs[name] = [sys.executable, "-m", "tcpwhy", *asked]
    if options.peers:
        for name, (text, sets) in PEERS.items():
            command = text.format(file=capture).split()
            if traffic.name in sets and shutil.which(command[0]):
                programs[name] = command
    results = {name: begin(shape) for name in programs}
    warm = Measured(1, 1)
    measure(["cat", str(capture)], CPU_SECONDS_MAX, warm)
    for turn in range(options.runs):
        for name, command in programs.items():
            # Peers are slow and only there for the ratio.
            if name in PEERS and name != "cat" and turn and results[name].cpu_s[0] > 5:
                continue
            limit_s = PEER_CPU_SECONDS_MAX if name in PEERS else CPU_SECONDS_MAX
            measure(command, limit_s, results[name])
            print(f"{traffic.name}: {name}: {results[name].cpu_s[-1]:.2f} s CPU", file=sys.stderr)
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"one of {', '.join(SETS)}")
    parser.add_argument(
        "--runs", type=int, default=3, help="runs of each program; the median counts"
    )
    parser.add_argument(
        "--only",
        action="append",
        choices=[*MODES, *COMMANDS],
        help="a program to measure, several times for several; hash, the floor, is always there",
    )
    parser.add_argument("--peers", action="store_true", help="also tcptrace, tcpdump and tshark")
    parser.add_argument(
        "--instructions", action="store_true", help="count instructions of small sets by valgrind"
    )
    parser.add_argument("--stored", action="store_true", help="measure nothing, show what is kept")
    parser.add_argument("--write", action="store_true", help="write docs/performance.md")
    parser.add_argument(
        "--cache", type=Path, default=TARGET / "bench", help="where traffic is kept"
    )
    options = parser.parse_args()
    known = SMALL_SETS if options.instructions else SETS
    if unknown := [name for name in options.sets if name not in known]:
        parser.error(f"unknown set {unknown[0]}; known: {', '.join(known)}")
    if not options.stored:
        build()
    for name in () if options.stored else options.sets or known:
        measured = (count_set if options.instructions else run_set)(known[name], options)
        results = stored(options.cache)
        results[name] = measured
        store(results, options.cache)
    results = stored(options.cache)
    timed = {name: results[name] for name in SETS if name in results}
    report = bench_report.tables(timed, [*MODES, *COMMANDS], list(PEERS))
    counted = {name: results[name] for name in SMALL_SETS if name in results}
    report = "\n\n".join(part for part in (report, bench_report.instructions(counted)) if part)
    print(report)
    if options.write:
        bench_report.write(ROOT / "docs" / "performance.md", report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
