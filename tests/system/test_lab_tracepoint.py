"""The congestion window from the kernel's tracepoint: beside TCP_INFO, and nothing left of it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from kernel import SCENARIOS, instances, left_instances, needs_root

from tcpwhy.lab import check, tracepoint
from tcpwhy.lab.run import run
from tcpwhy.lab.scenario import load

LINE = (
    "  <idle>-0  [001] ..s1. {at}: tcp_probe: family=AF_INET src=10.0.0.2:40000 "
    "dest=10.0.0.1:5001 mark=0x0 data_len=0 snd_nxt=0x{nxt:x} snd_una=0x{una:x} snd_cwnd={cwnd} "
    "ssthresh={ssthresh} snd_wnd=65160 srtt=40233 rcv_wnd=64256 sock_cookie={cookie} "
    "skbaddr=000000001 skaddr=000000002\n"
)


@pytest.fixture
def traced():
    if (reason := tracepoint.obstacle()) is not None:
        pytest.skip(reason)


def test_lines_of_the_kernel_become_rows(tmp_path):
    import duckdb

    text = tmp_path / "lines"
    common = {"ssthresh": 2147483647, "cookie": "2003"}
    lines = [
        LINE.format(at="5.000001", nxt=14480, una=0, cwnd=10, **common),
        # Sequence numbers that have wrapped.
        LINE.format(at="5.000002", nxt=952, una=2**32 - 496, cwnd=11, **common),
        LINE.format(at="5.000003", nxt=1, una=0, cwnd=12, ssthresh=7, cookie="2003"),
        # Somebody else's connection with the same addresses.
        LINE.format(at="5.000004", nxt=1, una=0, cwnd=99, ssthresh=7, cookie="2004"),
        "CPU:1 [LOST 3 EVENTS]\n",
    ]
    text.write_text("".join(lines))
    target = tmp_path / "rows.parquet"
    assert tracepoint.keep(text, target, {0x2003: (4, "forward")}, 1_000) == 3
    rows = duckdb.sql(f"SELECT * FROM '{target}'").fetchall()
    assert rows == [
        (4, "forward", 5_000_002_000, 10, None, 65_160, 40_233_000, 14_480),
        (4, "forward", 5_000_003_000, 11, None, 65_160, 40_233_000, 1448),
        (4, "forward", 5_000_004_000, 12, 7, 65_160, 40_233_000, 1),
    ]


@needs_root
def test_a_run_has_cwnd_at_every_acknowledgement(tmp_path, traced):
    import duckdb

    one = load(SCENARIOS / "clamp.toml")

    done = run(one, tmp_path / "clamp")
    assert not done.problems
    assert done.traced["lost"] == 0
    what = "max(cwnd_segs), max(flight_bytes), count(*)"
    rows = f"'{done.folder}/cwnd.parquet'"
    [(most, flight, count)] = duckdb.sql(f"SELECT {what} FROM {rows}").fetchall()
    assert (most, flight) == (20, 20 * 1448)
    # One for each segment that came, which TCP_INFO counts as well; what came while it was asked
    # may be on either side.
    first, *_, last = done.samples(0, "forward")
    between = f"at_ns BETWEEN {first['wall_ns']} AND {last['wall_ns']}"
    [(between,)] = duckdb.sql(f"SELECT count(*) FROM {rows} WHERE {between}").fetchall()
    assert between == pytest.approx(last["segs_in"] - first["segs_in"], abs=flight // 1448)
    assert between > 0.9 * count > 0
    assert check.load(done.folder, one).traced == done.traced
    assert left_instances() == []


@needs_root
def test_a_tracer_whose_parent_dies_leaves_nothing(tmp_path, traced):
    tracer = start(tmp_path)
    # What the kernel does with the descriptors of a process that was killed.
    tracer.stdin.close()
    tracer.stdout.close()
    assert tracer.wait(timeout=20) == 0
    assert left_instances() == []


@needs_root
def test_what_a_killed_tracer_left_is_removed_by_the_next(tmp_path, traced):
    with start(tmp_path) as killed:
        killed.kill()
    with start(tmp_path):
        assert f"tcpwhy-{killed.pid}" not in instances()
    assert left_instances() == []


def start(folder):
    """A tracer that records; it ends with its input."""
    command = [sys.executable, "-m", "tcpwhy.lab.tracer", str(folder / "text"), "40000"]
    tracer = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert json.loads(tracer.stdout.readline()) == {"ready": True}
    assert f"tcpwhy-{tracer.pid}" in instances()
    return tracer


def test_without_root_the_reason_is_given():
    """As in a container that may not mount."""
    if not Path("/usr/bin/setpriv").exists():
        pytest.skip("setpriv is not installed")
    script = "from tcpwhy.lab import tracepoint; print(tracepoint.obstacle())"
    command = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert "tracefs: [Errno 1] Operation not permitted" in done.stdout
