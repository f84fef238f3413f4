"""The numbers of connections are those that Wireshark gives them (`tcp.stream`)."""

import os
import subprocess
from pathlib import Path

import pytest

import tcpwhy

SHARED = Path(os.environ.get("TCPWHY_SHARED", "../shared")) / "captures" / "labelled"
DATA = Path(__file__).parents[2] / "data"
CAPTURES = sorted(
    path for folder in (DATA, SHARED) for path in folder.glob("*") if ".pcap" in path.name
)
MOST_BYTES = 3_000_000
"""Larger captures take tshark long."""


def wireshark(capture):
    """Give the first frame of each stream."""
    fields = ["-T", "fields", "-e", "frame.number", "-e", "tcp.stream"]
    command = ["tshark", "-n", "-r", capture, "-Y", "tcp && !icmp && !icmpv6", *fields]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    first = {}
    for line in done.stdout.splitlines():
        frame, _, stream = line.partition("\t")
        # Of a packet in a packet the inner one counts.
        first.setdefault(int(stream.split(",")[-1]), int(frame))
    return first


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: path.name)
def test_connections_have_wiresharks_numbers(capture):
    if capture.stat().st_size > MOST_BYTES:
        pytest.skip("too large for tshark here")
    connection = tcpwhy.analyze(capture).to_duckdb()
    query = "SELECT stream, min(first_frame) FROM flows GROUP BY 1 ORDER BY 1"
    found = dict(connection.execute(query).fetchall())
    assert found == wireshark(capture)
