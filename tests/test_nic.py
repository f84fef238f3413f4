"""What is said of network cards: facts as ethtool has them, advice that can be typed."""

import os
import struct
from dataclasses import replace

import pytest

from tcpwhy.host import ethtool, nic
from tcpwhy.host.ethtool import Device, Feature, Rss, Setting, Times

# The key of the verification suite in Microsoft's "RSS hashing types" documentation.
MICROSOFT = bytes.fromhex(
    "6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b477cb2da38030f20c6a42b73bbeac01fa"
)
SYMMETRIC = nic.SYMMETRIC_KEY * 20


def toeplitz(key, data):
    """Compute the hash bit by bit, as the standard describes it."""
    bits, size, result = int.from_bytes(key), 8 * len(key), 0
    for at in range(8 * len(data)):
        if data[at // 8] >> (7 - at % 8) & 1:
            result ^= bits >> (size - at - 32) & 0xFFFFFFFF
    return result


def tuple4(source, destination):
    """Write the input of the hash: both addresses, both ports."""
    return source[0] + destination[0] + struct.pack(">HH", source[1], destination[1])


def test_the_hash_here_is_the_standards():
    # First line of the verification suite: 66.9.149.187:2794 to 161.142.100.80:1766.
    ends = (bytes([66, 9, 149, 187]), 2794), (bytes([161, 142, 100, 80]), 1766)
    assert toeplitz(MICROSOFT, tuple4(*ends)) == 0x51CCC178


@pytest.mark.parametrize("version", [4, 6])
def test_the_symmetric_key_gives_both_directions_the_same_hash(version):
    size = 4 if version == 4 else 16
    for number in range(50):
        ends = [(os.urandom(size), 1024 + number), (os.urandom(size), 443)]
        there, back = tuple4(*ends), tuple4(*reversed(ends))
        assert toeplitz(SYMMETRIC, there) == toeplitz(SYMMETRIC, back)
    assert toeplitz(MICROSOFT, there) != toeplitz(MICROSOFT, back)


def test_symmetric_keys_are_told_from_others():
    assert nic.is_symmetric_key(SYMMETRIC)
    assert nic.is_symmetric_key(bytes.fromhex("6d5a") * 26)
    assert not nic.is_symmetric_key(MICROSOFT)
    # The very last bit is not used: an input of 36 bytes reaches bit 287 + 31.
    for at in (0, 13, 39):
        broken = bytearray(SYMMETRIC)
        broken[at] ^= 2
        assert not nic.is_symmetric_key(bytes(broken))


CARD = Device(
    name="eth9",
    driver="ixgbe",
    features={
        "rx-gro": Feature(active=True, fixed=False),
        "rx-lro": Feature(active=True, fixed=True),
        "rx-gro-hw": Feature(active=False, fixed=True),
        "tx-tcp-segmentation": Feature(active=False, fixed=False),
        "tx-generic-segmentation": Feature(active=False, fixed=False),
        "tx-vlan-hw-insert": Feature(active=False, fixed=False),
    },
    rx_ring=Setting(512, 4096),
    channels=Setting(4, 8),
    queues=4,
    rss=Rss(MICROSOFT, ("toeplitz",), 0),
    tcp_fields={"tcp4": 0xF0, "tcp6": 0xF0},
    times=Times(kernel=True, hardware_all=True, hardware_some=True, clock=3),
    irqs={40: "0", 41: "1"},
    vlans=("eth9.5",),
)


def said(device):
    """Give what is said, by subject."""
    return {a.subject.partition(": ")[2]: (a.state, a.remedy) for a in nic.advise(device)}


def test_a_card_with_everything():
    found = said(CARD)
    assert "lro cannot be switched off" in found["packets that come"][0]
    assert found["packets that come"][1].startswith("ethtool -K eth9 gro off;")
    assert found["packets it sends"] == ("one by one (tso, gso off)", "")
    assert found["receive ring"] == ("512 of 4096 packets", "ethtool -G eth9 rx 4096")
    key = ":".join(["6d", "5a"] * 20)
    assert found["receive hash"][1] == f"ethtool -X eth9 hkey {key}"
    assert "--fanout cbpf" in found["tags"][1]
    assert "ethtool -K eth9 txvlan on" in found["tags"][1]
    assert found["timestamps"][0] == "kernel, or card, clock /dev/ptp3 with --timestamps hardware"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"rss": Rss(SYMMETRIC, ("toeplitz",), 0)}, "symmetric (toeplitz)"),
        ({"rss": Rss(MICROSOFT, ("toeplitz",), 1)}, "symmetric (by its transformation)"),
        ({"rss": Rss(MICROSOFT, ("xor",), 0)}, "symmetric (xor)"),
        ({"rss": Rss(MICROSOFT, ("crc32",), 0)}, "not known to be symmetric"),
        ({"rss": None}, "not offered by ixgbe: use --fanout hash"),
        ({"tcp_fields": {"tcp4": 0x50}}, "tcp4: hashes one end only"),
        ({"queues": 1}, "one queue"),
    ],
)
def test_what_is_said_of_the_receive_hash(change, told):
    assert told in said(replace(CARD, **change))["receive hash"][0]


def test_what_is_not_offered_is_said():
    found = said(Device(name="x0", driver="veth", features=None, queues=4))
    for subject in (
        "packets that come",
        "receive ring",
        "receive hash",
        "processors",
        "timestamps",
    ):
        assert "not offered by veth" in found[subject][0], subject
        assert found[subject][1] == ""


def test_an_unknown_interface_is_refused(tcpwhy):
    done = tcpwhy("doctor", "nosuch0")
    assert (done.returncode, "no interface 'nosuch0'" in done.stderr) == (2, True)


CONFIG = """VLAN Dev name    | VLAN ID
Name-Type: VLAN_NAME_TYPE_RAW_PLUS_VID_NO_PAD
eth9.5         | 5  | eth9
eth9.6         | 6  | eth9
eth8.5         | 5  | eth8
"""


@pytest.mark.parametrize(
    ("insert", "hidden"),
    [
        (Feature(active=False, fixed=True), ["eth9.5", "eth9.6"]),
        (Feature(active=True, fixed=False), []),
    ],
)
def test_vlan_interfaces_are_found(monkeypatch, tmp_path, insert, hidden):
    (tmp_path / "config").write_text(CONFIG)
    monkeypatch.setattr(ethtool, "_VLANS", tmp_path / "config")
    monkeypatch.setattr(ethtool, "_features", lambda link: {"tx-vlan-hw-insert": insert})
    assert ethtool.vlans("eth9") == ("eth9.5", "eth9.6")
    assert ethtool.hides_tags("eth9") == hidden
    assert ethtool.hides_tags("eth7") == []
