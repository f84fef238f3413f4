"""Two workers of a Dask cluster, each with nothing but the wheel: rows as in a run here."""

import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack

import duckdb
import packets
import pytest

from tcpwhy import archive

CAPTURES = 200
SECOND = 10**9

pytest.importorskip("distributed", reason="clusters need Dask: pip install 'tcpwhy[dask]'")


@pytest.fixture(scope="session")
def workers(wheel, tmp_path_factory):
    """Make two environments with the wheel, and Dask to be reached by."""
    import distributed

    made = []
    for name in ("first", "second"):
        place = tmp_path_factory.mktemp(name)
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        pip = [place / "bin" / "pip", "--quiet", "--disable-pip-version-check", "install"]
        same = f"distributed=={distributed.__version__}"
        subprocess.run([*pip, wheel, same], check=True)
        made.append(place / "bin" / "python")
    return made


def started(stack, command, folder):
    """Start a process in a folder without our sources; it ends with the test."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=clean,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )

    def end():
        process.kill()
        process.communicate()

    stack.callback(end)
    return process


def rows(store):
    """Read all flows but where they were read."""
    with duckdb.connect() as connection:
        files = f"read_parquet('{store}/flows/*/*.parquet', union_by_name = true)"
        return connection.execute(f"SELECT * FROM {files} ORDER BY flow_id, direction").fetchall()


def test_a_cluster_gives_what_a_run_here_gives_though_a_worker_is_killed(workers, tmp_path):
    folder = tmp_path / "captures"
    folder.mkdir()
    for at in range(CAPTURES):
        made = packets.transfer(300, rtt=SECOND // 50, port=20_000 + at)
        (folder / f"{at}.pcap").write_bytes(packets.pcap(made))
    port = 20_000 + os.getpid() % 20_000
    address = f"tcp://127.0.0.1:{port}"
    with ExitStack() as stack:
        scheduler = [workers[0], "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1"]
        started(stack, [*scheduler, "--port", str(port), "--no-dashboard"], tmp_path)
        run = ["-m", "distributed.cli.dask_worker", address, "--no-dashboard", "--nthreads", "1"]
        # Without a nanny: a worker that is killed stays away, as a machine that fails does.
        processes = [started(stack, [python, *run, "--no-nanny"], tmp_path) for python in workers]
        time.sleep(2)
        store = tmp_path / "cluster"
        outcomes = archive.analyze_each([f"{folder}/*.pcap"], str(store), cluster=address)
        names = [next(outcomes).name for _ in range(CAPTURES // 4)]
        processes[1].send_signal(signal.SIGKILL)
        names += [outcome.name for outcome in outcomes]
    assert len(set(names)) == len(names) == CAPTURES
    for _ in archive.analyze_each([f"{folder}/*.pcap"], str(tmp_path / "here")):
        pass
    assert rows(store) == rows(tmp_path / "here")
