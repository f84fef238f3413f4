"""Captures with verdicts as comments: every packet stays, and tshark reads what was said."""

import os
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import packets
import pytest

from tcpwhy._core import Annotations

DATA = Path(__file__).parent / "data"


def fields(tshark, path, *names):
    """Read columns of every frame."""
    wanted = [part for name in names for part in ("-e", name)]
    done = subprocess.run(
        [tshark, "-r", path, "-T", "fields", *wanted], capture_output=True, text=True, check=True
    )
    return [tuple(line.split("\t")) for line in done.stdout.split("\n")[:-1]]


def commented(tshark, path):
    wanted = ["-Y", "frame.comment", "-T", "fields", "-e", "frame.number", "-e", "frame.comment"]
    done = subprocess.run([tshark, "-r", path, *wanted], capture_output=True, text=True, check=True)
    return done.stdout


def test_a_copy_has_the_packets_of_its_capture_and_comments(tcpwhy, tmp_path, tool):
    tshark = tool("tshark")
    out = tmp_path / "out.pcapng"
    capture = DATA / "slow_reader.pcap"
    done = tcpwhy("analyze", capture, "--annotate", out, "-o", tmp_path / "rows.jsonl")
    assert done.returncode == 0, done.stderr
    same = ("frame.time_epoch", "frame.len", "tcp.seq_raw", "tcp.len", "eth.src")
    assert fields(tshark, out, *same) == fields(tshark, capture, *same)
    told = commented(tshark, out)
    assert "limited by receiver_window/slow_reader" in told
    comments = told.count("tcpwhy: ")
    packets = len(fields(tshark, out, "frame.number"))
    assert f"{packets:,} packets, {comments:,} with a comment" in done.stderr
    assert list(tmp_path.glob(".*")) == []


def test_a_comment_stands_where_the_verdict_changes(tcpwhy, tmp_path, tool):
    """On packets of the direction that the rows are of, and only where rows differ."""
    import json

    tshark = tool("tshark")
    out, rows = tmp_path / "out.pcapng", tmp_path / "rows.jsonl"
    capture = DATA / "application.pcap"
    options = ("--interval", "500ms", "--table", "intervals")
    done = tcpwhy("analyze", capture, *options, "--annotate", out, "-o", rows)
    assert done.returncode == 0, done.stderr
    changes, last = 0, {}
    for row in map(json.loads, rows.read_text().splitlines()):
        verdict, direction = row["cause"] or row["limitation"], row["direction"]
        changes += row["data_packets"] > 0 and last.get(direction) != verdict
        last[direction] = verdict
    assert commented(tshark, out).count("tcpwhy: ") == changes > 0


@pytest.mark.parametrize(
    ("captures", "out", "told", "code"),
    [
        (["-"], "out.pcapng", "reads a capture twice", 2),
        (["copy.pcap"], "copy.pcap", "is the capture itself", 2),
        (["copy.pcap"], "nowhere/out.pcapng", "no such folder", 1),
    ],
)
def test_what_cannot_be_annotated_is_told(tcpwhy, tmp_path, captures, out, told, code):
    capture = (DATA / "slow_reader.pcap").read_bytes()
    (tmp_path / "copy.pcap").write_bytes(capture)
    done = tcpwhy("analyze", *captures, "--annotate", out, cwd=tmp_path, stdin=subprocess.DEVNULL)
    assert (done.returncode, told in done.stderr) == (code, True), done.stderr
    assert (tmp_path / "copy.pcap").read_bytes() == capture
    assert done.stderr.count("\n") == 1


def test_wireshark_is_told_what_there_is_to_capture(capsys):
    from tcpwhy.wireshark import extcap

    assert extcap.main(["--extcap-interfaces"]) == 0
    assert "interface {value=tcpwhy-lo}" in capsys.readouterr().out
    assert extcap.main(["--extcap-dlts", "--extcap-interface", "tcpwhy-lo"]) == 0
    assert capsys.readouterr().out.startswith("dlt {number=1}")
    assert extcap.main(["--extcap-config", "--extcap-interface", "tcpwhy-lo"]) == 0
    assert "{call=--interval}" in capsys.readouterr().out
    assert extcap.main(["--capture", "--extcap-interface", "eth0"]) == 1
    assert "no interface 'eth0'" in capsys.readouterr().err


def blocks(read, count):
    """Read blocks of pcapng from a pipe; half of one would have it wait for ever."""
    for _ in range(count):
        head = read(8)
        kind, size = struct.unpack("<II", head)
        read(size - 8)
        yield kind


def test_a_pipe_has_every_frame_whole_before_the_next_one_comes(tmp_path):
    """Readers such as dumpcap keep no time while they wait for the rest of a block."""
    frames = [data for _, data in packets.transfer(40)]
    source, target = tmp_path / "in", tmp_path / "out"
    os.mkfifo(source)
    os.mkfifo(target)
    comments = Annotations()
    writer = threading.Thread(target=comments.write, args=([source], target), daemon=True)
    writer.start()
    with target.open("rb") as out, source.open("wb") as into:
        into.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        assert list(blocks(out.read, 1)) == [0x0A0D0D0A]
        for number, data in enumerate(frames):
            into.write(struct.pack("<IIII", number, 0, len(data), len(data)) + data)
            into.flush()
            assert list(blocks(out.read, 1 if number else 2))[-1] == 6
    writer.join(60)
    assert not writer.is_alive()


STUCK = """
import sys, time
from tcpwhy.wireshark import extcap

class Deaf:
    def batches(self):
        time.sleep(1000)
        return []
    def stop(self): pass

class Full:
    class annotations:
        def write(inputs, output): time.sleep(1000)

extcap.monitor = lambda *_, **__: Deaf()
extcap.Comments = Full
code = extcap.main(["--capture", "--extcap-interface", "tcpwhy-lo", "--fifo", sys.argv[1]])
extcap.leave(code)
"""


@pytest.mark.parametrize("end", ["the reader leaves", "a signal comes"])
def test_wireshark_does_not_wait_for_what_is_stuck(tmp_path, end):
    """Neither the link has packets nor the analysis rows; dumpcap is deaf to signals too."""
    fifo, dumpcap = tmp_path / "fifo", tmp_path / "dumpcap"
    os.mkfifo(fifo)
    dumpcap.write_text(f"#!/bin/sh\ntrap '' TERM\necho $$ >{tmp_path}/pid\nexec sleep 1000\n")
    dumpcap.chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    program = subprocess.Popen([sys.executable, "-c", STUCK, fifo], env=environment)
    reader = os.open(fifo, os.O_RDONLY)
    try:
        while not (tmp_path / "pid").is_file() or not (tmp_path / "pid").read_text().strip():
            assert program.poll() is None
            time.sleep(0.01)
        assert program.poll() is None
        if end == "a signal comes":
            program.terminate()
        else:
            os.close(reader)
        # A second, on a machine of any speed.
        assert program.wait(30) == 0
        assert not Path("/proc", (tmp_path / "pid").read_text().strip()).exists()
    finally:
        program.kill()
        if end == "a signal comes":
            os.close(reader)
