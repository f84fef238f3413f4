"""Stores and files in trouble: what is said, in one line, names the place and what to do."""

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tcpwhy import InputError, Store, UsageError
from tcpwhy.analysis import Lost
from tcpwhy.cli._status import losses
from tcpwhy.sinks import open_sink

CAPTURE = Path(__file__).parent / "data" / "bulk_tbf_sender.pcap"


@pytest.fixture
def plain():
    """Run the command line without the right to pass over permissions, which root has."""
    start = []
    if os.geteuid() == 0:
        setpriv = shutil.which("setpriv") or pytest.skip("giving up capabilities takes setpriv")
        start = [setpriv, "--bounding-set=-all", "--inh-caps=-all"]

    def run(*arguments):
        command = [*start, sys.executable, "-m", "tcpwhy", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    return run


@pytest.fixture
def kept(tmp_path, batch_of):
    """Make a store with a flow, and open its permissions again at the end."""
    path = tmp_path / "kept"
    sink = open_sink(f"{path}/", format=None, tables=["flows"])
    sink.write("flows", batch_of("flows", {"flow_id": 1}))
    sink.close()
    yield path
    for folder, _, files in os.walk(path):
        Path(folder).chmod(0o755)
        for file in files:
            Path(folder, file).chmod(0o644)


def said(done):
    """Give the one line that a command left on standard error."""
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr.removeprefix("tcpwhy: ").strip()


@pytest.mark.parametrize(
    ("shut", "told"),
    [
        ("", "kept/tcpwhy.json: permission denied; make it readable"),
        ("tcpwhy.json", "kept/tcpwhy.json: permission denied; make it readable"),
        ("flows", "kept/flows: permission denied; make it readable"),
    ],
)
def test_a_store_that_may_not_be_read(plain, kept, shut, told):
    (kept / shut).chmod(0)
    done = plain("query", kept, "intervals")
    assert (done.returncode, said(done)) == (3, f"{kept.parent}/{told}")


def test_a_part_that_may_not_be_read(plain, kept):
    (part,) = kept.glob("flows/*/part-01*")
    part.chmod(0)
    done = plain("query", kept, "flows")
    assert (done.returncode, said(done)) == (
        3,
        f'{kept}: Cannot open file "{part}": Permission denied',
    )
    again = plain("analyze", CAPTURE, "-o", kept)
    assert (again.returncode, said(again)) == (3, said(done))


def test_a_store_that_may_not_be_written(plain, kept):
    (kept / "flows").chmod(0o555)
    done = plain("analyze", CAPTURE, "-o", kept)
    assert (done.returncode, said(done)) == (1, f"{kept}/flows: Permission denied")


@pytest.mark.parametrize("name", ["f.jsonl", "f.csv", "f.txt", "f.parquet", "store"])
def test_a_folder_that_may_not_be_written(plain, tmp_path, name):
    tmp_path.chmod(0o555)
    done = plain("analyze", CAPTURE, "-o", tmp_path / name)
    assert (done.returncode, said(done)) == (1, f"{tmp_path / name}: Permission denied")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["f.jsonl", "f.csv", "f.txt", "f.parquet"])
def test_a_folder_that_is_not_there(plain, tmp_path, name):
    done = plain("analyze", CAPTURE, "-o", tmp_path / "gone" / name)
    assert (done.returncode, said(done)) == (1, f"{tmp_path}/gone: no such folder")


def test_a_part_that_is_no_parquet(plain, kept):
    (part,) = kept.glob("flows/*/part-01*")
    part.write_text("not Parquet")
    for arguments in ("query", kept, "flows"), ("analyze", CAPTURE, "-o", kept):
        done = plain(*arguments)
        assert done.returncode == 3
        assert said(done).startswith(f"{kept}: ")
        assert str(part) in said(done)
        assert said(done).endswith("put the file back, or remove it and its rows")


@pytest.mark.parametrize("head", ["{", "[]", "{}", '{"format": "x"}'])
def test_a_damaged_head_says_how_to_make_it_again(kept, head):
    (kept / "tcpwhy.json").write_text(head)
    with pytest.raises(InputError, match=r'damaged: .* \{"format": 1\} in it') as raised:
        Store(kept)
    (kept / "tcpwhy.json").write_text('{"format": 1}')
    assert Store(kept).query("SELECT flow_id FROM flows").fetchall() == [(1,)]
    assert str(kept / "tcpwhy.json") in str(raised.value)


def test_a_store_of_before_there_was_a_table_has_it_without_rows(kept):
    shutil.rmtree(kept / "queues")
    shutil.rmtree(kept / "truth" / "date=1970-01-01")
    count = "SELECT (SELECT count(*) FROM flows), count(*) FROM queues"
    assert Store(kept).query(count).fetchall() == [(1, 0)]
    assert Store(kept).query("truth").fetchall() == []


def test_what_is_no_store_is_told_from_what_is_not_there(tmp_path):
    with pytest.raises(InputError, match=r"gone: no such folder; check the name"):
        Store(tmp_path / "gone")
    with pytest.raises(InputError, match=r"not a store: make one with"):
        Store(tmp_path)


def test_a_store_that_was_removed_while_it_is_written_is_made_again(batch_of, tmp_path):
    sink = open_sink(str(tmp_path / "s"), format=None, tables=["flows"])
    shutil.rmtree(tmp_path / "s")
    sink.write("flows", batch_of("flows", {"flow_id": 1}))
    sink.close()
    assert Store(tmp_path / "s").query("SELECT flow_id FROM flows").fetchall() == [(1,)]


def test_a_store_whose_making_was_interrupted_is_made_again(tmp_path, monkeypatch):
    (tmp_path / ".tcpwhy.json.01ARZ3NDEKTSV4RRFFQ69G5FAV").touch()
    open_sink(f"{tmp_path}/", format=None, tables=["flows"]).close()
    assert Store(tmp_path).query("flows").fetchall() == []

    full = tmp_path / "full"
    with monkeypatch.context() as patch:

        def refuse(*_: object, **__: object) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        patch.setattr(Path, "write_text", refuse)
        with pytest.raises(OSError, match="No space") as raised:
            open_sink(f"{full}/", format=None, tables=["flows"])
    assert raised.value.filename == str(full)
    assert list(full.iterdir()) == []


def test_a_file_in_the_way_of_a_store_says_what_else_there_is(tmp_path):
    (tmp_path / "rows").touch()
    with pytest.raises(UsageError, match=r"this is a file: .* such as .*rows\.jsonl"):
        open_sink(f"{tmp_path / 'rows'}/", format=None, tables=["flows"])


@pytest.mark.parametrize(
    ("pace", "told"), [("x", "not a valid number above 0"), ("0", "not in the range x>0")]
)
def test_a_pace_is_a_number_above_0(plain, pace, told):
    done = plain("analyze", CAPTURE, "--pace", pace)
    assert done.returncode == 2
    assert told in said(done)


@pytest.mark.parametrize(
    ("lost", "rows_lost", "told"),
    [
        (Lost(0, 0), 0, []),
        (Lost(7, 0), 0, ["7 packets were lost: the ring was full (kernel_drops)"]),
        (Lost(0, 1234), 0, ["1,234 rows were lost: no output took them in time (rows_dropped)"]),
        (Lost(0, 0), 9, ["f.csv: 9 rows were lost"]),
    ],
)
def test_what_a_live_or_paced_run_lost_is_said_at_its_end(lost, rows_lost, told):
    run = SimpleNamespace(lost=lambda: lost)
    assert list(losses(run, [SimpleNamespace(name="f.csv", rows_lost=rows_lost)])) == told


@pytest.mark.parametrize("form", ["table", "csv"])
def test_a_standard_output_that_was_closed_is_named(form):
    command = f"exec {sys.executable} -m tcpwhy analyze {CAPTURE} --format {form} >&-"
    done = subprocess.run(
        ["sh", "-c", command], stderr=subprocess.PIPE, text=True, timeout=60, check=False
    )
    assert (done.returncode, said(done)) == (1, "standard output: Bad file descriptor")


def test_a_display_filter_is_taken_for_one(plain):
    done = plain("analyze", CAPTURE, "--filter", "tcp.port == 5001")
    assert done.returncode == 2
    assert "this looks like a display filter of Wireshark" in said(done)


def test_a_mistyped_model_is_suggested(plain):
    done = plain("model", "matis")
    assert done.returncode == 2
    assert said(done).startswith("no model 'matis': did you mean mathis?")
