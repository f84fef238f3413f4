"""Measures outputs: rows per second and memory of each, into real servers on this machine.

    python tools/bench_sinks.py [SINK…] [--rows 100000]

Rows are those of the flows table with every column filled, in batches of 5,000. OpenSearch and
Kafka are started as the tests start them; CPU seconds are those of this side alone.
"""

import argparse
import json
import resource
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BATCH = 5_000

TARGETS = {
    "store": "{folder}/store/",
    "parquet": "{folder}/f.parquet",
    "parquet:": "parquet:{folder}/parts",
    "jsonl": "{folder}/f.jsonl",
    "csv": "{folder}/f.csv",
    "zeek": "{folder}/conn.log",
    "prometheus": "{folder}/f.prom",
    "jsonl:tcp": "jsonl:tcp://127.0.0.1:{listener}",
    "syslog+tcp": "syslog+tcp://127.0.0.1:{listener}",
    "opensearch": "opensearch+http://127.0.0.1:{opensearch}/bench",
    "kafka": "kafka://127.0.0.1:{kafka}/bench",
    "kafka arrow": "kafka://127.0.0.1:{kafka}/arrow?format=arrow",
}


def measure(target: str, rows: int) -> dict[str, float]:
    """Write rows to a target, in this process."""
    import pyarrow

    from tcpwhy import _core
    from tcpwhy.sinks import open_sink

    schema = pyarrow.table(_core.Rows("flows", [])).schema
    start = 1_790_000_000_000_000_000

    def value(name: str, kind: pyarrow.DataType, number: int) -> object:
        if name == "flow_id":
            return number * 2654435761
        if name in ("src", "dst"):
            return f"10.{number % 200}.{number // 200 % 200}.1"
        if name.endswith("_ns"):
            return start + number
        if pyarrow.types.is_string(kind):
            return {"direction": "orig", "evidence": "word " * 30}.get(name, "receiver_window")
        return True if pyarrow.types.is_boolean(kind) else number % 200

    def batch(first: int) -> pyarrow.RecordBatch:
        numbers = range(first, first + BATCH)
        columns = [
            pyarrow.array([value(field.name, field.type, n) for n in numbers], field.type)
            for field in schema
        ]
        return pyarrow.record_batch(columns, schema=schema)

    batches = [batch(first) for first in range(0, rows, BATCH)]
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began, used = time.monotonic(), time.process_time()
    sink = open_sink(target, format=None, tables=["flows"])
    for one in batches:
        sink.write("flows", one)
    sink.close()
    elapsed_s, cpu_s = time.monotonic() - began, time.process_time() - used
    grown_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb
    return {"rows_per_s": rows / elapsed_s, "cpu_us": cpu_s / rows * 1e6, "mb": grown_kb / 1024}


@contextmanager
def listener() -> Iterator[int]:
    """Take what is sent, and forget it."""

    def take() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                while connection.recv(2**20):
                    pass

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=take, daemon=True).start()
        yield server.getsockname()[1]


def main() -> None:
    """Measure each sink in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sinks", nargs="*", metavar="SINK", help=", ".join(TARGETS))
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one, options.rows)))
        return
    chosen = options.sinks or list(TARGETS)
    sys.path.insert(0, str(ROOT / "tests" / "system"))
    with tempfile.TemporaryDirectory() as folder, listener() as port:
        places: dict[str, object] = {"folder": folder, "listener": port}
        started = []
        try:
            for name in ("opensearch", "kafka"):
                if any(f"{{{name}}}" in TARGETS[sink] for sink in chosen):
                    import servers

                    home = Path(folder, f"{name}-server")
                    home.mkdir()
                    kind = {"opensearch": servers.OpenSearch, "kafka": servers.Kafka}[name]
                    started.append(kind(home).start())
                    places[name] = started[-1].port
            print(f"{'sink':<12} {'rows/s':>9} {'CPU µs/row':>11} {'memory MB':>10}")
            for sink in chosen:
                target = TARGETS[sink].format(**places)
                command = [sys.executable, __file__, "--one", target, "--rows", str(options.rows)]
                done = subprocess.run(command, check=False, capture_output=True, text=True)
                if done.returncode:
                    print(f"{sink:<12} failed: {done.stderr.splitlines()[-1]}")
                    continue
                found = json.loads(done.stdout)
                rate, cpu, memory = found["rows_per_s"], found["cpu_us"], found["mb"]
                print(f"{sink:<12} {rate:>9,.0f} {cpu:>11.1f} {memory:>10.0f}", flush=True)
        finally:
            for server in started:
                server.kill()


if __name__ == "__main__":
    main()
