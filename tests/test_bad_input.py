"""Bad input: one line that names the file, the place and what to do; rows before it are written."""

import gzip
import json

import packets
import pytest

WHOLE = packets.pcap(packets.transfer())
TEXT = b"From: somebody\nTo: somebody else\n\nNot a capture.\n"

# What the file holds, what is said about it, and whether there are rows.
BAD = {
    "empty": (b"", "empty file", False),
    "text": (TEXT, "pcap", False),
    "cut_in_a_record": (WHOLE[:-700], "at byte 4", True),
    "cut_in_the_header": (WHOLE[:12], "header", False),
    "cut_gzip": (gzip.compress(WHOLE)[:-900], "gzip data near byte", True),
    "no_gzip_after_all": (b"\x1f\x8b\x08\x00" + TEXT, "gzip", False),
    "absurd_length": (WHOLE[:-500] + b"\xff" * 500, "at byte", True),
    "linktype_999": (packets.head(999) + WHOLE[24:], "link type 999", False),
}


def transfer_is_in(text):
    rows = [json.loads(line) for line in text.splitlines()]
    return any(row["src"] == "10.0.0.1" and row["unique_bytes"] > 300_000 for row in rows)


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_is_said_in_one_line(tcpwhy, tmp_path, name):
    data, told, has_rows = BAD[name]
    path = tmp_path / f"{name}.pcap"
    path.write_bytes(data)
    done = tcpwhy("analyze", path, "--format", "jsonl")
    assert done.returncode == 3
    assert done.stderr.startswith(f"tcpwhy: {path}: ")
    assert done.stderr.count("\n") == 1
    assert told in done.stderr
    assert transfer_is_in(done.stdout) == has_rows


@pytest.mark.parametrize("name", ["missing.pcap", "."])
def test_what_is_no_file(tcpwhy, tmp_path, name):
    done = tcpwhy("analyze", name, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith(f"tcpwhy: {name}: ")


def test_a_good_file_beside_a_bad_one_is_analysed(tcpwhy, tmp_path):
    good = packets.write_transfer(tmp_path / "good.pcap")
    (tmp_path / "bad.pcap").write_bytes(TEXT)
    done = tcpwhy("analyze", "bad.pcap", good, "missing.pcap", "--format", "jsonl", cwd=tmp_path)
    assert done.returncode == 3
    assert [line.split(":")[1].strip() for line in done.stderr.splitlines()] == [
        "bad.pcap",
        "missing.pcap",
    ]
    assert transfer_is_in(done.stdout)


def test_damage_is_told_in_the_view_too(tcpwhy, tmp_path):
    (tmp_path / "cut.pcap").write_bytes(WHOLE[:-700])
    done = tcpwhy("analyze", "cut.pcap", cwd=tmp_path)
    assert "10.0.0.1:40000 →" in done.stdout
    assert done.stderr.startswith("tcpwhy: cut.pcap: damaged at byte")
