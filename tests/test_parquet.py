"""Our own Parquet files hold what files of DuckDB's would, for whoever reads them."""

import subprocess
import sys
from pathlib import Path

import duckdb
import polars
import pyarrow
import pyarrow.parquet
import pytest

from tcpwhy import UsageError, analyze
from tcpwhy._core import Parquet, Rows, schemas
from tcpwhy.sinks import parquet

DATA = Path(__file__).parent / "data"
CAPTURES = sorted(DATA.glob("*.pcap"))
TABLES = ["flows", "intervals", "periods", "stalls", "counters"]
GROUP_ROWS = 2**14


@pytest.fixture(scope="module")
def batches():
    """Give the batches of several captures by table."""
    found = {table: [] for table in TABLES}
    for capture in CAPTURES:
        for table, batch in analyze(capture, table=TABLES[:-1]).batches():
            found[table].append(batch)
    found["segments"] = analyze(CAPTURES[0], table="segments", flow=0).batches_of("segments")
    return found


def written(path, table, batches):
    """Write a file as a run does."""
    writer = Parquet(table)
    parts = [writer.put(batch) for batch in batches]
    path.write_bytes(b"".join([*parts, writer.end()]))
    return path


def of_duckdb(path, table, batches):
    """Write the same by DuckDB."""
    with duckdb.connect() as connection:
        connection.register("own", Rows(table, batches))
        connection.execute(f"COPY (FROM own) TO '{path}' (FORMAT parquet)")
    return path


@pytest.mark.parametrize("table", [*TABLES, "segments"])
@pytest.mark.parametrize("most", [0, 1, None])
def test_readers_find_the_rows_and_types_of_a_file_by_duckdb(batches, table, most, tmp_path):
    own = written(tmp_path / "own.parquet", table, batches[table][:most])
    other = of_duckdb(tmp_path / "other.parquet", table, batches[table][:most])
    tables = [pyarrow.parquet.read_table(path) for path in (own, other)]
    assert tables[0].equals(tables[1])
    assert tables[0].schema.equals(tables[1].schema)
    frames = [polars.read_parquet(path) for path in (own, other)]
    assert frames[0].equals(frames[1])
    assert frames[0].schema == frames[1].schema
    described = [duckdb.sql(f"DESCRIBE FROM '{path}'").fetchall() for path in (own, other)]
    assert described[0] == described[1]
    listed = [duckdb.sql(f"FROM '{path}'").fetchall() for path in (own, other)]
    assert listed[0] == listed[1]


def test_every_table_has_types_that_can_be_written(tmp_path):
    for table, columns in schemas():
        path = written(tmp_path / "f.parquet", table, [])
        names = [name for name, *_ in columns]
        assert pyarrow.parquet.read_schema(path).names == names
    with pytest.raises(UsageError, match="no table 'nothing'"):
        Parquet("nothing")


def test_rows_leave_memory_in_groups(batches, tmp_path):
    longest = max(batches["segments"], key=len)
    many = (3 * GROUP_ROWS // len(longest)) * [longest]
    writer = Parquet("segments")
    assert sum(len(writer.put(batch)) > len(b"PAR1") for batch in many) >= 2
    found = pyarrow.parquet.read_table(written(tmp_path / "f.parquet", "segments", many))
    assert found.equals(pyarrow.table(Rows("segments", many)).cast(found.schema))


def test_rows_of_another_table_are_refused(batches):
    with pytest.raises(UsageError, match="number of columns"):
        Parquet("flows").put(batches["counters"][0])


def test_bounds_let_readers_pass_over_groups(batches, tmp_path):
    path = written(tmp_path / "f.parquet", "flows", batches["flows"])
    file, table = pyarrow.parquet.ParquetFile(path), pyarrow.parquet.read_table(path)
    for name in ("flow_id", "src", "src_port", "start_ns", "window_scale"):
        at = table.schema.get_field_index(name)
        found = file.metadata.row_group(0).column(at).statistics
        values = [value for value in table[name].to_pylist() if value is not None]
        assert (found.min, found.max) == (min(values), max(values))
        assert found.null_count == table[name].null_count
    rows = duckdb.sql(f"SELECT count(*) FROM '{path}' WHERE src = '{table['src'][0]}'").fetchall()
    assert rows == [(table["src"].to_pylist().count(table["src"][0].as_py()),)]


def test_a_file_that_may_not_grow_leaves_the_one_before(tmp_path):
    target = tmp_path / "f.parquet"
    target.write_text("of an earlier run")
    command = ["analyze", str(CAPTURES[0]), "-o", str(target)]
    limited = ["prlimit", "--fsize=2000", "--", sys.executable, "-m", "tcpwhy", *command]
    done = subprocess.run(limited, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"tcpwhy: {target}: File too large"
    assert target.read_text() == "of an earlier run"
    assert [path.name for path in tmp_path.iterdir()] == ["f.parquet"]


def test_what_went_wrong_with_a_file_is_said_again(batches, tmp_path):
    sink = parquet.Sink(str(tmp_path / "f.parquet"), ("segments",))
    folder = tmp_path / ".f.parquet.tmp"
    folder.mkdir()
    for _ in range(2):
        with pytest.raises(IsADirectoryError):
            sink.write("segments", batches["segments"][0])
    with pytest.raises(IsADirectoryError):
        sink.close()
