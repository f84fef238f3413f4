"""The cwnd that a graph draws is the kernel's own, and the flight stays below it."""

import json
import subprocess

import numpy
import pytest
from kernel import SCENARIOS, needs_root
from test_measure import TCPWHY, free_port, our_server

from tcpwhy.graph import draw
from tcpwhy.lab import tracepoint
from tcpwhy.lab.run import run
from tcpwhy.lab.scenario import load


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    """Measure a path over loopback; keep what it says as a file."""
    path, port = tmp_path_factory.mktemp("measure") / "measured.jsonl", free_port()
    with our_server(port, "--one-off"), path.open("wb") as file:
        options = ("--json", "-t", "2s", "--pace", "20M")
        command = [*TCPWHY, "measure", f"127.0.0.1:{port}", *options]
        subprocess.run(command, stdout=file, check=True, timeout=60)
    return path


def test_measure_is_drawn_with_the_cwnd_of_its_kernel(samples, tcpwhy, tmp_path):
    rows = [json.loads(line) for line in samples.read_text().splitlines()]
    known = [row for row in rows if row.get("snd_cwnd") is not None]
    assert len(known) > 5
    trace = draw(samples).traces[0]
    cwnd = trace.series["cwnd"]
    assert cwnd["v"].tolist() == [row["snd_cwnd"] * row["snd_mss"] for row in known]
    assert trace.series["rtt"]["v"].tolist() == [row["rtt"] * 1000 for row in known]
    flight = trace.series["flight"]["v"]
    assert (flight <= cwnd["v"] + known[0]["snd_mss"]).all()
    assert [verdict.limitation for verdict in trace.verdicts] == [
        row["limitation"] for row in rows if row["kind"] == "interval" and row["sends"]
    ]
    for name in ("m.svg", "m.html", "m.png"):
        assert tcpwhy("graph", samples, "-o", tmp_path / name).returncode == 0
    assert 'data-series="cwnd"' in (tmp_path / "m.svg").read_text()
    assert "cwnd of the sender" in (tmp_path / "m.html").read_text()


@needs_root
def test_a_capture_of_the_lab_is_drawn_with_the_cwnd_of_its_kernel(tmp_path):
    import duckdb

    if (reason := tracepoint.obstacle()) is not None:
        pytest.skip(reason)
    done = run(load(SCENARIOS / "clamp.toml"), tmp_path / "clamp")
    file = done.folder / "cwnd.parquet"
    graph = draw(done.folder / "S.pcap", cwnd=file)
    trace = graph.traces[0]
    cwnd, flight = trace.series["cwnd"], trace.series["flight"]
    query = f"SELECT cwnd_segs FROM '{file}' WHERE side = 'forward' ORDER BY at_ns"
    segments = [row[0] for row in duckdb.sql(query).fetchall()]
    assert (cwnd["v"] == numpy.array(segments) * trace.half.effective_mss).all()
    # One clock: what was sent fits into the cwnd of its time, but for what was just acknowledged.
    at = numpy.searchsorted(cwnd["t"], flight["t"], side="right") - 1
    room = cwnd["v"][numpy.maximum(at, 0)] + 2 * trace.half.effective_mss
    assert (flight["v"] <= room)[at >= 0].mean() > 0.98
    assert "cwnd of the sender" in graph.svg()
