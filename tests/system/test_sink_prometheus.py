"""A real Prometheus scrapes a run, is killed and started again; rules and dashboard answer."""

import json
import re
import time
import urllib.parse
import urllib.request
from pathlib import Path

import pytest
from servers import Prometheus, free_ports

from tcpwhy.analysis import Standing
from tcpwhy.sinks import Run, open_sink

pytestmark = pytest.mark.system

PACKAGING = Path(__file__).parent.parent.parent / "packaging"
RULES = PACKAGING / "prometheus" / "tcpwhy.rules.yml"
PATIENCE_S = 90


def ask(server, question):
    query = urllib.parse.urlencode({"query": question})
    with urllib.request.urlopen(f"{server.url}/api/v1/query?{query}", timeout=10) as answer:
        told = json.load(answer)
    assert told["status"] == "success"
    return told["data"]["result"]


def value(server, question):
    result = ask(server, question)
    return float(result[0]["value"][1]) if result else None


def until(condition):
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.2)


def expressions():
    """Give what the dashboard asks for, with its variables filled in."""
    board = json.loads((PACKAGING / "grafana" / "tcpwhy.json").read_text())
    for panel in board["panels"]:
        for target in panel["targets"]:
            asked = target["expr"].replace("$__rate_interval", "5s")
            yield panel["title"], re.sub(r"\$(job|instance)", ".*", asked)


def test_prometheus_scrapes_rules_hold_and_the_dashboard_asks_for_what_is_there(
    batch_of, tmp_path, tool
):
    pytest.importorskip("prometheus_client")
    tool("prometheus")
    (port,) = free_ports(1)
    run = Run(live=True, standing=lambda: Standing(7, {"kernel_drops": 3}))
    sink = open_sink(f"prometheus://127.0.0.1:{port}", format=None, tables=None, run=run)
    server = Prometheus(tmp_path, scrape=port, rules=RULES)
    written = 0

    def write(seconds):
        nonlocal written
        row = {"unique_bytes": 1000, "data_packets": 1, "end_ns": 10**9, "rtt_mean_ns": 10**7}
        row |= {"limitation": "receiver_window", "retransmitted_bytes": 10, "throughput_bps": 8e6}
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            sink.write("intervals", batch_of("intervals", row))
            sink.write("flows", batch_of("flows", row))
            written += 1000
            time.sleep(0.1)

    try:
        server.start()
        write(5)
        server.kill()
        write(2)
        server.start()
        write(10)
        counted = 'tcpwhy_bytes_total{limitation="receiver_window"}'
        until(lambda: value(server, counted) == written)
        write(5)
        share = 'tcpwhy:bytes:ratio_rate5m{limitation="receiver_window"}'
        until(lambda: value(server, share) == pytest.approx(1))
        assert value(server, "tcpwhy:retransmitted_bytes:ratio_rate5m") == pytest.approx(0.01)
        pending = 'ALERTS{alertname="TcpReceiveBuffersTooSmall",alertstate="pending"}'
        until(lambda: ask(server, pending))
        for title, asked in expressions():
            write(0.5)
            assert ask(server, asked), title
    finally:
        server.kill()
        sink.close()


def test_rules_pass_promtool(tool):
    import subprocess

    done = subprocess.run(
        [tool("promtool"), "check", "rules", str(RULES)], capture_output=True, text=True
    )
    assert (done.returncode, "SUCCESS" in done.stdout) == (0, True), done.stderr
