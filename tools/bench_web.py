"""Measure the dashboard over a large store: what each page costs the server, and its memory.

python tools/bench_web.py CAPTURE… [--intervals 20e6] [--store FOLDER]

The store is made of the rows of real captures, each flow many times over: moved in time over two
weeks, with another flow_id and another sender. Processor time is that of the whole server.
"""

import argparse
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import duckdb

from tcpwhy import analyze
from tcpwhy.sinks.store import ROWS_PER_PART, Sink
from tcpwhy.store import Store, ulid
from tcpwhy.store.files import GROUP_ROWS, write_file

BEGIN_S = 1_800_000_000 // 86400 * 86400
DAYS = 14
DAY_NS = 86400 * 10**9
TABLES = ("flows", "intervals")
COUNT = "SELECT count(*) FROM intervals"

HOSTS = 200
"""Senders that each sender of the captures becomes."""

MOVED = """SELECT * REPLACE (
        hash(flow_id, copy) AS flow_id,
        (at_ns + start_ns - first_ns)::BIGINT AS start_ns,
        (at_ns + end_ns - first_ns)::BIGINT AS end_ns,
        src || '.' || (copy % {hosts})::VARCHAR AS src
    ) FROM (
        SELECT rows.*, flow.first_ns, copy,
            {begin} + (hash(flow_id, copy, 'at') % {span})::BIGINT AS at_ns
        FROM {table} rows JOIN firsts flow USING (flow_id), range({low}, {high}) copies(copy)
    )"""


def captured(captures: list[str]) -> tuple[duckdb.DuckDBPyConnection, int]:
    """Give the rows of captures, and how many intervals that is."""
    with warnings.catch_warnings(action="ignore"):
        connection = analyze(captures, table=TABLES).to_duckdb()
    connection.execute(
        "CREATE TABLE firsts AS SELECT flow_id, min(start_ns) AS first_ns FROM flows GROUP BY 1"
    )
    ((count,),) = connection.execute("SELECT count(*) FROM intervals").fetchall()
    return connection, count


def made(path: Path, captures: list[str], wanted: int) -> None:
    """Write a store of so many intervals, in parts as large as `analyze` writes them."""
    Sink(str(path), TABLES).close()
    connection, count = captured(captures)
    copies = -(-wanted // count)
    connection.execute("SET preserve_insertion_order = false; SET memory_limit = '4GB'")
    for day in range(DAYS):
        low, high = (copies * edge // DAYS for edge in (day, day + 1))
        ends = {"begin": (BEGIN_S + day * 86400) * 10**9, "span": DAY_NS, "low": low, "high": high}
        for table in TABLES:
            query = MOVED.format(table=table, hosts=HOSTS, **ends)
            connection.execute(f"CREATE OR REPLACE TABLE moved AS {query}")
            ((rows,),) = connection.execute("SELECT count(*) FROM moved").fetchall()
            parts = -(-rows // ROWS_PER_PART)
            folder = (
                path / table / f"date={time.strftime('%F', time.gmtime(BEGIN_S + day * 86400))}"
            )
            folder.mkdir(parents=True, exist_ok=True)
            for part in range(parts):
                # A run flushes by time; within a part rows lie by flow.
                chosen = f"FROM moved WHERE start_ns // {DAY_NS // parts + 1} % {parts} = {part}"
                target = folder / f"part-{ulid()}.parquet"
                order = f"{chosen} ORDER BY flow_id"
                write_file(connection, order, target, group_rows=GROUP_ROWS)
    connection.close()


class Cost(NamedTuple):
    """What an answer took."""

    cpu_s: float
    wall_s: float
    size_bytes: int


def measured(work: Callable[[], bytes]) -> Cost:
    """Measure one call, of all threads of this process."""
    cpu, wall = time.process_time(), time.monotonic()
    answer = work()
    return Cost(time.process_time() - cpu, time.monotonic() - wall, len(answer))


def pages(path: Path) -> None:
    """Open the store, ask for every page, and write the table."""
    from starlette.testclient import TestClient

    from tcpwhy.web.app import make

    base_mb = memory_mb("VmRSS")
    app = make(path, hosts=("testserver",))
    with TestClient(app) as client:

        def asked(address: str) -> bytes:
            answer = client.get(address)
            assert answer.status_code == 200, f"{address}: {answer.text[:300]}"
            return answer.content

        def opened() -> bytes:
            while client.get("/api/meta").json()["store"]["done"] < 1:
                time.sleep(0.2)
            return b""

        print("| what | processor time | wall time | answer |")
        print("|---|---|---|---|")
        said("opening the store, once", measured(opened))
        begin_ms = BEGIN_S * 1000
        hour, day = 3_600_000, 86_400_000
        noon = begin_ms + 5 * day + 12 * hour
        middle = begin_ms + DAYS * day // 2
        listed = client.get(f"/api/flows?from={noon}&to={noon + hour}").json()["rows"]
        flow_id = listed[0]["flow_id"]
        halves = f"from_a={begin_ms}&to_a={middle}&from_b={middle}&to_b={begin_ms + DAYS * day}"
        hours = f"from_a={noon}&to_a={noon + hour}&from_b={noon + hour}&to_b={noon + 2 * hour}"
        for name, address in {
            "overview of everything": "/api/overview",
            "overview of a week": f"/api/overview?from={noon - 3 * day + 1}&to={noon + 4 * day}",
            "overview of a day": f"/api/overview?from={noon}&to={noon + day}",
            "overview of an hour": f"/api/overview?from={noon}&to={noon + hour}",
            "flows, first page": "/api/flows",
            "flows, 100th page": "/api/flows?page=100",
            "flows by bytes": "/api/flows?sort=bytes",
            "flows by gain, of a limitation": "/api/flows?sort=gain&limitation=receiver_window",
            "flows by words": "/api/flows?q=192.0.2 slow_reader",
            "flows by port and size": "/api/flows?port=443&least=100000",
            "a flow by its identifier": f"/api/flows?q={flow_id}",
            "a flow, its argument and intervals": f"/api/flow/{flow_id}",
            "halves of the store compared": f"/api/compare?{halves}",
            "two hours compared": f"/api/compare?{hours}",
            "question `shares`": "/api/sql?q=shares",
            "question `worst_flows`": "/api/sql?q=worst_flows",
            "question `shares_by_port`": "/api/sql?q=shares_by_port",
            "question `limitation_over_time`": "/api/sql?q=limitation_over_time",
            "question `score_cdf`": "/api/sql?q=score_cdf",
            "question `coverage`": "/api/sql?q=coverage",
            "all of `limitation_over_time` as a file": "/export/sql.csv?q=limitation_over_time",
            "question: `SELECT count(*) FROM intervals`": f"/api/sql?q={COUNT}",
            "overview again": "/api/overview",
        }.items():
            said(name, measured(partial(asked, address)))
        print(
            f"\nmemory of the process: {memory_mb('VmHWM'):.0f} MB at most,"
            f" {base_mb:.0f} MB of it before the store was opened"
        )


def said(name: str, cost: Cost) -> None:
    """Write a line of the table."""
    times = f"{cost.cpu_s:.2f} s | {cost.wall_s:.2f} s"
    print(f"| {name} | {times} | {cost.size_bytes / 1e3:.0f} kB |", flush=True)


def memory_mb(name: str) -> float:
    """Read a line of the kernel's account of this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise KeyError(name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("captures", nargs="*")
    parser.add_argument("--intervals", type=float, default=20e6)
    parser.add_argument("--store", type=Path, help="made there unless it exists, and kept")
    parser.add_argument("--make-only", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tcpwhy-bench-") as name:
        path = options.store or Path(name) / "store"
        if not path.exists():
            made(path, options.captures, round(options.intervals))
        if not options.make_only:
            for table in TABLES:
                ((rows,),) = Store(path).query(f"SELECT count(*) FROM {table}").fetchall()
                print(f"{rows:,} {table}")
            pages(path)


if __name__ == "__main__":
    main()
