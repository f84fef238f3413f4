"""Sets the simulator's TCP beside the kernel's, scenario by scenario.

    tools/side_by_side.py run FOLDER [SCENARIO...]   runs both, needs root; adds to what is there
    tools/side_by_side.py table FOLDER               writes the table of docs/simulator.md
    tools/side_by_side.py counts                     what once differed, in the simulator alone

Each scenario runs with five seeds on the kernel (`tcpwhy lab run`) and in the simulator. Numbers
are means over the seeds. A kernel run has real-time priority, so that other work does not disturb
it; where that is refused, it waits for a load below LOAD_MAX. It counts only if the lab says that
it was the run that was meant. The table stands between `<!-- side_by_side -->` and `<!-- end -->`.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean
from typing import Any

import duckdb

import tcpwhy
from tcpwhy._core import TcpwhyError
from tcpwhy.lab import run as lab
from tcpwhy.lab import scenario

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/simulator.md"
SEEDS = range(1, 6)
LOAD_MAX = 3.0
REALTIME_PRIORITY = 5
COLUMNS = ("throughput_bps", "drops", "retransmitted_segs", "ssthresh_segs", "queue_packets")
TOLERANCES = {
    "throughput_bps": 1.05,
    "drops": 1.5,
    "retransmitted_segs": 1.5,
    "ssthresh_segs": 1.1,
    "queue_packets": 1.15,
}
"""By what factor the means may differ, unless both lie within each other's range over the seeds."""
SLACK = {"drops": 3.0, "retransmitted_segs": 3.0, "ssthresh_segs": 1.0, "queue_packets": 0.5}
"""Differences of so few are none: a single loss is a large factor of nothing."""

BUSIEST = """SELECT max(sent_bytes) AS bytes, avg(queue_packets) AS waiting
    FROM queues GROUP BY link, element ORDER BY max(busy_ns) DESC LIMIT 1"""
LOSSES = """CREATE TABLE losses AS SELECT ssthresh_bytes / 1448 AS ssthresh FROM (
    SELECT *, lag(phase) OVER once AS phase_before, lag(ssthresh_bytes) OVER once AS bytes_before
    FROM truth WINDOW once AS (PARTITION BY flow, side ORDER BY start_ns)
) WHERE ssthresh_bytes < coalesce(bytes_before, 1e12)
    OR (phase IN ('recovery', 'loss') AND phase <> phase_before)"""
"""What each loss or mark left of the window: the simulator says when it answers one."""
FALLS = """CREATE TABLE losses AS SELECT ssthresh FROM (
    SELECT ssthresh_segs AS ssthresh,
        lag(ssthresh_segs) OVER (PARTITION BY flow, side ORDER BY at_ns) AS earlier
    FROM read_parquet('{}')
) WHERE ssthresh < coalesce(earlier, 1e9)"""
"""The kernel's tracepoint gives `tcp_current_ssthresh`. Between losses that rises with cwnd, to
3/4 of it, so that every loss makes it fall."""
EXITS = """SELECT count(*), count(*) FILTER (pipe_bytes < flight_size_bytes) FROM (
    SELECT *, lag(phase) OVER (PARTITION BY flow, side ORDER BY start_ns) AS earlier FROM truth
) WHERE earlier = 'recovery' AND phase <> 'recovery'"""


def main() -> None:
    """Run, or write the table."""
    match sys.argv[1:]:
        case ["run", folder, *names]:
            measure(Path(folder), names)
        case ["table", folder]:
            write(Path(folder))
        case ["counts"]:
            counts()
        case _:
            sys.exit(__doc__)


def measure(folder: Path, names: Sequence[str]) -> None:
    """Run what is not yet in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    found = {(row["scenario"], row["seed"], row["place"]) for row in results(folder)}
    for name in names or sorted(path.stem for path in (ROOT / "scenarios").glob("*.toml")):
        path = ROOT / f"scenarios/{name}.toml"
        if list(scenario.load(path).obstacles()):
            continue
        for seed in SEEDS:
            for place, run in (("simulator", simulated), ("kernel", on_the_kernel)):
                if (name, seed, place) in found:
                    continue
                row = run(path, seed)
                if row is not None:
                    row = {"scenario": name, "seed": seed, "place": place, **row}
                    with (folder / "rows.jsonl").open("a") as file:
                        file.write(json.dumps(row) + "\n")


def results(folder: Path) -> list[dict[str, Any]]:
    """Read what was measured."""
    path = folder / "rows.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def simulated(path: Path, seed: int) -> dict[str, Any]:
    """Run it in the simulator."""
    raw = scenario.load(path).raw
    sending = {flow["from"] for flow in raw["flows"]}
    with tempfile.TemporaryDirectory() as folder:
        run = tcpwhy.simulate(path, seed=seed, captures=folder)
        truth, events, queues = (run.to_polars(name) for name in ("truth", "events", "queues"))
        # Without taps of its own, a scenario has one at the first sender.
        taps = raw.get("taps") or [{"name": "sender", "host": raw["flows"][0]["from"]}]
        at = {tap["host"]: run.captures[tap["name"]] for tap in taps if tap.get("host") in sending}
        is_seen = at.keys() == sending
        sent_again = sum(retransmitted(path) for path in at.values()) if is_seen else None
    with duckdb.connect() as connection:
        connection.register("truth", truth.to_arrow())
        connection.execute(LOSSES)
        seconds = raw["duration_s"]
        return facts(connection, queues.to_arrow(), events.to_arrow(), seconds, sent_again)


def on_the_kernel(path: Path, seed: int) -> dict[str, Any] | None:
    """Run it on the kernel; None where that could not be, with the reason on stderr."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "run"
        try:
            with undisturbed():
                run = lab.run(scenario.load(path, seed=seed), target)
        except TcpwhyError as error:
            print(f"{path.stem}: {error}", file=sys.stderr)
            return None
        if run.problems:
            print(f"{path.stem}: {run.problems[0]}", file=sys.stderr)
            return None
        with duckdb.connect() as connection:
            sent_again = sum(
                end["samples"][-1]["total_retrans"] for end in run.ends if end["samples"]
            )
            queues = connection.read_parquet(str(target / "queues.parquet")).to_arrow_table()
            events = connection.read_parquet(str(target / "events.parquet")).to_arrow_table()
            source = target / "cwnd.parquet"
            if source.exists():
                connection.execute(FALLS.format(source))
            else:
                connection.execute("CREATE TABLE losses (ssthresh DOUBLE)")
            return facts(connection, queues, events, run.scenario.duration_s, sent_again)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Run before all other work; TcpwhyError where that is refused and the machine is busy."""
    normal = os.sched_param(0)
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(REALTIME_PRIORITY))
    except PermissionError:
        if (load := os.getloadavg()[0]) >= LOAD_MAX:
            raise TcpwhyError(f"no kernel run at a load of {load:.1f}") from None
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, normal)


def retransmitted(capture: Path) -> int:
    """Count the data segments that a capture at the sender shows again."""
    flows = tcpwhy.analyze(capture, table=["flows"]).to_polars("flows")
    again = int(flows["retransmitted_bytes"].sum())
    return round(again / 1448)


def facts(
    connection: Any, queues: Any, events: Any, seconds: float, sent_again: int | None
) -> dict[str, Any]:
    """Give the numbers of one run; throughput and queue are those of the busiest element."""
    connection.register("queues", queues)
    connection.register("events", events)
    carried, waiting = connection.execute(BUSIEST).fetchone() or (0, None)
    drops = connection.execute("SELECT count(*) FROM events WHERE action = 'drop'").fetchone()
    ssthresh = connection.execute("SELECT avg(ssthresh) FROM losses").fetchone()
    return {
        "throughput_bps": 8 * (carried or 0) / seconds,
        "drops": drops[0],
        "retransmitted_segs": sent_again,
        "ssthresh_segs": ssthresh[0],
        "queue_packets": waiting,
    }


def counts() -> None:
    """Say how far slow start overruns, what reordering costs, and how recoveries end."""
    path = ROOT / "scenarios/bottleneck_fast.toml"
    for controller in ("cubic", "cubic_rfc9438"):
        with tempfile.TemporaryDirectory() as folder:
            changed = Path(folder) / path.name
            text = path.read_text(encoding="utf-8")
            changed.write_text(text.replace('controller = "cubic"', f'controller = "{controller}"'))
            print(f"{path.stem}, {controller}: {simulated(changed, 1)['drops']} drops")
    rows = [simulated(ROOT / "scenarios/trap_reordering.toml", seed) for seed in SEEDS]
    drops, again = (fmean(row[name] for row in rows) for name in ("drops", "retransmitted_segs"))
    print(f"trap_reordering: {drops:.1f} drops, {again:.1f} segments sent again")
    run = tcpwhy.simulate(ROOT / "scenarios/policer_bbr.toml", seed=1)
    with duckdb.connect() as connection:
        connection.register("truth", run.to_polars("truth").to_arrow())
        exits, early = connection.execute(EXITS).fetchone() or (0, 0)
    print(f"policer_bbr: {early} of {exits} recoveries end with a hole outstanding")


def table(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Give the lines of the table, in Markdown."""
    words = ("throughput, Mbit/s", "drops", "sent again", "ssthresh", "queue")
    yield "| scenario | " + " | ".join(words) + " | apart |"
    yield "|---" * (len(words) + 2) + "|"
    for name in sorted({row["scenario"] for row in rows}):
        places: dict[str, list[dict[str, Any]]] = {"simulator": [], "kernel": []}
        for row in rows:
            if row["scenario"] == name:
                places[row["place"]].append(row)
        if not all(places.values()):
            continue
        cells, apart = [], []
        for column in COLUMNS:
            ours, kernel = (
                [row[column] for row in places[place] if row[column] is not None]
                for place in ("simulator", "kernel")
            )
            cells.append(f"{shown(column, ours)} / {shown(column, kernel)}")
            if ours and kernel and not agree(column, ours, kernel):
                apart.append(words[COLUMNS.index(column)].split(",")[0])
        yield f"| `{name}` | " + " | ".join(cells) + f" | {', '.join(apart)} |"


def agree(column: str, ours: Sequence[float], kernel: Sequence[float]) -> bool:
    """Say whether the means are as near as TOLERANCES wants, or within the kernel's own range."""
    one, other = fmean(ours), fmean(kernel)
    low, high = sorted((one, other))
    near = high <= low * TOLERANCES[column] or high - low <= SLACK.get(column, 0.0)
    return near or min(kernel) <= one <= max(kernel)


def shown(column: str, values: Sequence[float]) -> str:
    """Give a mean as the table has it."""
    if not values:
        return "–"
    mean = fmean(values) / (1e6 if column == "throughput_bps" else 1)
    return f"{mean:.3g}"


def write(folder: Path) -> None:
    """Put the table into the page."""
    text = PAGE.read_text(encoding="utf-8")
    begin, end = "<!-- side_by_side -->", "<!-- end -->"
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    lines = "\n".join(table(results(folder)))
    PAGE.write_text(f"{before}{begin}\n{lines}\n{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
