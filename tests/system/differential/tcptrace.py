"""tcptrace: its long report with round-trip statistics, as CSV, one row per connection."""

from __future__ import annotations

import csv
import shutil
import subprocess
from pathlib import Path

from . import captures
from .connection import Half, Value

# Its column for each fact, less the direction at the end.
COLUMNS = {
    "packets": "total_packets",
    "data_packets": "actual_data_pkts",
    "payload_bytes": "actual_data_bytes",
    "unique_bytes": "unique_bytes_sent",
    "retransmitted_bytes": "rexmt_data_bytes",
    "out_of_order_packets": "outoforder_pkts",
    "hardware_duplicates": "hardware_dups",
    "duplicate_acks": "duplicate_acks",
    "rtt_min_ms": "RTT_min",
    "rtt_samples": "RTT_samples",
    "handshake_rtt_ms": "RTT_from_3WHS",
}
# These are about the other side's segments.
COLUMNS_OF_PEER = {"zero_window_advertisements": "zero_win_adv", "mss_option": "mss_requested"}


def available() -> bool:
    """Whether tcptrace is installed, and editcap, which prepares its input."""
    return shutil.which("tcptrace") is not None and shutil.which("editcap") is not None


def halves(path: Path) -> list[Half]:
    """Every half of every connection of a capture."""
    with captures.classic(path) as file:
        command = ["tcptrace", "-l", "-n", "-r", "--csv", str(file)]
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=600, check=False
        )
    lines = [line for line in done.stdout.splitlines() if line and not line.startswith("#")]
    if not lines:
        if done.returncode:
            raise RuntimeError(f"tcptrace: {done.stderr.strip() or done.stdout.strip()}")
        return []
    found = []
    for row in csv.DictReader(lines, skipinitialspace=True):
        host_a = (row["host_a"].strip(), int(row["port_a"]))
        host_b = (row["host_b"].strip(), int(row["port_b"]))
        begin_s = float(row["first_packet"])
        found.append(Half(host_a, host_b, begin_s, facts(row, "_a2b", "_b2a")))
        found.append(Half(host_b, host_a, begin_s, facts(row, "_b2a", "_a2b")))
    return found


def facts(row: dict[str, str], own: str, peer: str) -> dict[str, Value]:
    """The facts of one direction."""
    found: dict[str, Value] = {name: float(row[column + own]) for name, column in COLUMNS.items()}
    for name, column in COLUMNS_OF_PEER.items():
        found[name] = float(row[column + peer])
    # Zero is how it writes that it does not know.
    if not found.pop("rtt_samples"):
        found["rtt_min_ms"] = None
    for name in ("mss_option", "handshake_rtt_ms"):
        found[name] = found[name] or None
    return found
