"""Makes the seeds of the corpus: small inputs that reach deep, from which a fuzzer goes on."""

import struct
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"


def tcp(options: bytes = b"", payload: bytes = b"") -> bytes:
    offset = (20 + len(options)) // 4 << 4
    return struct.pack(">HHIIBBHHH", 40000, 80, 1, 2, offset, 0x10, 500, 0, 0) + options + payload


def udp(port: int, payload: bytes) -> bytes:
    return struct.pack(">HHHH", 9, port, 8 + len(payload), 0) + payload


def ipv4(protocol: int, payload: bytes) -> bytes:
    head = struct.pack(">BBHHHBBH", 0x45, 2, 20 + len(payload), 1, 0, 64, protocol, 0)
    return head + bytes([10, 0, 0, 1, 10, 0, 0, 2]) + payload


def ipv6(following: int, payload: bytes) -> bytes:
    addresses = bytes(15) + b"\1" + bytes(15) + b"\2"
    return struct.pack(">IHBB", 0x60000000, len(payload), following, 64) + addresses + payload


def ethernet(ethertype: int, payload: bytes) -> bytes:
    return bytes(12) + struct.pack(">H", ethertype) + payload


def frames() -> dict[str, tuple[int, bytes]]:
    """Name, index of the link type in LINKTYPES, bytes."""
    timestamps = b"\1\1\x08\x0a" + bytes(8)
    sack = b"\1\1\5\x12" + bytes(16)
    packet = ipv4(6, tcp(timestamps, b"data"))
    inner = ethernet(0x0800, packet)
    syn = b"\2\4\5\xb4\4\2\x08\x0a" + bytes(8) + b"\1\3\3\7"
    session = b"\x11\0\0\1" + struct.pack(">H", len(packet) + 2) + b"\0\x21"
    vxlan = b"\x08\0\0\0\0\0\x2a\0" + inner
    geneve = b"\1\0\x65\x58\0\0\7\0" + bytes(4) + inner
    gtpu = b"\x34\xff\0\x60\0\0\0\1\0\0\0\x85\1\0\0\0" + packet
    erspan = b"\x10\0\x88\xbe\0\0\0\1" + bytes(8) + inner
    extensions = b"\x2b\0\xc2\4\0\0\0\x40\x33\0\0\0\0\0\0\0\6\4" + bytes(22)
    radio = b"\0\0\x09\0\2\0\0\0\x20\x88\1" + bytes(26) + b"\xaa\xaa\3\0\0\0\x08\0"
    log = b"\2\0\0\0\x08\0\1\0\0\0\0\0" + struct.pack("<HH", len(packet) + 4, 9)
    return {
        "plain": (1, ethernet(0x0800, packet)),
        "sack": (1, ethernet(0x0800, ipv4(6, tcp(sack)))),
        "syn": (1, ethernet(0x0800, ipv4(6, tcp(syn)))),
        "qinq_mpls": (1, ethernet(0x88A8, b"\0\1\x81\0\0\2\x88\x47\0\1\1\x40" + packet)),
        "pppoe": (1, ethernet(0x8864, session + packet)),
        "vxlan": (1, ethernet(0x0800, ipv4(17, udp(4789, vxlan)))),
        "geneve": (1, ethernet(0x86DD, ipv6(17, udp(6081, geneve)))),
        "gtpu": (1, ethernet(0x0800, ipv4(17, udp(2152, gtpu)))),
        "erspan": (1, ethernet(0x0800, ipv4(47, erspan))),
        "v6_extensions": (4, ipv6(0, extensions + tcp())),
        "radiotap": (15, radio + packet),
        "nflog": (27, log + packet),
    }


def pcap(order: str, magic: int, minor: int, frame: bytes) -> bytes:
    head = struct.pack(order + "IHHIIII", magic, 2, minor, 0, 0, 65535, 1)
    record = struct.pack(order + "IIII", 1, 2, len(frame), len(frame)) + frame
    return head + record * 3


def pcapng(order: str, frame: bytes) -> bytes:
    def block(kind: int, body: bytes) -> bytes:
        length = struct.pack(order + "I", len(body) + 12)
        return struct.pack(order + "I", kind) + length + body + length

    padded = frame + bytes(-len(frame) % 4)
    section = struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1)
    options = struct.pack(order + "HHB3xHHqHH", 9, 1, 9, 14, 8, 5, 0, 0)
    interface = struct.pack(order + "HHI", 1, 0, 0) + options
    packet = struct.pack(order + "IIIII", 0, 0, 7, len(frame), len(frame)) + padded
    simple = struct.pack(order + "I", len(frame)) + padded
    statistics = struct.pack(order + "III", 0, 0, 0) + struct.pack(order + "HHQHH", 7, 8, 3, 0, 0)
    bodies = [(1, interface), (6, packet), (99, bytes(8)), (3, simple), (5, statistics)]
    return block(0x0A0D0D0A, section) + b"".join(block(kind, body) for kind, body in bodies)


def main() -> None:
    seeds: dict[str, bytes] = {}
    for name, (linktype, frame) in frames().items():
        seeds[f"decode/{name}"] = bytes([linktype]) + struct.pack(">H", len(frame)) + frame
    plain = frames()["plain"][1]
    seeds["capture/pcap_little"] = pcap("<", 0xA1B2C3D4, 4, plain)
    seeds["capture/pcap_big_nanoseconds"] = pcap(">", 0xA1B23C4D, 4, plain)
    seeds["capture/pcap_twice"] = pcap("<", 0xA1B2C3D4, 4, plain) * 2
    seeds["capture/pcapng_little"] = pcapng("<", plain)
    seeds["capture/pcapng_both"] = pcapng(">", plain) + pcapng("<", plain)
    tcp_port = [(0x30, 0, 0, 23), (0x15, 0, 4, 6), (0xB1, 0, 0, 14), (0x48, 0, 0, 16)]
    arithmetic = [(0x80, 0, 0, 0), (0x02, 0, 0, 3), (0x61, 0, 0, 3), (0x1C, 0, 0, 0)]
    load_x = [(0x01, 0, 0, 4), (0x50, 0, 0, 0), (0x05, 0, 0, 0), (0x84, 0, 0, 0)]
    for name, code in [("port", tcp_port), ("arithmetic", arithmetic), ("load_x", load_x)]:
        code = code + [(0x06, 0, 0, 1)] * (16 - len(code))
        program = b"".join(struct.pack("<HBBI", *instruction) for instruction in code)
        seeds[f"filter/{name}"] = program + plain
    for name, seed in seeds.items():
        path = CORPUS / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(seed)


if __name__ == "__main__":
    main()
