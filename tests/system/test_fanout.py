"""Workers that share packets, and several interfaces in one run: no connection is parted."""

import json
import struct

import link as links
import packets
import pytest
from link import watching
from test_monitor import CONNECTIONS, handshake

import tcpwhy as api

TAG = b"\x81\x00\x00\x05"
QUESTION = "SELECT count(DISTINCT flow_id), bool_and(handshake_seen), max(first_frame) FROM flows"

HIDDEN = "SELECT sum(value) FROM counters WHERE name = 'packets_tag_hidden'"


def flows_in(store):
    """Give the number of flows, whether all are whole, and the last number of a first frame."""
    return api.Store(store).connect().execute(QUESTION).fetchone()


def test_queues_keep_connections_together(tmp_path):
    """On the way in, queues are chosen by a hash that is the same for both directions."""
    opened = [handshake(number, 4, b"") for number in range(CONNECTIONS)]
    options = ("--workers", "4", "--fanout", "qm", "-o", tmp_path / "store")
    with links.link(queues=4) as link, watching(link, *options):
        for step in range(3):
            link.send([frames[step] for frames in opened])
    flows, whole, last = flows_in(tmp_path / "store")
    assert (flows, whole) == (CONNECTIONS, True)
    assert last < CONNECTIONS / 2, "the workers share the connections"


def test_each_direction_on_an_interface_of_its_own(tmp_path):
    """As from a tap with two cables: workers see both, in the order of time."""
    opened = [handshake(number, 4, b"") for number in range(1000)]
    with links.link() as link:
        link.second()
        with watching(link, links.NEAR2, "--workers", "4", "-o", tmp_path / "store"):
            for frames in zip(*opened, strict=True):
                first = frames[0][34:36] == opened[0][0][34:36]
                link.send(frames, over=links.FAR if first else links.FAR2)
    flows, whole, last = flows_in(tmp_path / "store")
    assert (flows, whole) == (1000, True)
    assert last < 500, "the workers share the connections"


def test_what_passes_two_interfaces_counts_once(tmp_path):
    """A frame that comes in on one bridge port and leaves on the other is one frame, seen twice."""
    file = tmp_path / "flows.jsonl"
    frames = [bridged(data) for _, data in packets.transfer(40)]
    with links.link() as link:
        link.second()
        link.bridge()
        with watching(link, links.NEAR2, "--workers", "4", "-o", file):
            link.send(frames)
    found = [json.loads(line) for line in file.read_text().splitlines()]
    [row] = [row for row in found if row["data_packets"]]
    assert (row["data_packets"], row["unique_bytes"]) == (40, 40 * packets.MSS)
    assert (row["retransmitted_bytes"], row["loss_events"]) == (0, 0)
    copies = sum(row["duplicate_frames"] for row in found)
    # Bare acknowledgements without a timestamp are only believed to be copies after three others.
    assert len(frames) - 6 <= copies <= len(frames)


def bridged(data):
    """Give a frame the addresses and the IPv4 checksum without which a bridge drops it."""
    head = data[14:34]
    total = sum(struct.unpack(">10H", head))
    total = (total & 0xFFFF) + (total >> 16)
    checksum = struct.pack(">H", ~(total + (total >> 16)) & 0xFFFF)
    ends = bytes.fromhex("020000000002020000000001")
    return ends + data[12:24] + checksum + data[26:]


@pytest.mark.parametrize("fanout", ["hash", "cbpf"])
def test_tags_that_hide_packets_are_warned_of(tmp_path, fanout):
    """What this host sends with its tag in the frame is shared out by a hash that sees nothing."""
    store = tmp_path / "store"
    opened = [handshake(number, 4, TAG) for number in range(100)]
    tables = ("--table", "flows", "--table", "counters", "--interval", "100ms")
    with links.link() as link:
        options = ("--workers", "4", "--fanout", fanout, "-o", store, *tables)
        with watching(link, *options) as said:
            for step, answer in enumerate((False, True, False)):
                link.send([frames[step] for frames in opened], from_near=answer)
    [(hidden,)] = api.Store(store).query(HIDDEN).fetchall()
    assert hidden == (100 if fanout == "hash" else 0)
    assert ("--fanout cbpf" in said[1]) == (fanout == "hash")
