"""A live run whose service is away all the time: the next run sends its rows."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.system

CAPTURE = Path(__file__).parent.parent / "data" / "bulk_tbf_middle.pcap"
PATIENCE_S = 60


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


def transfer(port):
    """Send for some seconds over loopback."""
    with socket.create_server(("127.0.0.1", port)) as server:
        sender = socket.create_connection(("127.0.0.1", port))
        reader, _ = server.accept()
        with sender, reader:
            for _ in range(40):
                sender.sendall(bytes(20_000))
                assert reader.recv(2**20)
                time.sleep(0.05)


def read_all(server, lines):
    connection, _ = server.accept()
    with connection, connection.makefile() as file:
        lines.extend(json.loads(line) for line in file)


def test_rows_for_a_service_that_was_away_come_with_the_next_run(tmp_path, monkeypatch, tcpwhy):
    if os.geteuid():
        pytest.skip("capturing takes root")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    port, watched = free_port(), free_port()
    target = f"jsonl:tcp://127.0.0.1:{port}"
    rows = tmp_path / "rows.jsonl"
    options = ["--filter", f"tcp port {watched}", "--table", "intervals", "--interval", "500ms"]
    command = [sys.executable, "-m", "tcpwhy", "monitor", "lo", "--workers", "1", *options]
    run = subprocess.Popen(
        [*command, "-o", str(rows), "-o", target], stderr=subprocess.PIPE, text=True
    )
    said = []
    for line in run.stderr:
        said.append(line)
        if "watching" in line:
            break
    transfer(watched)
    time.sleep(1)
    run.terminate()
    said += run.stderr.readlines()
    run.stderr.close()
    assert run.wait(PATIENCE_S) == 130
    expected = [json.loads(line) for line in rows.read_text().splitlines()]
    assert expected
    away = [line for line in said if target in line]
    assert len(away) == 2, said
    assert "connection refused; rows wait in memory" in away[0]
    assert f"{len(expected)} rows wait in" in away[1]

    with socket.create_server(("127.0.0.1", port)) as server:
        lines = []
        reader = threading.Thread(target=read_all, args=(server, lines))
        reader.start()
        done = tcpwhy("analyze", CAPTURE, "--table", "counters", "-o", target)
        reader.join(PATIENCE_S)
    assert f"sends {len(expected)} rows of an earlier run first" in done.stderr
    assert (done.returncode, lines[: len(expected)]) == (0, expected)
    assert not list((tmp_path / "state").rglob("*.chunk"))
