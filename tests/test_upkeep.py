"""A store that is written to for long: small parts are joined, old ones go, a crash loses none."""

import json
import time
from pathlib import Path

import duckdb
import pytest

from tcpwhy import Store
from tcpwhy.sinks import Run, store
from tcpwhy.sinks.store import Sink
from tcpwhy.store import upkeep
from tcpwhy.store.upkeep import MANY_PARTS

DAY = 86400 * 10**9
TODAY = time.time_ns() // DAY * DAY


def row(number, days_ago=0):
    start = TODAY - days_ago * DAY + number
    return {"flow_id": number, "start_ns": start, "end_ns": start + 1, "data_packets": 10}


@pytest.fixture
def sink(tmp_path):
    return long(tmp_path)


def long(path, **bounds):
    """Open a store for a run without an end."""
    return Sink(str(path), ("flows",), Run(live=True, **bounds))


def parts(path):
    found = path.glob("flows/date=*/part-*.parquet")
    return sorted(part for part in found if part.parent.name != "date=1970-01-01")


def numbers(path):
    rows = Store(path).query("SELECT flow_id FROM flows ORDER BY ALL").fetchall()
    return [number for (number,) in rows]


def write(sink, batch_of, *rows):
    sink.write("flows", batch_of("flows", *rows))
    sink.flush()


def test_small_parts_are_joined(sink, batch_of, tmp_path):
    for number in range(2 * MANY_PARTS):
        write(sink, batch_of, row(number))
        assert len(parts(tmp_path)) < MANY_PARTS
    assert numbers(tmp_path) == list(range(2 * MANY_PARTS))


def test_a_join_holds_a_row_group_in_memory_and_not_all_rows(sink, batch_of, tmp_path, monkeypatch):
    monkeypatch.setattr(upkeep, "STEADY_GROUP_ROWS", 2048)  # the least that DuckDB has
    for first in range(0, MANY_PARTS * 100, 100):
        write(sink, batch_of, *(row(number) for number in range(first, first + 100)))
    (joined,) = parts(tmp_path)
    groups = "SELECT DISTINCT row_group_id, row_group_num_rows FROM parquet_metadata(?)"
    rows = [n for _, n in duckdb.execute(groups, [str(joined)]).fetchall()]
    assert sum(rows) == MANY_PARTS * 100
    assert max(rows) < 2048 + 100, "a group ends with the first vector that fills it"


def test_rows_that_are_written_hold_no_memory(sink, batch_of, tmp_path):
    used = "SELECT sum(memory_usage_bytes) FROM duckdb_memory() WHERE tag = 'IN_MEMORY_TABLE'"
    for first in range(0, 20_000, 5_000):
        sink.write("flows", batch_of("flows", *(row(first + n) for n in range(5_000))))
    assert sink._connection.execute(used).fetchone()[0] > 1e6
    sink.flush()
    assert sink._connection.execute(used).fetchone()[0] == 0
    assert len(numbers(tmp_path)) == 20_000


def test_days_past_keeping_go(batch_of, tmp_path):
    said = []
    sink = long(tmp_path, keep_ns=2 * DAY, say=said.append)
    write(sink, batch_of, *(row(number, days_ago=number) for number in range(6)))
    assert numbers(tmp_path) == [0, 1, 2]
    sink.close()
    assert said == [f"{tmp_path}/: 3 parts were removed (--keep, --keep-size)"]


def test_the_oldest_goes_when_it_is_too_much(sink, batch_of, tmp_path):
    write(sink, batch_of, *(row(number, days_ago=number) for number in range(6)))
    size = sum(part.stat().st_size for part in parts(tmp_path)[-3:])
    long(tmp_path, keep_bytes=size).flush()
    assert numbers(tmp_path) == [0, 1, 2]


@pytest.mark.parametrize("done", ["nothing", "replaced", "one removed"])
def test_a_crash_while_parts_are_joined_loses_and_doubles_nothing(
    sink, batch_of, tmp_path, monkeypatch, done
):
    def crash(note):
        plan = json.loads(note.read_text())
        if done != "nothing":
            (note.parent / plan["joined"]).replace(note.parent / plan["into"])
        if done == "one removed":
            (note.parent / plan["of"][0]).unlink()
        raise KeyboardInterrupt

    for number in range(MANY_PARTS - 1):
        write(sink, batch_of, row(number))
    with monkeypatch.context() as patch:
        patch.setattr(upkeep, "_finish", crash)
        with pytest.raises(KeyboardInterrupt):
            write(sink, batch_of, row(MANY_PARTS - 1))
    long(tmp_path)
    assert numbers(tmp_path) == list(range(MANY_PARTS))
    assert len(parts(tmp_path)) == 1


def test_a_full_disk_costs_what_does_not_fit_and_nothing_else(batch_of, tmp_path, monkeypatch):
    monkeypatch.setattr(store, "ROWS_PER_PART", 4)
    sink = long(tmp_path)
    full = True
    write_file = store.write_file

    def write_or_fail(connection, rows, path, **options):
        if full and "date=1970" not in str(path):
            raise OSError(28, "No space left on device", str(path))
        write_file(connection, rows, path, **options)

    monkeypatch.setattr(store, "write_file", write_or_fail)
    for number in range(4):
        sink.write("flows", batch_of("flows", row(number, days_ago=number % 2)))
    for number in range(4, 9):
        with pytest.raises(OSError, match="No space"):
            sink.write("flows", batch_of("flows", row(number)))
    full = False
    sink.write("flows", batch_of("flows", row(9)))
    sink.close()
    assert numbers(tmp_path) == [0, 1, 2, 3, 9]


def test_two_writers_share_a_store(batch_of, tmp_path):
    """Each joins its own parts, and finishes what it finds of the other without a loss."""
    one, other = long(tmp_path), long(tmp_path)
    for number in range(2 * MANY_PARTS):
        write(one if number % 2 else other, batch_of, row(number))
    assert numbers(tmp_path) == list(range(2 * MANY_PARTS))
    one.close()
    other.close()
    assert numbers(tmp_path) == list(range(2 * MANY_PARTS))


@pytest.mark.parametrize("step", ["read_text", "replace", "unlink"])
def test_another_writer_may_finish_a_join_at_any_step(sink, batch_of, tmp_path, monkeypatch, step):
    as_it_is = getattr(Path, step)

    def other(path, *arguments, **options):
        """Do what a writer does that opens the store right now, and then this step."""
        if ".joined" in path.name and not path.name.endswith(".tmp"):
            monkeypatch.undo()
            upkeep.recover(tmp_path)
        return as_it_is(path, *arguments, **options)

    monkeypatch.setattr(Path, step, other)
    for number in range(MANY_PARTS):
        write(sink, batch_of, row(number))
    assert getattr(Path, step) is as_it_is, "the other writer has come between"
    assert numbers(tmp_path) == list(range(MANY_PARTS))
    assert not list(tmp_path.rglob(".joined-*"))
