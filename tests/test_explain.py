"""Why a frame was counted as what it was: every kind, the frames that prove it, and tshark."""

import subprocess
from pathlib import Path

import packets
import pytest

from tcpwhy import UsageError
from tcpwhy.explain import wireshark
from tcpwhy.explain.frame import explain_frame
from tcpwhy.explain.trace import Trace

DATA = Path(__file__).parent / "data"
MS = 10**6


def capture(path, *events):
    """Write a capture: a handshake over 20 ms, then (ms, sender, seq, ack, size, window, id).

    Without the last, the IPv4 identification is the number of the frame.

    Sequence numbers begin with 0 on both sides. The first event is frame 4.
    """
    opening = [
        (0, 0, packets.SYN, -1, -5000, 0, 65535),
        (20, 1, packets.SYN | packets.ACK, -1, 0, 0, 65535),
        (20.1, 0, packets.ACK, 0, 0, 0, 65535),
    ]
    rows = opening + [(ms, sender, packets.ACK, *rest) for ms, sender, *rest in events]
    rows = [(*row, number) if len(row) == 7 else row for number, row in enumerate(rows, 1)]
    with path.open("wb") as file:
        file.write(packets.head())
        for ms, sender, flags, seq, ack, size, window, identification in rows:
            numbers = (1000 + seq, 5000 + ack) if sender == 0 else (5000 + seq, 1000 + ack)
            frame = bytearray(packets.frame(sender, 40000, flags, *numbers, size, window))
            # An identification of its own, or a second sending passes for a mirror port's copy.
            frame[18:20] = identification.to_bytes(2, "big")
            file.write(packets.record(packets.START + round(ms * MS), bytes(frame)))
    return path


def data(ms, seq, size=1000, *identification):
    return (ms, 0, seq, 0, size, 65535, *identification)


def ack(ms, number, window=50000):
    return (ms, 1, 0, number, 0, window)


# A segment and its acknowledgement, so that the RTT is known: 20 ms.
KNOWN = (data(21, 0), ack(41, 1000))

CASES = {
    "timeout": (
        [*KNOWN, data(42, 1000), data(400, 1000), ack(420, 2000)],
        7,
        "rto_retransmission",
        [5, 6, 7, 8],
        ["Frame 6 carried these bytes before, 358 ms ago", "timer expired", "Frame 8 acknowl"],
        "TCP Retransmission",
    ),
    "second copy of a timeout": (
        [*KNOWN, data(42, 1000), data(42.1, 2000), data(400, 1000), data(421, 2000)],
        9,
        "rto_retransmission",
        [7, 8, 9],
        ["The timer had expired before frame 8, 21.0 ms ago", "belongs to this timeout"],
        "TCP Retransmission",
    ),
    "tail loss probe": (
        [*KNOWN, data(42, 1000), data(42.1, 2000), data(90, 2000), ack(110, 3000)],
        8,
        "tlp_retransmission",
        [5, 7, 8, 9],
        ["Frame 7 carried", "highest segment sent", "RFC 8985"],
        "TCP Retransmission",
    ),
    "duplicate acknowledgements": (
        [
            *KNOWN,
            *(data(42 + n / 10, 1000 + 1000 * n) for n in range(5)),
            *(ack(62 + n / 10, 1000) for n in range(4)),
            data(63, 1000),
            ack(83, 6000),
        ],
        15,
        "fast_retransmission",
        [5, 6, 11, 12, 13, 14, 15, 16],
        ["4 duplicate ACKs", "frames 11, 12, 13 and 14", "first given by frame 5", "RFC 5681"],
        "TCP Fast Retransmission",
    ),
    "lost again while others were acknowledged": (
        [
            *KNOWN,
            *(data(42 + n / 10, 1000 + 1000 * n) for n in range(5)),
            *(ack(62 + n / 10, 1000) for n in range(4)),
            data(63, 1000),
            data(150, 6000),
            ack(170, 1000),
            data(290, 1000),
            ack(310, 7000),
        ],
        18,
        "rto_retransmission",
        [5, 6, 15, 18, 19],
        [
            "Frames 6 and 15 carried these bytes before, 227 ms ago",
            "which do not restart the timer (RFC 6298)",
            "what was sent again had been lost too",
        ],
        "TCP Retransmission",
    ),
    "needless": (
        [*KNOWN, data(42, 1000), ack(62, 2000), data(262, 1000)],
        8,
        "spurious_retransmission",
        [6, 7, 8],
        [
            "Frame 7 had acknowledged everything below 2,001",
            "was not needed",
            "Most likely that acknowledgement was lost after it had passed here",
        ],
        "TCP Spurious Retransmission",
    ),
    "nothing tells why": (
        [*KNOWN, data(42, 1000), data(42.1, 2000), data(50, 1000)],
        8,
        "retransmission",
        [5, 6, 7, 8],
        ["nothing tells why it was sent again"],
        "TCP Out-Of-Order",
    ),
    "late": (
        [*KNOWN, data(42, 2000, 1000, 0), data(42.2, 1000, 1000, 0), ack(62, 3000)],
        7,
        "reordered",
        [6, 7, 8],
        ["No copy of these bytes came before", "changes the order"],
        "TCP Out-Of-Order",
    ),
    "late by its identification": (
        [*KNOWN, data(42, 2000, 1000, 9), data(52, 1000, 1000, 8), ack(62, 3000)],
        7,
        "reordered",
        [6, 7, 8],
        ["IPv4 identification, 8, is before that of frame 6, 9: the sender sent it first"],
        "TCP Out-Of-Order",
    ),
    "sent again behind the loss": (
        [*KNOWN, data(42, 2000), data(242.2, 1000), ack(262, 3000)],
        7,
        "rto_retransmission",
        [5, 6, 7, 8],
        ["no earlier copy", "lost before the place of capture"],
        "TCP Retransmission",
    ),
    "gap": (
        [*KNOWN, data(42, 3000), data(42.1, 4000)],
        6,
        "new",
        [4, 6],
        ["leaves out 2,000 bytes, 1,001 to 3,000", "never shows them"],
        "TCP Previous segment not captured",
    ),
    "new": ([*KNOWN, data(42, 1000)], 6, "new", [4, 6], ["begins where the highest byte"], None),
    "probe": (
        [*KNOWN, data(42, 1000), ack(62, 2000, 0), data(300, 2000, 1), ack(320, 2000, 0)],
        8,
        "zero_window_probe",
        [7, 8],
        ["Frame 7 had closed the window, 238 ms before"],
        "TCP ZeroWindowProbe",
    ),
    "keep-alive": (
        [*KNOWN, data(60_000, 999, 1), ack(60_020, 1000)],
        6,
        "keep_alive",
        [4, 6, 7],
        ["silent for 60.0 s, since frame 4"],
        "TCP Keep-Alive",
    ),
    "window update": (
        [*KNOWN, data(42, 1000), ack(43, 1000, 60000)],
        7,
        "ack",
        [5, 7],
        ["the window is another"],
        None,
    ),
    "duplicate acknowledgement": (
        [*KNOWN, data(42, 1000), ack(62, 1000)],
        7,
        "duplicate_ack",
        [5, 6, 7],
        ["repeats the number that frame 5 gave first", "five conditions"],
        "TCP Dup ACK",
    ),
    "acknowledgement": (
        [*KNOWN, data(42, 1000), data(42.1, 2000), ack(62, 3000)],
        8,
        "ack",
        [6, 7, 8],
        ["acknowledges 2,000 new bytes, sent in frames 6 and 7"],
        None,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_kind_is_argued_from_the_frames_that_prove_it(tmp_path, name):
    events, frame, kind, frames, phrases, label = CASES[name]
    path = capture(tmp_path / "made.pcap", *events)
    explanation = explain_frame(path, frame)
    assert explanation.segment.kind == kind
    assert [row.frame for row in explanation.frames] == frames
    text = " ".join([*explanation.why, *explanation.later, *explanation.wireshark])
    for phrase in phrases:
        assert phrase in text
    assert (f"[{label}]" in text) if label else ("no remark" in text)


def test_every_kind_of_data_has_a_name_and_a_teller():
    from tcpwhy.explain.argument import NAMES
    from tcpwhy.explain.data import TELLERS

    kinds = {case[2] for case in CASES.values()} | {"duplicate_frame"}
    assert kinds <= NAMES.keys()
    assert kinds - {"ack", "duplicate_ack"} <= TELLERS.keys()


@pytest.mark.parametrize("name", CASES)
def test_tshark_says_what_we_say_it_says_of_made_captures(tmp_path, tool, name):
    events, frame, _, _, _, label = CASES[name]
    path = capture(tmp_path / "made.pcap", *events)
    assert tshark(tool, path).get(frame) == label


@pytest.mark.parametrize(
    "name", ["loss_sender", "loss_receiver", "bulk_tbf_middle", "mirror_bridge", "slow_reader"]
)
def test_tshark_says_what_we_say_it_says_of_real_captures(tool, name):
    """Every frame that it remarks on, up to twenty spread over the capture, and some others."""
    path = DATA / f"{name}.pcap"
    labels = tshark(tool, path)
    remarked = sorted(labels)
    frames = [*remarked[:: max(1, len(remarked) // 20)], 1, 4, 500, 501]
    theirs = {frame: labels.get(frame) for frame in frames}
    ours = {frame: wireshark.label(Trace(path, frame)) for frame in frames}
    assert {frame: label and label.text for frame, label in ours.items()} == theirs


LABELS = {
    "spurious_retransmission": "TCP Spurious Retransmission",
    "fast_retransmission": "TCP Fast Retransmission",
    "out_of_order": "TCP Out-Of-Order",
    "retransmission": "TCP Retransmission",
    "duplicate_ack": "TCP Dup ACK",
    "keep_alive": "TCP Keep-Alive",
    "zero_window_probe": "TCP ZeroWindowProbe",
    "lost_segment": "TCP Previous segment not captured",
}
"""tshark's fields, those that come with another one first."""


def tshark(tool, path):
    """What tshark remarks, by frame."""
    command = [tool("tshark"), "-n", "-r", path, "-T", "fields", "-e", "frame.number"]
    for name in LABELS:
        command += ["-e", f"tcp.analysis.{name}"]
    for preference in ("tcp.desegment_tcp_streams", "tcp.reassemble_out_of_order"):
        command += ["-o", f"{preference}:FALSE"]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = {}
    for line in output.splitlines():
        number, *marks = line.split("\t")
        text = next((text for text, mark in zip(LABELS.values(), marks, strict=True) if mark), None)
        if text:
            found[int(number)] = text
    return found


def test_a_copy_of_a_mirror_port_is_no_retransmission():
    explanation = explain_frame(DATA / "mirror_bridge.pcap", 2)
    assert explanation.segment.kind == "duplicate_frame"
    assert [row.frame for row in explanation.frames] == [1, 2]
    assert "is the same packet" in explanation.why[0]


def test_a_needless_retransmission_is_proved_by_what_came_later(shared):
    path = shared / "captures" / "labelled" / "b0385__long_rtt.dmp.gz"
    explanation = explain_frame(path, 33)
    assert explanation.segment.kind == "rto_retransmission"
    assert any("echoes the timestamp" in text for text in explanation.later)
    assert 34 in [row.frame for row in explanation.frames]
    proof = explain_frame(path, 34)
    assert any("sent again for nothing" in text for text in proof.why)


def test_the_order_of_sending_shows_in_identifications(shared):
    path = shared / "captures" / "labelled" / "b0402__challenge01_ooo_stream.pcapng.gz"
    explanation = explain_frame(path, 91)
    assert explanation.segment.kind == "reordered"
    assert any("IPv4 identification, 13139" in text for text in explanation.why)


def test_the_command_shows_the_whole_argument(tcpwhy, golden):
    run = tcpwhy("explain", DATA / "loss_sender.pcap", "--frame", 69)
    assert run.stdout == golden("explain_frame.txt")


def test_frames_that_cannot_be_explained(tcpwhy, tmp_path):
    path = tmp_path / "arp.pcap"
    arp = bytes(12) + b"\x08\x06" + bytes(28)
    path.write_bytes(packets.head() + packets.record(packets.START, arp))
    with pytest.raises(UsageError, match="frame 1 has no TCP segment"):
        explain_frame(path, 1)
    with pytest.raises(UsageError, match="no frame 7: the capture has 1"):
        explain_frame(path, 7)
    assert tcpwhy("explain", path, "--frame", 0).returncode == 2
    assert tcpwhy("explain", tmp_path / "none.pcap", "--frame", 1).returncode == 3
    run = tcpwhy("explain", "-", "--frame", 1)
    assert run.returncode == 2
    assert "read twice" in run.stderr
    run = tcpwhy("explain", tmp_path, "--frame", 1)
    assert run.returncode == 2
