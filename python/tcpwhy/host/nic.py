"""What a capture on a network interface has to know, and the exact command where it can be better.

What is not offered is said as such. The key is that of Woo and Park, Scalable TCP Session
Monitoring with Symmetric Receive-side Scaling (KAIST 2012): 0x6d5a repeated, which gives both
directions of a connection the same Toeplitz hash.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tcpwhy.host.ethtool import Device, Rss

SYMMETRIC_KEY = bytes.fromhex("6d5a")


class Advice(NamedTuple):
    """Something that was looked at, and what to do about it."""

    subject: str
    state: str
    remedy: str = ""


def advise(device: Device) -> Iterator[Advice]:
    """Look at everything, in the order in which it is shown."""
    for about in (offloads, sending, queues, ring, rss, tags, fanout, processors, times):
        for advice in about(device):
            yield advice._replace(subject=f"{device.name}: {advice.subject}")


# Names of ethtool -K, by those of the kernel.
_MERGE = {"rx-gro": "gro", "rx-lro": "lro", "rx-gro-hw": "rx-gro-hw"}
_SPLIT = {"tx-tcp-segmentation": "tso", "tx-generic-segmentation": "gso"}


def offloads(device: Device) -> Iterator[Advice]:
    """Look for what merges packets before a capture sees them."""
    cost = "merged packets cost the scores that need spacing"
    yield from _switched(device, "packets that come", _MERGE, "merged", f"; {cost}")


def sending(device: Device) -> Iterator[Advice]:
    """Look for what cuts packets only after a capture saw them: of this host's own."""
    why = "; only to look at this host's own transfers: it costs processor time"
    yield from _switched(device, "packets it sends", _SPLIT, "seen before they are cut", why)


def _switched(
    device: Device, subject: str, names: dict[str, str], fate: str, why: str
) -> Iterator[Advice]:
    if device.features is None:
        yield Advice(subject, f"what merges or cuts them is {_not_offered(device)}")
        return
    known = {short: device.features[name] for name, short in names.items()
             if name in device.features}  # fmt: skip
    active = [short for short, feature in known.items() if feature.active]
    free = [short for short in active if not known[short].fixed]
    if not active:
        yield Advice(subject, f"one by one ({', '.join(known)} off)")
        return
    stuck = [short for short in active if known[short].fixed]
    fixed = f" ({', '.join(stuck)} cannot be switched off here)" if stuck else ""
    off = " ".join(f"{short} off" for short in free)
    remedy = f"ethtool -K {device.name} {off}{why}" if free else ""
    what = f"{fate} by {', '.join(active)}{fixed}; the column offload_seen says where"
    yield Advice(subject, what, remedy)


def queues(device: Device) -> Iterator[Advice]:
    """Look at the receive queues."""
    if device.channels is None or not device.channels.most:
        yield Advice("receive queues", f"{device.queues}; their number is {_not_offered(device)}")
        return
    now, most = device.channels
    state = f"{now} of {most} offered"
    if now == 1:
        state += "; workers share what one core takes in"
    wanted = min(most, len(os.sched_getaffinity(0)))
    more = f"ethtool -L {device.name} combined {wanted}" if now < wanted else ""
    yield Advice("receive queues", state, more)


def ring(device: Device) -> Iterator[Advice]:
    """Look at how many packets may wait in the card."""
    if device.rx_ring is None:
        yield Advice("receive ring", _not_offered(device))
        return
    now, most = device.rx_ring
    remedy = f"ethtool -G {device.name} rx {most}" if now < most else ""
    yield Advice("receive ring", f"{now} of {most} packets", remedy)


# RXH_IP_SRC and RXH_IP_DST, RXH_L4_B_0_1 and RXH_L4_B_2_3 of linux/ethtool.h.
_ENDS = ((1 << 4, 1 << 5), (1 << 6, 1 << 7))


def rss(device: Device) -> Iterator[Advice]:
    """Look whether the card brings both directions of a connection to one queue."""
    subject = "receive hash"
    if device.queues == 1:
        yield Advice(subject, "one queue: nothing to spread")
        return
    if device.rss is None:
        yield Advice(subject, f"{_not_offered(device)}: use --fanout hash, hosts or cbpf, not qm")
        return
    key = device.rss.key.hex(":")
    uneven = [name for name, bits in device.tcp_fields.items() if not _is_even(bits)]
    if uneven:
        yield Advice(
            subject,
            f"{', '.join(uneven)}: hashes one end only, so that directions part",
            f"ethtool -N {device.name} rx-flow-hash {uneven[0]} sdfn",
        )
    elif is_symmetric(device.rss):
        yield Advice(subject, f"symmetric ({_how(device.rss)}): --fanout qm is right too")
    elif "toeplitz" in device.rss.functions:
        wanted = (SYMMETRIC_KEY * len(device.rss.key))[: len(device.rss.key)].hex(":")
        yield Advice(
            subject,
            f"not symmetric (toeplitz, key {key[:11]}…): --fanout qm would part connections",
            f"ethtool -X {device.name} hkey {wanted}",
        )
    else:
        names = ", ".join(device.rss.functions) or "unnamed"
        yield Advice(subject, f"{names}: not known to be symmetric: not --fanout qm")


def is_symmetric(rss: Rss) -> bool:
    """Say whether both directions of every TCP connection have the same hash."""
    if rss.transform & _SYMMETRIC or rss.functions == ("xor",):
        return True
    return rss.functions == ("toeplitz",) and is_symmetric_key(rss.key)


# RXH_XFRM_SYM_XOR and RXH_XFRM_SYM_OR_XOR of linux/ethtool.h.
_SYMMETRIC = 1 | 2


def is_symmetric_key(key: bytes) -> bool:
    """Say whether the Toeplitz hash with this key is that of the other direction, v4 and v6.

    A bit of the input adds the 32 bits of the key from its place on. So bits of the source and of
    the destination must have the same 32.
    """
    bits = int.from_bytes(key)
    size = 8 * len(key)

    def window(at: int) -> int:
        return bits >> (size - at - 32) & 0xFFFFFFFF

    for address in (32, 128):
        if size < 2 * address + 32 + 32:
            return False
        same_address = all(window(at) == window(at + address) for at in range(address))
        ports = range(2 * address, 2 * address + 16)
        if not same_address or any(window(at) != window(at + 16) for at in ports):
            return False
    return True


def _is_even(bits: int) -> bool:
    """Say whether source and destination are hashed alike."""
    return all(bool(bits & source) == bool(bits & target) for source, target in _ENDS)


def _how(rss: Rss) -> str:
    return "by its transformation" if rss.transform & _SYMMETRIC else ", ".join(rss.functions)


def tags(device: Device) -> Iterator[Advice]:
    """Look whether this host's own tagged packets can be told apart by the kernel's hash."""
    if not device.vlans:
        return
    names = ", ".join(device.vlans)
    insert = (device.features or {}).get("tx-vlan-hw-insert")
    if insert is None or insert.active:
        yield Advice("tags", f"{names}: beside the packet, as --fanout hash needs them")
        return
    state = f"{names}: in the frames that leave, where the kernel's hash does not look behind"
    switch = "" if insert.fixed else f", or ethtool -K {device.name} txvlan on"
    yield Advice("tags", state, f"--fanout hosts or --fanout cbpf{switch}")


def fanout(device: Device) -> Iterator[Advice]:
    """Say how workers should share its packets."""
    insert = (device.features or {}).get("tx-vlan-hw-insert")
    if device.vlans and insert is not None and not insert.active:
        yield Advice("fan-out", "--fanout hosts or cbpf, for the tags of what it sends")
    elif device.queues > 1 and device.rss is not None and is_symmetric(device.rss):
        yield Advice(
            "fan-out", "--fanout hosts; qm on a mirror port, to keep packets on their core"
        )
    else:
        yield Advice("fan-out", "--fanout hosts; hash where two hosts do most, to share that out")


def processors(device: Device) -> Iterator[Advice]:
    """Look at where packets come in, and where workers run."""
    usable = os.sched_getaffinity(0)
    parts = [f"{len(usable)} workers on any of {_ranges(usable)}"]
    if device.irqs:
        where = sorted(set(device.irqs.values()))
        parts.append(f"{len(device.irqs)} interrupts on {', '.join(where)}")
    else:
        parts.append(f"interrupts {_not_offered(device)}")
    node = device.numa_node
    remedy = ""
    if node is None or node < 0:
        parts.append("no NUMA node")
    else:
        near = Path(f"/sys/devices/system/node/node{node}/cpulist").read_text().strip()
        parts.append(f"NUMA node {node} ({near})")
        if not usable <= _numbers(near):
            remedy = f"taskset -c {near} tcpwhy monitor {device.name}, or CPUAffinity={near}"
    if device.rps:
        parts.append("RPS moves packets to other processors")
    yield Advice("processors", "; ".join(parts), remedy)


def times(device: Device) -> Iterator[Advice]:
    """Look at who can take the times of packets."""
    found = device.times
    if found is None:
        yield Advice("timestamps", f"{_not_offered(device)}; the kernel takes them all the same")
    elif found.hardware_all:
        clock = f", clock /dev/ptp{found.clock}" if found.clock is not None else ""
        yield Advice("timestamps", f"kernel, or card{clock} with --timestamps hardware")
    else:
        some = "only for some packets, which is no use here" if found.hardware_some else ""
        yield Advice("timestamps", f"kernel; card: {some or _not_offered(device)}")


def _not_offered(device: Device) -> str:
    return f"not offered by {device.driver}"


def _ranges(numbers: set[int]) -> str:
    """Write processors as the kernel does: 0-3,8."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(f"{a}-{b}" if a < b else f"{a}" for a, b in runs)


def _numbers(ranges: str) -> set[int]:
    """Read processors as the kernel writes them."""
    found: set[int] = set()
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found
