"""Two points of one path: where the packets of a recorded transfer were lost and held up."""

import json
import struct
from pathlib import Path

import pytest

from tcpwhy import taps
from tcpwhy._core import InputError, UsageError

DATA = Path(__file__).parent / "data"
SHIFT_S = 37


def one(first, second):
    """Compare the only connection of two captures; the direction that carries the data."""
    (pair,) = taps.pairs(first, second)
    return pair, next(row for row in pair.directions if row.direction == "orig")


@pytest.mark.parametrize(
    ("first", "second", "place", "lost"),
    [
        # The recordings are of one transfer; the loss is emulated between middle and receiver.
        ("loss_sender", "loss_middle", "beyond", 13),
        ("loss_middle", "loss_receiver", "between", 13),
        ("loss_sender", "loss_receiver", "between", 13),
        ("bulk_tbf_sender", "bulk_tbf_middle", "beyond", 50),
        ("bulk_tbf_middle", "bulk_tbf_receiver", "between", 50),
    ],
)
def test_the_place_of_loss_is_found(first, second, place, lost):
    _, row = one(DATA / f"{first}.pcap", DATA / f"{second}.pcap")
    assert row.loss_place == place
    assert {"beyond": row.lost_beyond, "between": row.lost_between}[place] == lost
    assert row.unseen == 0


def test_captures_may_come_in_any_order():
    pair, row = one(DATA / "loss_receiver.pcap", DATA / "loss_middle.pcap")
    assert pair.near.endswith("loss_middle.pcap")
    assert row.lost_between == 13


def test_the_queue_is_where_the_bucket_stands():
    _, before = one(DATA / "bulk_tbf_sender.pcap", DATA / "bulk_tbf_middle.pcap")
    _, between = one(DATA / "bulk_tbf_middle.pcap", DATA / "bulk_tbf_receiver.pcap")
    assert before.delay_share < 0.02
    assert between.delay_share > 0.95


def shifted(source, target, seconds):
    """Copy a pcap file in host order with another clock."""
    data = bytearray(source.read_bytes())
    at = 24
    while at < len(data):
        stamp, _, length, _ = struct.unpack_from("=IIII", data, at)
        struct.pack_into("=I", data, at, stamp + seconds)
        at += 16 + length
    target.write_bytes(data)


def test_another_clock_is_measured_and_changes_nothing(tmp_path):
    copy = tmp_path / "receiver.pcap"
    shifted(DATA / "loss_receiver.pcap", copy, SHIFT_S)
    pair, row = one(DATA / "loss_middle.pcap", copy)
    same, straight = one(DATA / "loss_middle.pcap", DATA / "loss_receiver.pcap")
    assert pair.clocks.offset_ns - same.clocks.offset_ns == SHIFT_S * 10**9
    # 20 ms each way lie between the two: so much the least times leave open.
    assert 15e6 < pair.clocks.error_ns < 25e6
    assert abs(pair.clocks.offset_ns - SHIFT_S * 10**9) < pair.clocks.error_ns
    assert row == straight


def test_the_command_says_where(tcpwhy):
    done = tcpwhy("taps", DATA / "loss_middle.pcap", DATA / "loss_receiver.pcap")
    assert done.returncode == 0, done.stderr
    assert "lost before near 0, between 13, beyond far 0" in done.stdout
    assert "loss arises between the two points" in done.stdout
    done = tcpwhy(
        *("taps", DATA / "loss_middle.pcap", DATA / "loss_receiver.pcap", "--format", "jsonl")
    )
    assert json.loads(done.stdout)["directions"][0]["loss_place"] == "between"


def test_captures_of_nothing_in_common_are_refused():
    with pytest.raises(InputError, match="no connection in common"):
        list(taps.pairs(DATA / "loss_middle.pcap", DATA / "bulk_tbf_middle.pcap"))
    with pytest.raises(InputError, match="no flow 1:x in common"):
        list(taps.pairs(DATA / "loss_middle.pcap", DATA / "loss_receiver.pcap", flow="1:x"))
    with pytest.raises(UsageError, match="two different captures"):
        list(taps.pairs(DATA / "loss_middle.pcap", DATA / "loss_middle.pcap"))
