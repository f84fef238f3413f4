"""A disk of a megabyte: what it does not hold is counted, and the rest is sent later."""

import os
import shutil
import socket
import subprocess

import pytest

from tcpwhy.sinks import RowsLostError, Run, open_sink

pytestmark = pytest.mark.system


@pytest.fixture
def disk(tmp_path):
    if os.geteuid() or not shutil.which("mount"):
        pytest.skip("mounting takes root")
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("no right to mount")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_is_one_line_and_costs_what_it_does_not_hold(disk, batch_of):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    said = []
    target = f"jsonl:tcp://127.0.0.1:{port}?memory=200kB&spill={disk}/rows"
    run = Run(live=True, say=said.append)
    sink = open_sink(target, format=None, tables=["flows"], run=run)
    lost, told = 0, set()
    for first in range(0, 4000, 100):
        rows = [{"flow_id": number, "evidence": "x" * 500} for number in range(first, first + 100)]
        try:
            sink.write("flows", batch_of("flows", *rows))
        except RowsLostError as error:
            lost += error.rows
            told.add(error.strerror)
    assert 0 < lost < 4000
    assert told == {"No space left on device"}
    assert len(said) == 1, said
    # What was in memory may find room that whole chunks did not.
    with pytest.raises(RowsLostError, match="rows wait in") as raised:
        sink.close()
    lost += raised.value.rows

    taken = set()
    with socket.create_server(("127.0.0.1", port)) as server:
        server.settimeout(60)
        later = open_sink(target, format=None, tables=["flows"], run=run)
        connection, _ = server.accept()
        with connection, connection.makefile() as lines:
            for line in lines:
                taken.add(line.split('"flow_id":')[1].split(",")[0])
                if len(taken) == 4000 - lost:
                    break
            later.close()
    assert len(taken) == 4000 - lost
    assert not list(disk.rglob("*.chunk"))
