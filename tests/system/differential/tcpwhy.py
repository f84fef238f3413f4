"""tcpwhy: the `flows` table as JSON lines, in the shape that is compared."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

from . import captures
from .connection import Half, Value

# Columns with the same name and meaning in both.
SAME = (
    "packets",
    "data_packets",
    "payload_bytes",
    "unique_bytes",
    "retransmitted_bytes",
    "spurious_bytes",
    "reordered_packets",
    "duplicate_frames",
    "zero_window_events",
    "zero_window_probes",
    "keep_alives",
    "duplicate_acks",
    "mss_option",
    "window_scale",
    "missed_bytes",
    "offload_seen",
    "handshake_seen",
    "position",
)
MILLISECONDS = {"rtt_min_ms": "rtt_min_ns", "handshake_rtt_ms": "handshake_rtt_ns"}


def command() -> list[str]:
    """How tcpwhy is called; TCPWHY names another one."""
    return shlex.split(os.environ.get("TCPWHY", f"{sys.executable} -m tcpwhy"))


def available() -> bool:
    """Whether tcpwhy answers."""
    try:
        asked = [*command(), "analyze", "--help"]
        return subprocess.run(asked, capture_output=True, timeout=60, check=False).returncode == 0
    except OSError:
        return False


def halves(path: Path) -> list[Half]:
    """Every half of a capture."""
    with captures.plain(path) as file:
        asked = [*command(), "analyze", str(file), "--table", "flows", "--format", "jsonl"]
        done = subprocess.run(asked, capture_output=True, text=True, timeout=600, check=False)
    # 3 is a damaged capture: the rows before the damage are there.
    if done.returncode not in (0, 3):
        raise RuntimeError(f"tcpwhy: {done.stderr.strip()}")
    found = []
    for line in done.stdout.splitlines():
        row = json.loads(line)
        facts: dict[str, Value] = {name: row.get(name) for name in SAME}
        for name, column in MILLISECONDS.items():
            facts[name] = None if row.get(column) is None else row[column] / 1e6
        src, dst = (row["src"], row["src_port"]), (row["dst"], row["dst_port"])
        found.append(Half(src, dst, row["start_ns"] / 1e9, facts))
    return found
