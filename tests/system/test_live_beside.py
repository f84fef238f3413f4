"""On a link, too, connections between the same hosts are judged beside each other."""

import struct
from contextlib import ExitStack

import link as links
from link import watching
from test_beside import FAIR

import tcpwhy as api

SECONDS = 8
INTERVALS = """
    SELECT limitation, evidence FROM intervals, (SELECT min(start_ns) AS first FROM intervals)
    WHERE src_port >= 40000 AND start_ns - first >= 2000000000 AND end_ns - start_ns > 900000000
    ORDER BY start_ns, src_port
"""


def frames_of(capture):
    """Give the time in seconds and the bytes of each frame, filled up to its length."""
    data, at = capture.read_bytes(), 24
    assert data[:4] == bytes.fromhex("4d3cb2a1"), "times in nanoseconds"
    while at < len(data):
        seconds, nanos, kept, length = struct.unpack_from("<IIII", data, at)
        at += 16
        yield seconds + nanos / 1e9, data[at : at + kept].ljust(length, b"\0")
        at += kept


def watched(folder):
    """Give what monitor says of three downloads behind a fair queue, by workers and fan-out."""
    (folder / "fair.toml").write_text(FAIR.replace("COUNT", "3"))
    api.simulate(folder / "fair.toml", captures=folder, duration=f"{SECONDS}s").to_polars("truth")
    frames = list(frames_of(folder / "fair.middle.pcap"))
    runs = {("hosts", 1): (), ("hosts", 4): (), ("hash", 4): ("--fanout", "hash")}
    with links.link() as link, ExitStack() as watchers:
        for (fanout, workers), more in runs.items():
            options = ("--workers", str(workers), *more, "--table", "intervals")
            store = folder / f"{fanout}{workers}"
            watchers.enter_context(watching(link, *options, "--interval", "1s", "-o", store))
        link.replay(frames)
    return {
        run: api.Store(folder / f"{run[0]}{run[1]}").connect().execute(INTERVALS).fetchall()
        for run in runs
    }


def test_of_several_between_two_hosts_none_has_the_link_to_itself(tmp_path):
    """By connection they may be with several workers, which share nothing: each is by itself."""
    seen = watched(tmp_path)
    rows = seen["hosts", 1]
    assert seen["hosts", 4] == rows
    assert len(rows) >= 10
    beside = [evidence.startswith("others between the same hosts sent") for _, evidence in rows]
    assert sum(beside) >= 0.9 * len(rows)
    assert not any(limitation == "unshared_bottleneck" for limitation, _ in rows)
    assert len(seen["hash", 4]) >= 10
    assert not any("same hosts" in evidence for _, evidence in seen["hash", 4])
