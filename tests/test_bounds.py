"""A flow table that is full: a flood of connection attempts beside flows that matter."""

import struct
import tomllib
from pathlib import Path

import packets
import pytest

import tcpwhy as api

SCENARIO = Path(__file__).parent / "data" / "ten_limits.toml"
SYNS = 100_000
SECONDS = 20
MAX_FLOWS = 1024
"""So many of these SYNs come in 0.2 s: longer than any of the ten handshakes takes."""


@pytest.fixture(scope="module")
def ten(tmp_path_factory) -> Path:
    """Capture ten connections, each with a limit of its own."""
    folder = tmp_path_factory.mktemp("ten")
    api.simulate(SCENARIO, captures=folder).to_polars("truth")
    (capture,) = folder.glob("*.pcap")
    return capture


def syns(start_ns: int) -> bytes:
    """Make a capture of SYNs to one server, each of another client."""
    frames = []
    for number in range(SYNS):
        client = struct.pack(">I", 0x2D000000 + number)
        tcp = struct.pack(">HHIIBBHHH", 1024 + number % 60_000, 80, number, 0, 0x50, 2, 64, 0, 0)
        ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 40, 0, 0, 64, 6, 0, client, b"\xc0\0\2\1")
        time = start_ns + number * SECONDS * packets.SECOND // SYNS
        frames.append(packets.record(time, bytes(12) + b"\x08\x00" + ip + tcp))
    return packets.head() + b"".join(frames)


def rows(connection, table):
    """Give what is said of the ten, without the numbers that the flood shifts or takes away."""
    left_out = ("first_frame", "source", "stream", "frame_before", "frame_after")
    described = connection.execute(f"DESCRIBE {table}").fetchall()
    chosen = ", ".join(name for name, *_ in described if name not in left_out)
    query = f"SELECT {chosen} FROM {table} WHERE '10.0.0.2' IN (src, dst)"
    return sorted(connection.execute(query).fetchall(), key=repr)


def test_a_flood_changes_no_verdict_and_adds_no_rows(ten, tmp_path):
    tables = ("flows", "intervals", "periods", "stalls", "counters")
    quiet = api.analyze(ten, table=tables, workers=1).to_duckdb()
    (start_ns,) = quiet.execute("SELECT min(start_ns) FROM flows").fetchone()
    flood = tmp_path / "flood.pcap"
    flood.write_bytes(syns(start_ns))
    both = api.analyze([ten, flood], table=tables, workers=1, max_flows=MAX_FLOWS).to_duckdb()

    for table in ("flows", "intervals", "periods", "stalls"):
        assert rows(both, table) == rows(quiet, table)
    wanted = tomllib.loads(SCENARIO.read_text())["expect"]
    said = "SELECT src_port - 40000, limitation FROM flows WHERE src = '10.0.0.2'"
    assert dict(quiet.execute(said).fetchall()) == {e["flow"]: e["limitation"] for e in wanted}

    # Only what the table held at the end has rows: the others are counted.
    (attempts,) = both.execute("SELECT count(*) FROM flows WHERE dst_port = 80").fetchone()
    assert attempts == MAX_FLOWS - 10
    counters = dict(both.execute("SELECT name, value FROM counters").fetchall())
    assert counters["flows"] == SYNS + 10
    for name in ("table_evictions", "evicted_half_open", "flows_forgotten", "packets_forgotten"):
        assert counters[name] == SYNS - attempts, name
    assert counters["evicted_long"] == counters["evicted_short"] == counters["evicted_closed"] == 0


def test_timeouts_can_be_set(tmp_path):
    """A flow that was closed, and came again on the same ports 15 s later without its SYN."""
    opened = list(packets.transfer(20))
    late = [(time + 15 * packets.SECOND, data) for time, data in opened[3:]]
    capture = tmp_path / "late.pcap"
    capture.write_bytes(packets.pcap(iter(opened + late)))
    rows = [
        len(api.analyze(capture, table="flows", closed_timeout=timeout).to_polars("flows"))
        for timeout in ("10s", "20s")
    ]
    assert rows == [4, 2]
