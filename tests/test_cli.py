"""The command line: the contract of options, exit codes, and what goes where."""

import contextlib
import csv
import io
import json
import os
import pty
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import packets
import pytest

import tcpwhy as package


@pytest.fixture
def capture(tmp_path):
    """A capture of one transfer."""
    return packets.write_transfer(tmp_path / "transfer.pcap")


def test_default_view(tcpwhy, capture, golden):
    done = tcpwhy("analyze", capture)
    assert (done.returncode, done.stderr) == (0, "")
    assert "10.0.0.1:40000 → 10.0.0.2:80" in done.stdout
    assert "--flow 0" in done.stdout
    assert "\x1b" not in done.stdout


def test_formats_agree(tcpwhy, capture, tmp_path):
    text = tcpwhy("analyze", capture, "--format", "jsonl").stdout
    rows = [json.loads(line) for line in text.splitlines()]
    table = list(csv.DictReader(io.StringIO(tcpwhy("analyze", capture, "--format", "csv").stdout)))
    # 64 bits do not survive in every reader of JSON.
    assert [row["flow_id"] for row in table] == [row["flow_id"] for row in rows]
    array = json.loads(tcpwhy("analyze", capture, "--format", "json").stdout)
    assert array == rows
    assert {row["direction"]: row["unique_bytes"] for row in rows}["orig"] == 400_000


def test_several_outputs_in_one_run(tcpwhy, capture, tmp_path):
    outputs = ["-o", tmp_path / "f.csv", "-o", tmp_path / "store", "--output", "-"]
    done = tcpwhy("analyze", capture, *outputs, "--format", "jsonl", text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[0])["flow_id"]
    answer = tcpwhy("query", tmp_path / "store", "SELECT count(*) AS n FROM periods")
    assert int(answer.stdout.split()[1]) > 0
    # --format is for what no suffix names.
    assert (tmp_path / "f.csv").read_text().startswith("flow_id,")


def test_standard_input(tcpwhy, capture):
    with capture.open("rb") as file:
        done = tcpwhy("analyze", "-", "--format", "csv", stdin=file)
    [piped], [read] = (
        [row for row in csv.DictReader(io.StringIO(text)) if row["direction"] == "orig"]
        for text in (done.stdout, tcpwhy("analyze", capture, "--format", "csv").stdout)
    )
    assert (piped.pop("source"), piped["stream"]) == ("-", "0")
    assert read.pop("source") == str(capture)
    assert piped == read


def test_parquet_on_standard_output(tcpwhy, capture):
    done = tcpwhy("analyze", capture, "--format", "parquet", text=False)
    assert done.stdout[:4] == done.stdout[-4:] == b"PAR1"


def test_segments_of_a_flow(tcpwhy, capture):
    rows = tcpwhy("analyze", capture, "--format", "jsonl").stdout.splitlines()
    row = json.loads(rows[0])
    for flow in (row["flow_id"], row["community_id"]):
        options = ["--table", "segments", "--flow", flow, "--format", "jsonl"]
        done = tcpwhy("analyze", capture, *options)
        assert len(done.stdout.splitlines()) == sum(json.loads(line)["packets"] for line in rows)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["analyze"], "no capture given"),
        (["analyse"], "did you mean analyze"),
        (["analyze", "CAPTURE", "--interval", "soon"], "not a duration"),
        (["analyze", "CAPTURE", "--min-packets", "0"], "min-packets"),
        (["analyze", "CAPTURE", "--table", "segments"], "--flow"),
        (["analyze", "CAPTURE", "-o", "x.docx"], "known are .csv"),
        (["analyze", "CAPTURE", "-o", "gopher://x"], "scheme"),
        (["analyze", "CAPTURE", "--filter", "tcp port port"], "filter"),
        (["analyze", "CAPTURE", "--unknown"], "No such option"),
        (["analyze", "CAPTURE", "--flow", "web"], "neither a flow_id"),
        (["analyze", "CAPTURE", "--flow", "12", "--format", "jsonl"], "no flow 12"),
        (["simulate", "--list", "/nonexistent/folder"], "no such folder"),
        (["measure", "127.0.0.1:99999"], "up to 65535"),
        (["measure", "127.0.0.1", "-4", "-6"], "-4 and -6"),
        (["measure", "--server", "127.0.0.1"], "--bind 127.0.0.1"),
        (["monitor", "lo", "--workers", "100000"], "fewer workers"),
    ],
)
def test_usage_errors_are_one_line_and_exit_2(tcpwhy, capture, arguments, told):
    done = tcpwhy(*(str(capture) if name == "CAPTURE" else name for name in arguments))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("tcpwhy: ")
    assert done.stderr.count("\n") == 1
    assert told in done.stderr


def test_output_that_cannot_be_written(tcpwhy, capture):
    done = tcpwhy("analyze", capture, "-o", "/nonexistent/folder/f.csv")
    assert done.returncode == 1
    assert done.stderr == "tcpwhy: /nonexistent/folder: no such folder\n"


@pytest.mark.parametrize("format", ["table", "csv", "jsonl", "parquet"])
def test_a_full_disk_is_said_in_one_line(tcpwhy, capture, format):
    with Path("/dev/full").open("w") as full:
        done = tcpwhy(
            "analyze",
            capture,
            "--format",
            format,
            stdout=full,
            capture_output=False,
            stderr=subprocess.PIPE,
        )
    told = "tcpwhy: standard output: No space left on device\n"
    assert (done.returncode, done.stderr) == (1, told)


def test_a_folder_that_is_gone_is_said_in_one_line(tcpwhy, capture, tmp_path):
    done = tcpwhy("analyze", capture, "-o", tmp_path / "gone" / "f.parquet")
    assert done.returncode == 1
    assert done.stderr == f"tcpwhy: {tmp_path / 'gone'}: no such folder\n"


def test_a_misspelt_capture_does_not_cost_earlier_results(tcpwhy, tmp_path):
    (tmp_path / "f.csv").write_text("precious\n")
    done = tcpwhy("analyze", tmp_path / "typo.pcap", "-o", tmp_path / "f.csv")
    assert done.returncode == 3
    assert (tmp_path / "f.csv").read_text() == "precious\n"


def test_a_reader_that_leaves_early_is_no_error(capture):
    command = f"{sys.executable} -m tcpwhy analyze {capture} --format jsonl | true"
    script = ["bash", "-c", f"{command}; echo ${{PIPESTATUS[0]}}"]
    done = subprocess.run(script, capture_output=True, text=True, timeout=60, check=True)
    assert (done.stdout, done.stderr) == ("0\n", "")


@pytest.fixture
def running():
    """Start the command line, and end it with the test."""
    processes = []

    def start(*arguments):
        command = [sys.executable, "-m", "tcpwhy", *map(str, arguments)]
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        processes.append(subprocess.Popen(command, **pipes))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def test_rows_appear_while_the_pipe_still_flows(running):
    """Flows that have ended are written before the input ends, a batch at a time."""
    process = running("analyze", "-", "--format", "jsonl", "--workers", 1)

    def write():
        with contextlib.suppress(BrokenPipeError, ValueError):
            process.stdin.write(packets.head())
            for minute in range(20_000):
                time_ns = packets.START + minute * 60 * packets.SECOND
                data = packets.frame(0, 1024 + minute, packets.SYN, 1, 0, 0, 100)
                process.stdin.write(packets.record(time_ns, data))
            process.stdin.flush()

    # Rows fill their pipe before all of the input is written: who writes cannot wait for them.
    threading.Thread(target=write, daemon=True).start()
    assert json.loads(process.stdout.readline())["src"] in ("10.0.0.1", "10.0.0.2")
    assert process.poll() is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupted_runs_end_in_order(number, running, tmp_path):
    """The pipe stays open, so that only the signal can end the run."""
    target = tmp_path / "store"
    process = running("analyze", "-", "-o", target)
    process.stdin.write(packets.pcap(packets.transfer()))
    process.stdin.flush()
    # The store is made before the run begins and after signals are taken care of.
    while not (target / "tcpwhy.json").exists():
        time.sleep(0.01)
    process.send_signal(number)
    assert process.wait(timeout=20) == 130
    assert process.stderr.read() == b""
    [(runs,)] = package.Store(target).query("SELECT count(DISTINCT value) FROM counters").fetchall()
    assert runs > 0


def on_terminal(command, environment):
    """Run a command whose standard output and error are a terminal; give what it shows."""
    leader, terminal = pty.openpty()
    with subprocess.Popen(command, stdout=terminal, stderr=terminal, env=environment) as process:
        os.close(terminal)
        shown = b""
        while True:
            try:
                shown += os.read(leader, 65536)
            except OSError:
                break
        process.wait(60)
    os.close(leader)
    return shown.decode()


def test_colours_only_on_a_terminal_and_not_with_no_color(capture):
    command = [sys.executable, "-m", "tcpwhy", "analyze", str(capture)]
    environment = {**os.environ, "TERM": "xterm"}
    environment.pop("NO_COLOR", None)
    assert "\x1b[1m" in on_terminal(command, environment)
    plain = on_terminal(command, {**environment, "NO_COLOR": "1"})
    assert "10.0.0.1:40000" in plain
    assert "\x1b[1m" not in plain


def test_help_loads_nothing_heavy():
    """Start-up is fast since heavy modules are imported where they are used."""
    code = "import sys; from tcpwhy.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass"
    code += "\nprint(sorted({'duckdb', 'rich', 'numpy', 'pyarrow'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert "analyze" in done.stdout


def test_version(tcpwhy):
    assert tcpwhy("--version").stdout == f"tcpwhy {package.__version__}\n"


def test_doctor(tcpwhy):
    done = tcpwhy("doctor", "--format", "jsonl")
    findings = {row["subject"]: row for row in map(json.loads, done.stdout.splitlines())}
    assert findings["tcpwhy"]["state"].startswith(package.__version__)
    assert {"processors", "libpcap", "cap_net_raw", "extra polars"} <= findings.keys()
    text = tcpwhy("doctor").stdout
    assert all(subject in text for subject in findings)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["simulate", "FOLDER"], "is a directory; name the scenarios in it"),
        (["simulate", "CAPTURE"], "not text; a scenario is a TOML file"),
        (["model", "fit", "/nonexistent/folder"], "no such file; check the name"),
        (["model", "fit", "/dev/null"], "no such file"),
    ],
)
def test_what_cannot_be_read_is_one_line_and_exit_3(tcpwhy, capture, arguments, told):
    names = {"CAPTURE": str(capture), "FOLDER": str(capture.parent)}
    done = tcpwhy(*(names.get(name, name) for name in arguments))
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.count("\n") == 1
    assert told in done.stderr


def test_tables_after_one_another_are_apart(tcpwhy, capture):
    done = tcpwhy("analyze", capture, "--table", "periods", "--table", "flows")
    assert f"\n\n{capture} · " in done.stdout
    assert "\n\n\n" not in done.stdout
