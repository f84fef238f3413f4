"""Formats: what goes in comes out, NULL stays NULL, 64-bit numbers keep their digits."""

import csv
import json
from pathlib import Path

import pyarrow.parquet
import pytest

from tcpwhy import Store, UsageError, analyze
from tcpwhy._core import Rows
from tcpwhy.sinks import RowsLostError, Run, formats, open_sink, parquet
from tcpwhy.sinks.parquet import left_over
from tcpwhy.store import upkeep

DATA = Path(__file__).parent / "data"
LARGEST = 2**64 - 1
MANY_PARTS = 8


@pytest.fixture
def written(batch_of, tmp_path):
    """Write two batches of flows to a file and give its path."""

    def write(name, *, format=None):
        sink = open_sink(str(tmp_path / name), format=format, tables=["flows"])
        sink.write("flows", batch_of("flows", {"flow_id": LARGEST, "src": 'a "quoted", name'}))
        sink.write("flows", batch_of("flows", {"flow_id": 2, "handshake_seen": True}))
        sink.close()
        return tmp_path / name

    return write


def test_jsonl(written):
    rows = [json.loads(line) for line in written("f.jsonl").read_text().splitlines()]
    assert [row["flow_id"] for row in rows] == [str(LARGEST), "2"]
    assert rows[0]["src"] == 'a "quoted", name'
    assert rows[0]["limitation"] is None
    assert rows[1]["handshake_seen"] is True


def test_csv(written):
    with written("f.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["flow_id"] for row in rows] == [str(LARGEST), "2"]
    assert rows[0]["src"] == 'a "quoted", name'
    assert rows[0]["limitation"] == ""
    # An empty text is told from NULL by its quotes.
    assert ',"",' in written("f.csv").read_text()


def test_parquet(written):
    table = pyarrow.parquet.read_table(written("f.parquet"))
    assert table["flow_id"].to_pylist() == [LARGEST, 2]
    assert table["limitation"].to_pylist() == [None, None]
    meta = pyarrow.parquet.ParquetFile(written("f.parquet")).metadata
    assert meta.row_group(0).column(0).compression == "ZSTD"


def test_format_names_what_a_suffix_does_not(written):
    assert written("flows.data", format="csv").read_text().startswith("flow_id,")


def test_csv_without_rows_still_has_its_header(tmp_path):
    open_sink(str(tmp_path / "f.csv"), format=None, tables=["counters"]).close()
    assert (tmp_path / "f.csv").read_text() == "name,value\n"


def test_jsonl_of_several_tables_names_each(batch_of, tmp_path):
    sink = open_sink(str(tmp_path / "f.jsonl"), format=None, tables=["flows", "counters"])
    sink.write("counters", batch_of("counters", {"name": "flows", "value": 7}))
    sink.close()
    line = json.loads((tmp_path / "f.jsonl").read_text())
    assert line == {"table": "counters", "name": "flows", "value": 7}


def test_rows_of_a_batch_are_there_before_the_next(batch_of, tmp_path):
    sink = open_sink(str(tmp_path / "f.jsonl"), format=None, tables=["flows"])
    for count in (1, 2, 3):
        sink.write("flows", batch_of("flows", {"flow_id": count}))
        assert len((tmp_path / "f.jsonl").read_text().splitlines()) == count
    sink.close()


def test_parquet_appears_when_it_is_complete(batch_of, tmp_path):
    sink = open_sink(str(tmp_path / "f.parquet"), format=None, tables=["flows"])
    sink.write("flows", batch_of("flows", {"flow_id": 1}))
    assert list(tmp_path.iterdir()) == []
    sink.close()
    assert [path.name for path in tmp_path.iterdir()] == ["f.parquet"]


def held_and_on_disk(sink, folder):
    """Count the rows in memory, and those of the parts that whoever kills the run would find."""
    found = list(folder.glob("f.parquet.*.parts"))
    rows = [Store(path).query("SELECT count(*) FROM flows").fetchall()[0][0] for path in found]
    return sink.rows_held, sum(rows)


def test_parquet_of_many_rows_does_not_hold_them_in_memory(batch_of, tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "ROWS_HELD", 10)
    sink = open_sink(str(tmp_path / "f.parquet"), format=None, tables=["flows"])
    seen = []
    for first in range(0, 40, 4):
        rows = [{"flow_id": number, "start_ns": number} for number in range(first, first + 4)]
        sink.write("flows", batch_of("flows", *rows))
        seen.append(held_and_on_disk(sink, tmp_path))
    in_memory, on_disk = zip(*seen, strict=True)
    assert in_memory == (4, 8, 0, 4, 8, 12, 4, 8, 12, 4)
    assert on_disk == (0, 0, 12, 12, 12, 12, 24, 24, 24, 36)
    sink.close()
    assert [path.name for path in tmp_path.iterdir()] == ["f.parquet"]
    table = pyarrow.parquet.read_table(tmp_path / "f.parquet")
    assert sorted(table["flow_id"].to_pylist()) == list(range(40))


def rows_of_an_analysis():
    """Analyse a capture; its rows are batches of our own."""
    return analyze(DATA / "slow_reader.pcap").batches_of("flows")


def test_parquet_of_an_analysis_is_written_while_rows_come(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "ROWS_HELD", 1)
    (batch,) = rows_of_an_analysis()
    sink = open_sink(str(tmp_path / "f.parquet"), format=None, tables=["flows"])
    for _ in range(20):
        sink.write("flows", batch)
        assert sink.rows_held == 0
    sink.close()
    assert [path.name for path in tmp_path.iterdir()] == ["f.parquet"]
    found = pyarrow.parquet.read_table(tmp_path / "f.parquet")
    assert found.equals(pyarrow.table(Rows("flows", 20 * [batch])).cast(found.schema))


def test_parquet_of_many_rows_says_why_it_cannot_be_written(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "ROWS_HELD", 1)
    target = tmp_path / "f.parquet"
    sink = open_sink(str(target), format=None, tables=["flows"])
    target.mkdir()
    (batch,) = rows_of_an_analysis()
    sink.write("flows", batch)
    with pytest.raises(OSError, match="directory"):
        sink.close()


def test_parquet_of_a_long_run_is_on_disk_after_every_flush(batch_of, tmp_path, monkeypatch):
    monkeypatch.setattr(upkeep, "MANY_PARTS", MANY_PARTS)
    said = []
    run = Run(live=True, say=said.append)
    sink = open_sink(str(tmp_path / "f.parquet"), format=None, tables=["flows"], run=run)
    for number in range(2 * MANY_PARTS):
        sink.write("flows", batch_of("flows", {"flow_id": number}))
        sink.flush()
        assert held_and_on_disk(sink, tmp_path) == (0, number + 1)
    (parts,) = tmp_path.iterdir()
    assert len(list(parts.glob("flows/date=*/part-*.parquet"))) <= MANY_PARTS, "they are joined"
    assert left_over(str(tmp_path / "f.parquet")) == [str(parts)]
    assert said == [
        f"{tmp_path / 'f.parquet'}: is made at the end, of the rows that wait in {parts}"
    ]
    sink.close()
    assert [path.name for path in tmp_path.iterdir()] == ["f.parquet"]
    assert len(pyarrow.parquet.read_table(tmp_path / "f.parquet")) == 2 * MANY_PARTS


def test_parquet_of_a_long_run_has_the_columns_of_one_kept_in_memory(batch_of, tmp_path):
    rows = {"flow_id": LARGEST, "src": "a"}, {"flow_id": 2, "handshake_seen": True}
    for name, long in ("long", True), ("short", False), ("empty", True):
        target = str(tmp_path / f"{name}.parquet")
        sink = open_sink(target, format=None, tables=["flows"], run=Run(live=long))
        if name != "empty":
            sink.write("flows", batch_of("flows", *rows))
        sink.close()
    long, short, empty = (
        pyarrow.parquet.read_table(tmp_path / f"{name}.parquet")
        for name in ("long", "short", "empty")
    )
    # DuckDB notes in neither, or in one, that a column has no NULL.
    assert long.sort_by("flow_id").cast(short.schema).equals(short.sort_by("flow_id"))
    assert (empty.cast(short.schema).schema, len(empty)) == (short.schema, 0)


def test_parquet_that_cannot_be_made_leaves_its_rows_where_it_says(batch_of, tmp_path):
    target = tmp_path / "f.parquet"
    sink = open_sink(str(target), format=None, tables=["flows"], run=Run(live=True))
    sink.write("flows", batch_of("flows", {"flow_id": 7}))
    target.mkdir()
    with pytest.raises(RowsLostError, match=r"its rows are in .*f\.parquet\..*\.parts") as raised:
        sink.close()
    assert raised.value.rows == 0, "they are not lost"
    (parts,) = left_over(str(target))
    assert parts in str(raised.value)
    assert Store(parts).query("SELECT flow_id FROM flows").fetchall() == [(7,)]


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_one_file_holds_one_table(format, tmp_path):
    with pytest.raises(UsageError, match="holds one table"):
        open_sink(str(tmp_path / f"f.{format}"), format=None, tables=["flows", "intervals"])


@pytest.mark.parametrize(
    ("target", "told"),
    [("x.docx", r"suffix '\.docx'.*\.csv"), ("nowhere://x", "scheme 'nowhere'")],
)
def test_unknown_targets_name_the_known(target, told):
    with pytest.raises(UsageError, match=told):
        open_sink(target, format=None, tables=None)


def test_formats_are_the_contract():
    assert set(formats()) >= {"table", "jsonl", "csv", "parquet"}


def test_other_tables_are_lines(batch_of, tmp_path, golden):
    sink = open_sink(str(tmp_path / "t.txt"), format=None, tables=["intervals", "segments"])
    half = {"src": "10.0.0.1", "src_port": 80, "dst": "2001:db8::1", "dst_port": 5000}
    first = {"start_ns": 1_700_000_000_123_000_000, "throughput_bps": 1.5e6, "period_kind": "BTP"}
    known = {"rtt_mean_ns": 20_500_000, "limitation": "receiver_window"}
    sink.write("intervals", batch_of("intervals", half | first | known, half | first))
    segment = {"frame": 17, "ts_ns": 1_700_000_000_123_456_789, "seq_start": 1, "seq_end": 1449}
    sink.write(
        "segments",
        batch_of("segments", segment | {"direction": "orig", "kind": "new", "flags": "PA"}),
    )
    sink.close()
    assert (tmp_path / "t.txt").read_text() == golden("lines.txt")
