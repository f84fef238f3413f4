"""Two points of one path: where the packets of a recorded transfer were lost and held up."""

import json
import struct
from pathlib import Path

import pytest

import tcpwhy
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


HEAD = 24


def directions(source, folder, seconds=0, ns=0):
    """Split a capture into its two directions, the second one by another clock."""
    data = source.read_bytes()
    nanoseconds = data[:4] == b"\x4d\x3c\xb2\xa1"
    parts, at = {}, HEAD
    while at < len(data):
        stamp, fraction, length, whole = struct.unpack_from("<4I", data, at)
        frame = data[at + 16 : at + 16 + length]
        place = frame.index(b"\x45\x00", 12) if data[20] == 1 else 0
        sender = frame[place + 12 : place + 16]
        first = not parts or sender in parts
        if not first or len(parts) == 2:
            first = next(iter(parts)) == sender
        time = stamp * 10**9 + fraction * (1 if nanoseconds else 1000)
        time += 0 if first else seconds * 10**9 + ns
        times = (time // 10**9, time % 10**9 // (1 if nanoseconds else 1000))
        parts.setdefault(sender, [data[:HEAD]])
        parts[sender].append(struct.pack("<4I", *times, length, whole) + frame)
        at += 16 + length
    paths = [folder / f"{name}.pcap" for name in ("out", "back")]
    for path, part in zip(paths, parts.values(), strict=True):
        path.write_bytes(b"".join(part))
    return paths


VERDICT = (
    "limitation cause confidence rtt_min_ns rtt_mean_ns data_packets unique_bytes"
    " retransmitted_bytes loss_events capacity_bps"
)


def verdicts(result):
    wanted = ", ".join(VERDICT.split())
    query = f"SELECT {wanted} FROM flows WHERE data_packets > 0 ORDER BY direction"
    return result.to_duckdb().execute(query).fetchall()


RECORDED = ["bulk_tbf_sender", "bulk_tbf_middle", "loss_receiver", "receiver_window"]


@pytest.mark.parametrize("name", RECORDED)
def test_two_directions_are_judged_as_one_capture_of_both(name, tmp_path):
    """Recorded transfers; alone, the direction with the data has no round trip."""
    whole = DATA / f"{name}.pcap"
    out, back = directions(whole, tmp_path)
    assert [row[4] for row in verdicts(tcpwhy.analyze(out))] == [None]
    assert taps.clocks(str(out), str(back)).offset_ns == 0
    assert verdicts(taps.merge(out, back)) == verdicts(tcpwhy.analyze(whole))


@pytest.mark.parametrize(("seconds", "ns"), [(37, 0), (-5, 300_000), (0, 400_000_000)])
def test_the_difference_of_their_clocks_is_within_its_bounds(seconds, ns, tmp_path):
    whole = DATA / "bulk_tbf_middle.pcap"
    out, back = directions(whole, tmp_path, seconds, ns)
    true_ns = seconds * 10**9 + ns
    found = taps.clocks(str(out), str(back))
    assert found.least_ns <= true_ns <= found.most_ns
    # What is not known is how the round trip parts into the two sides of the tap.
    (expected,) = verdicts(tcpwhy.analyze(whole))
    (merged,) = verdicts(taps.merge(out, back, bounds=found))
    assert abs(found.offset_ns - true_ns) <= found.error_ns <= expected[3]
    assert merged[:2] == expected[:2]
    assert merged[3] == pytest.approx(expected[3], rel=0.01)
    assert merged[5:9] == expected[5:9]
    assert merged[9] == pytest.approx(expected[9], rel=0.01)


def test_one_direction_each_at_two_ends_of_the_path(tmp_path):
    """What left the sender at the one, what came back from the receiver at the other."""
    out, _ = directions(DATA / "bulk_tbf_sender.pcap", tmp_path)
    (tmp_path / "far").mkdir()
    _, back = directions(DATA / "bulk_tbf_receiver.pcap", tmp_path / "far", 3)
    (expected,) = verdicts(tcpwhy.analyze(DATA / "bulk_tbf_sender.pcap"))
    (merged,) = verdicts(taps.merge(out, back))
    assert merged[0] == expected[0]
    assert merged[6:8] == expected[6:8]


def test_a_simulated_splitter_is_judged_as_its_link(tmp_path):
    """The simulator's taps of one direction each, and one of both at the same place."""
    text = Path("scenarios/trap_one_way.toml").read_text()
    text = text[: text.index("[[taps]]")]
    for name, only in (("out", 'only = "forward"'), ("back", 'only = "backward"'), ("both", "")):
        text += f'[[taps]]\nname = "{name}"\nbehind = "access"\n{only}\n'
    (tmp_path / "two.toml").write_text(text)
    list(tcpwhy.simulate(tmp_path / "two.toml", captures=tmp_path))
    out, back, both = (tmp_path / f"two.{name}.pcap" for name in ("out", "back", "both"))
    expected = verdicts(tcpwhy.analyze(both))
    assert expected[0][0] == "unshared_bottleneck"
    assert verdicts(taps.merge(out, back)) == expected


def test_the_command_merges_and_says_how_the_clocks_were_taken(tcpwhy, tmp_path):
    out, back = directions(DATA / "bulk_tbf_middle.pcap", tmp_path, 37)
    rows = tmp_path / "rows.jsonl"
    done = tcpwhy("taps", out, back, "--merge", "-o", rows)
    assert done.returncode == 0, done.stderr
    assert "is taken off" in done.stderr
    found = [json.loads(line) for line in rows.read_text().splitlines()]
    assert {row["limitation"] for row in found if row["data_packets"]} == {"unshared_bottleneck"}


def test_two_points_of_one_direction_are_no_two_directions(tmp_path):
    out, _ = directions(DATA / "loss_sender.pcap", tmp_path)
    (tmp_path / "far").mkdir()
    again, _ = directions(DATA / "loss_receiver.pcap", tmp_path / "far")
    with pytest.raises(InputError, match="nothing that one capture has answers"):
        taps.merge(out, again)
