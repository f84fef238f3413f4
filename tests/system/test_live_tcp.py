"""The kernel's TCP, watched live and by tcpdump at the same time: the same is said of both."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import link as links

import tcpwhy as api

TABLES = ("flows", "intervals", "periods")
SIZES = [3_000_000, 200_000, 20_000] + [3_000] * 20
WORKERS = (1, 2, 4)


def watched(link, tool, folder):
    """Watch transfers with every number of workers and tcpdump.

    Give what the file says where its rows come at once, as those of a link do.
    """
    file = folder / "link.pcap"
    precise = ("--time-stamp-precision=nano", "-s", "256", "-B", "65536", "-w", file)
    tcpdump = link.command(tool("tcpdump"), "-i", links.NEAR, *precise)
    options = [x for table in (*TABLES, "counters") for x in ("--table", table)]
    options += ["--interval", "20ms"]
    with links.started(tcpdump, "listening") as (dumping, _):
        with ExitStack() as watchers:
            for workers in WORKERS:
                more = ("--workers", str(workers), "-o", folder / f"store{workers}")
                watchers.enter_context(links.watching(link, *options, *more))
            links.transfer(link, SIZES)
            time.sleep(0.2)
        dumping.send_signal(signal.SIGINT)
        dumping.communicate(timeout=20)
    return links.read_as_a_link(file, TABLES, interval="20ms")


@contextmanager
def one_processor() -> Iterator[None]:
    """Run on one processor what this thread starts.

    Two processors hand packets to all sockets at the same time, and each socket may then have two
    of them in another order.
    """
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def test_over_taps_every_row_is_the_same(tool, tmp_path):
    """There the kernel takes a packet's time once, for all who capture it."""
    with one_processor(), links.link(taps=True) as link:
        offline = watched(link, tool, tmp_path)
    wanted = {table: links.rows(offline, table) for table in TABLES}
    assert len(wanted["flows"]) == 2 * len(SIZES)
    for workers in WORKERS:
        live = api.Store(tmp_path / f"store{workers}").connect()
        for table in TABLES:
            assert links.rows(live, table) == wanted[table], f"{table} with {workers} workers"


COUNTED = """flow_id, direction, src, src_port, dst, dst_port, conn_state, handshake_seen, packets,
    data_packets, wire_bytes, payload_bytes, unique_bytes, retransmitted_bytes, reordered_packets,
    duplicate_frames, loss_events, rto_events, zero_window_events, mss_option, effective_mss,
    window_scale, offload_seen"""
"""What does not depend on times."""


def test_over_veth_all_that_is_counted_is_the_same(tool, tmp_path):
    """What a neighbouring namespace sends by TCP carries its departure time. Every socket takes a
    time of its own, some 0.1 to 1 us apart."""
    with links.link() as link:
        offline = watched(link, tool, tmp_path)
    question = f"SELECT {COUNTED} FROM flows ORDER BY flow_id, direction"
    wanted = offline.execute(question).fetchall()
    assert len(wanted) == 2 * len(SIZES)
    edges = "SELECT start_ns, end_ns FROM flows ORDER BY flow_id, direction"
    for workers in WORKERS:
        live = api.Store(tmp_path / f"store{workers}").connect()
        assert live.execute(question).fetchall() == wanted, f"{workers} workers"
        pairs = zip(offline.execute(edges).fetchall(), live.execute(edges).fetchall(), strict=True)
        apart = [abs(a - b) for one, other in pairs for a, b in zip(one, other, strict=True)]
        assert max(apart) < 10**6, "no more than a thread's pause"
