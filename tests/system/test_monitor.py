"""Live links: what is said is what the same packets say in a file, whoever watches them."""

import json
import signal
import struct
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import link as links
import packets
import pytest
from link import rows, started, watching
from screen import Screen

import tcpwhy as api

TABLES = ("flows", "intervals", "periods")
CONNECTIONS = 10_000


@pytest.fixture
def link():
    with links.link() as made:
        yield made


def test_live_rows_are_those_of_the_file(link, tool, tmp_path):
    """monitor with 1, 2 and 4 workers beside tcpdump, on the same packets at the same time.

    The file gives its rows at once as well: else intervals in doubt would wait for others.
    """
    transfers = [packets.transfer(120, port=40_000 + n, start=n * 10**6) for n in range(24)]
    frames = [data for _, data in sorted(frame for flow in transfers for frame in flow)]
    file = tmp_path / "link.pcap"
    precise = ("--time-stamp-precision=nano", "-B", "65536", "-w", file)
    tcpdump = link.command(tool("tcpdump"), "-i", links.NEAR, *precise)
    options = [x for table in (*TABLES, "counters") for x in ("--table", table)]
    options += ["--interval", "20ms"]
    with started(tcpdump, "listening") as (dumping, _):
        with ExitStack() as watchers:
            for workers in (1, 2, 4):
                more = ("--workers", str(workers), "-o", tmp_path / f"store{workers}")
                watchers.enter_context(watching(link, *options, *more))
            for start in range(0, len(frames), 200):
                link.send(frames[start : start + 200])
                time.sleep(0.01)
        dumping.send_signal(signal.SIGINT)
        dumping.communicate(timeout=20)
    offline = links.read_as_a_link(file, TABLES, interval="20ms")
    for workers in (1, 2, 4):
        live = api.Store(tmp_path / f"store{workers}").connect()
        for table in TABLES:
            wanted = rows(offline, table)
            assert len(wanted) >= 24
            assert rows(live, table) == wanted, f"{table} with {workers} workers"


@pytest.mark.parametrize("fanout", ["hosts", "hash", "cbpf"])
@pytest.mark.parametrize("tags", [b"", b"\x81\x00\x00\x05"], ids=["plain", "vlan"])
@pytest.mark.parametrize("version", [4, 6])
def test_both_directions_come_to_one_worker(link, tmp_path, fanout, tags, version):
    """A connection that is split among workers is two flows, each with half a handshake."""
    opened = [handshake(number, version, tags) for number in range(CONNECTIONS)]
    store = tmp_path / "store"
    options = ("--workers", "4", "--fanout", fanout, "-o", store)
    with watching(link, *options, "--table", "flows", "--table", "counters"):
        for step, answer in enumerate((False, True, False)):
            # The kernel's hash does not look behind a tag that stands in a frame on its way out;
            # on a mirror port both directions come in.
            both_ways = not (tags and fanout == "hash")
            link.send([frames[step] for frames in opened], from_near=answer and both_ways)
    query = "SELECT count(DISTINCT flow_id), bool_and(handshake_seen), max(first_frame) FROM flows"
    flows, whole, last = api.Store(store).connect().execute(query).fetchone()
    assert (flows, whole) == (CONNECTIONS, True)
    # Frames are numbered within a ring: with all in one it would be the last of the first 10,000.
    assert last < CONNECTIONS / 2, "the workers share the connections"


def handshake(number, version, tags):
    """Make the three frames that open a connection, each with its VLAN tags."""
    port, server = 1024 + number % 50_000, 80 + number % 7
    flags = (packets.SYN, packets.SYN | packets.ACK, packets.ACK)
    frames = []
    for step, flag in enumerate(flags):
        ports = (port, server) if step != 1 else (server, port)
        seq, ack = ((1000, 0), (5000, 1001), (1001, 5001))[step]
        tcp = struct.pack(">HHIIBBHHH", *ports, seq, ack, 0x50, flag, 65535, 0, 0)
        size = 4 if version == 4 else 16
        ends = [bytes([10, *bytes(size - 3), n, number % 13]) for n in (1, 2)]
        source, destination = ends if step != 1 else reversed(ends)
        if version == 4:
            head = struct.pack(">BBHHHBBH", 0x45, 0, 40, number & 0xFFFF, 0, 64, 6, 0)
        else:
            head = struct.pack(">IHBB", 6 << 28, 20, 6, 64)
        kind = b"\x08\x00" if version == 4 else b"\x86\xdd"
        frames.append(bytes(12) + tags + kind + head + source + destination + tcp)
    return frames


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_run_with_its_open_flows(link, tmp_path, end):
    file = tmp_path / "flows.jsonl"
    frames = [data for _, data in packets.transfer(40)][:-3]
    with watching(link, "-o", file, end=end):
        link.send(frames)
    found = [json.loads(line) for line in file.read_text().splitlines()]
    assert [row["data_packets"] for row in found if row["data_packets"]] == [40]


def test_rows_come_while_a_connection_is_open(link, tmp_path):
    file = tmp_path / "intervals.jsonl"
    frames = [data for _, data in packets.transfer(300)][:-3]
    with watching(link, "--table", "intervals", "--interval", "50ms", "-o", file):
        for data in frames:
            link.send([data])
            if file.exists() and file.stat().st_size:
                break
            time.sleep(0.005)
        else:
            pytest.fail("no row before the last packet")


def test_a_filter_is_applied_and_a_wrong_one_refused(link, tmp_path):
    file = tmp_path / "flows.jsonl"
    frames = [frame for n in range(4) for _, frame in packets.transfer(20, port=40_000 + n)]
    with watching(link, "--filter", "tcp port 40001", "-o", file):
        link.send(frames)
    ports = {json.loads(line)["src_port"] for line in file.read_text().splitlines()}
    assert ports == {40_001, 80}
    command = link.python("-m", "tcpwhy", "monitor", links.NEAR, "--filter", "tcp prt 1")
    refused = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (refused.returncode, "syntax" in refused.stderr) == (2, True), refused.stderr


def test_what_a_bound_cut_is_named_at_the_end(link, tmp_path):
    """Of a connection that is seen in one direction the last 256 segments are kept."""
    file = tmp_path / "flows.jsonl"
    frames = [data for _, data in packets.transfer(400)]
    one_way = [data for data in frames if data[26:30] == frames[0][26:30]]
    command = link.python("-m", "tcpwhy", "monitor", links.NEAR, "-o", file)
    with started(command, "watching") as (process, _):
        link.send(one_way)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[1]
    assert "unanswered_overflow 144: segments of connections seen in one direction" in said
    assert "outstanding_overflow" not in said


def test_what_is_missing_is_named(link):
    command = link.python("-m", "tcpwhy", "monitor", "nosuch0")
    absent = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (absent.returncode, "no interface 'nosuch0'" in absent.stderr) == (2, True)
    for wrong, said in (
        (["any"], "name each one to watch"),
        ([links.NEAR, "--keep", "30d"], "--keep and --keep-size are for a store"),
        ([links.NEAR, "--keep-size", "lots"], "'--keep-size': 'lots' is not understood"),
        ([links.NEAR, "-o", "http://x"], "no output for the URL scheme 'http'"),
    ):
        command = link.python("-m", "tcpwhy", "monitor", *wrong)
        refused = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert (refused.returncode, said in refused.stderr) == (2, True), refused.stderr
    without = ["setpriv", "--bounding-set=-net_raw", "--inh-caps=-net_raw", "--no-new-privs"]
    command = link.command(*without, sys.executable, "-m", "tcpwhy", "monitor", links.NEAR)
    refused = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert refused.returncode == 4, refused.stderr
    assert "setcap cap_net_raw=ep" in refused.stderr
    assert "AmbientCapabilities=CAP_NET_RAW" in refused.stderr


def test_privileges_are_given_up(link, tmp_path):
    command = link.python("-m", "tcpwhy", "monitor", links.NEAR, "-o", tmp_path / "store")
    with started(command, "watching") as (process, _):
        for task in Path(f"/proc/{process.pid}/task").iterdir():
            lines = (task / "status").read_text().splitlines()
            held = dict(line.split(":\t") for line in lines if line.startswith("Cap"))
            assert (held["CapEff"], held["CapPrm"]) == ("0" * 16, "0" * 16)


def test_an_interface_may_go_down_and_up(link, tmp_path):
    file = tmp_path / "flows.jsonl"
    frames = [data for _, data in packets.transfer(40)]
    with watching(link, "-o", file):
        link.send(frames[:20])
        link.set("down")
        link.set("up")
        link.send(frames[20:])
    found = [json.loads(line) for line in file.read_text().splitlines()]
    assert [row["data_packets"] for row in found if row["data_packets"]] == [40]


def test_an_interface_that_disappears_ends_the_run(link, tmp_path):
    file = tmp_path / "flows.jsonl"
    command = link.python("-m", "tcpwhy", "monitor", links.NEAR, "--interval", "100ms", "-o", file)
    with started(command, "watching") as (process, _):
        link.send([data for _, data in packets.transfer(40)][:-3])
        link.delete()
        said = process.communicate(timeout=60)[1]
    assert (process.returncode, "no longer there" in said) == (3, True), said
    found = [json.loads(line) for line in file.read_text().splitlines()]
    assert [row["data_packets"] for row in found if row["data_packets"]] == [40]


def test_a_paced_file_gives_the_rows_of_the_file(tmp_path):
    file = tmp_path / "transfer.pcap"
    file.write_bytes(packets.pcap(packets.transfer(100)))
    rows_of = [
        rows(api.analyze(file, table=TABLES, pace=pace).to_duckdb(), table)
        for table in TABLES
        for pace in (None, 20.0)
    ]
    assert rows_of[0]
    assert rows_of[::2] == rows_of[1::2]


def test_a_link_on_the_terminal(link, tmp_path):
    """The view of a live link; its end by key is not an interruption."""
    command = ["-m", "tcpwhy", "monitor", links.NEAR, "--tui", "--interval", "100ms"]
    screen = Screen(link.python(*command, "-o", tmp_path / "store"), (80, 24))
    frames = iter([data for _, data in packets.transfer(20_000)])
    try:
        screen.wait("no TCP data yet")

        def seen(text):
            link.send([next(frames) for _ in range(10)])
            return "10.0.0.1:40000" in text and "1 listed" in text

        text = screen.wait(seen)
        assert text.startswith(f"tcpwhy {links.NEAR} · ")
        link.set("down")
        screen.wait("is down")
        screen.press("q")
        assert screen.end() == 0
    finally:
        screen.close()
    [(rows,)] = api.Store(tmp_path / "store").query("SELECT count(*) FROM intervals").fetchall()
    assert rows > 0
