"""The Python interface: the same verbs, keyword-only options, conversions that keep NULL."""

import os
import sys
import threading
import time
from pathlib import Path

import packets
import pyarrow
import pytest

import tcpwhy
from tcpwhy import extras


@pytest.fixture
def capture(tmp_path):
    return packets.write_transfer(tmp_path / "transfer.pcap")


def test_what_is_exported_is_declared():
    public = {name for name in dir(tcpwhy) if not name.startswith("_")}
    modules = {name for name in public if type(getattr(tcpwhy, name)).__name__ == "module"}
    assert public - modules | {"__version__"} == set(tcpwhy.__all__)
    assert sorted(tcpwhy.__all__) == tcpwhy.__all__


def test_iteration_gives_tables_and_counters_last(capture):
    batches = list(tcpwhy.analyze(capture, table=["flows", "intervals"]))
    assert {table for table, _ in batches} == {"flows", "intervals", "counters"}
    assert batches[-1][0] == "counters"
    assert all(len(batch) > 0 for _, batch in batches)


def test_rows_are_read_once_and_not_lost_silently(capture):
    result = tcpwhy.analyze(capture)
    list(result)
    with pytest.raises(tcpwhy.UsageError, match="read before"):
        list(result)
    with pytest.raises(tcpwhy.UsageError, match="read before"):
        result.to_arrow()
    collected = tcpwhy.analyze(capture)
    assert len(collected.to_arrow()) == len(collected.to_arrow()) == 2


def test_a_batch_can_be_exported_again(capture):
    """DuckDB asks twice; what was exported before stays valid after the batch is gone."""
    [(_, batch), *_] = tcpwhy.analyze(capture)
    copies = [pyarrow.record_batch(batch) for _ in range(3)]
    expected = len(batch)
    del batch
    assert [copy.num_rows for copy in copies] == [expected] * 3
    assert copies[0].equals(copies[2])
    copies[0].validate(full=True)


def test_conversions_agree(capture):
    result = tcpwhy.analyze(str(capture))
    [(rows, size)] = (
        result.to_duckdb().sql("SELECT count(*), sum(unique_bytes) FROM flows").fetchall()
    )
    polars, pandas, arrow = result.to_polars(), result.to_pandas(), result.to_arrow()
    assert (rows, size) == (2, 400_000)
    for column in ("flow_id", "mss_option", "remedy"):
        expected = arrow[column].to_pylist()
        assert polars[column].to_list() == expected
        assert pandas[column].array.__arrow_array__().to_pylist() == expected


def test_counters(capture):
    counters = tcpwhy.analyze(capture).counters
    assert counters["packets_read"] == counters["packets_tcp"] > 400
    assert counters["flows"] == 1


def test_several_captures_are_one_input(tmp_path):
    paths = [
        packets.write_transfer(tmp_path / f"{port}.pcap", 20, port=port) for port in (5001, 5002)
    ]
    assert tcpwhy.analyze(paths).counters["flows"] == 2


def test_progress_and_stop(capture):
    result = tcpwhy.analyze(capture)
    list(result)
    progress = result.progress()
    assert progress.bytes_read == progress.bytes_total == capture.stat().st_size
    assert progress.packets > 400
    result.stop()


def test_stop_keeps_what_was_read(tmp_path):
    """The pipe stays open: only stop() ends the run."""
    os.mkfifo(tmp_path / "pipe")
    frames = packets.pcap(packets.transfer())
    go_on = threading.Event()

    def write():
        with (tmp_path / "pipe").open("wb") as pipe:
            pipe.write(frames)
            pipe.flush()
            go_on.wait()

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    result = tcpwhy.analyze(tmp_path / "pipe")
    before, now = None, result.progress()
    # All bytes are read, and what can be decoded of them while the pipe is open.
    while now != before or now.bytes_read < len(frames) or now.packets < 400:
        time.sleep(0.3)
        before, now = now, result.progress()
    result.stop()
    assert result.to_arrow()["unique_bytes"].to_pylist()[0] >= 390_000
    assert result.progress().bytes_total is None
    go_on.set()
    writer.join()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"interval": "soon"}, "not a duration"),
        ({"table": "streams"}, "no table 'streams'"),
        ({"table": []}, "no table"),
        ({"table": "segments"}, "flow"),
        ({"compat": "other"}, "seed"),
        ({"flow": "web"}, "neither a flow_id"),
        ({"workers": 0}, "workers"),
        ({"filter": "tcp tcp tcp"}, "filter"),
    ],
)
def test_options_that_make_no_sense(capture, options, told):
    with pytest.raises(tcpwhy.UsageError, match=told) as caught:
        tcpwhy.analyze(capture, **options)
    assert caught.value.exit_code == 2


def test_unknown_options_are_refused(capture):
    with pytest.raises(TypeError, match="intervall"):
        tcpwhy.analyze(capture, intervall=3)
    with pytest.raises(TypeError):
        tcpwhy.analyze(capture, "flows")


def test_a_table_that_was_not_asked_for(capture):
    with pytest.raises(tcpwhy.UsageError, match="was not asked for"):
        tcpwhy.analyze(capture).to_arrow("periods")


def test_a_missing_extra_is_named(capture, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(tcpwhy.UsageError, match=r"pip install 'tcpwhy\[polars\]'"):
        tcpwhy.analyze(capture).to_polars()
    with pytest.raises(tcpwhy.UsageError, match=r"tcpwhy\[plot\]"):
        extras.require("no_such_module_at_all", extra="plot")


def test_damage_is_a_warning_in_conversions_and_raised_by_iteration(tmp_path):
    path = packets.write_transfer(tmp_path / "cut.pcap")
    path.write_bytes(path.read_bytes()[:-30])
    result = tcpwhy.analyze(path)
    with pytest.warns(tcpwhy.DamagedInputWarning, match=r"cut\.pcap"):
        assert len(result.to_arrow()) == 2
    rows = []
    with pytest.raises(tcpwhy.InputError, match=r"cut\.pcap") as caught:
        rows.extend(tcpwhy.analyze(path))
    assert caught.value.exit_code == 3
    assert {table for table, _ in rows} == {"flows", "counters"}


def test_nothing_to_read_is_an_error(tmp_path):
    with pytest.raises(tcpwhy.InputError, match=r"missing\.pcap"):
        tcpwhy.analyze(Path(tmp_path, "missing.pcap")).to_arrow()


def test_errors_are_one_tree():
    for error in (tcpwhy.UsageError, tcpwhy.InputError, tcpwhy.PrivilegeError):
        assert issubclass(error, tcpwhy.TcpwhyError)
    codes = [e.exit_code for e in (tcpwhy.UsageError, tcpwhy.InputError, tcpwhy.PrivilegeError)]
    assert codes == [2, 3, 4]


def test_patterns_and_open_files_are_read_like_paths(capture):
    expected = tcpwhy.analyze(capture).to_arrow().drop_columns(["source"])
    matched = tcpwhy.analyze(str(capture.parent / "*.pcap"))
    assert matched.to_arrow().drop_columns(["source"]).equals(expected)
    with capture.open("rb") as file:
        opened = tcpwhy.analyze(file)
    assert opened.to_arrow().drop_columns(["source"]).equals(expected)
    with pytest.raises(tcpwhy.InputError, match="no file matches this pattern"):
        tcpwhy.analyze(str(capture.parent / "*.none"))
    with pytest.raises(tcpwhy.UsageError, match="to_duckdb takes a connection"):
        tcpwhy.analyze(capture).to_duckdb("flows")
