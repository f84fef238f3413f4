"""What a network card says about itself: the requests of linux/ethtool.h that doctor needs.

Reading takes no privilege. What a card or its driver does not offer is None, never a guess.
"""

import ctypes
import errno
import fcntl
import re
import socket
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Self

from tcpwhy._core import UsageError


class Feature(NamedTuple):
    """An offload."""

    active: bool
    fixed: bool
    """Whether it cannot be switched."""


class Setting(NamedTuple):
    """A number that can be set."""

    now: int
    most: int


class Rss(NamedTuple):
    """How the card spreads packets over its queues."""

    key: bytes
    functions: tuple[str, ...]
    """Hash functions in use; one, unless the driver is odd."""
    transform: int
    """Bits of `input_xfrm`: 1 and 2 make the hash symmetric whatever the key."""


class Times(NamedTuple):
    """Who can take the times of packets."""

    kernel: bool
    hardware_all: bool
    """Whether the card can do it for every packet that it receives."""
    hardware_some: bool
    """Whether it can for some, such as PTP's."""
    clock: int | None
    """Number of the card's clock, of /dev/ptpN."""


@dataclass(frozen=True)
class Device:
    """A network interface."""

    name: str
    driver: str
    """What names it, or the kind of interface where no driver does."""
    features: dict[str, Feature] | None = None
    rx_ring: Setting | None = None
    channels: Setting | None = None
    """Receive queues, those shared with sending included."""
    queues: int = 1
    rss: Rss | None = None
    tcp_fields: dict[str, int] = field(default_factory=dict)
    """RXH_ bits that are hashed, of tcp4 and tcp6."""
    times: Times | None = None
    numa_node: int | None = None
    irqs: dict[int, str] = field(default_factory=dict)
    """Interrupts, each with the processors that take it."""
    rps: bool = False
    """Whether the kernel moves packets to other processors after they came (RPS)."""
    vlans: tuple[str, ...] = ()
    """Interfaces that send tagged packets through it."""


class Link:
    """Asks the kernel about one interface, in the network namespace where it was made."""

    def __init__(self, name: str) -> None:
        """Open what questions go through."""
        self.name = name
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._socket.close()

    def is_up(self) -> bool | None:
        """Say whether packets can come; None for one that is no longer there."""
        try:
            flags = self._call(_SIOCGIFFLAGS, 0)
        except OSError:
            return None
        both = _IFF_UP | _IFF_RUNNING
        (found,) = struct.unpack_from("H", flags, 16)
        return bool(found & both == both)

    def ask(self, request: bytes, room: int = 0) -> bytes | None:
        """Send a request of ethtool with `room` bytes behind it; None if it is not offered."""
        buffer = ctypes.create_string_buffer(request + bytes(room), len(request) + room)
        try:
            self._call(_SIOCETHTOOL, ctypes.addressof(buffer))
        except OSError as error:
            if error.errno in _NOT_OFFERED:
                return None
            raise
        return buffer.raw

    def _call(self, number: int, pointer: int) -> bytes:
        request = struct.pack("16sP16x", self.name.encode(), pointer)
        return fcntl.ioctl(self._socket, number, request)


def names() -> list[str]:
    """Name the interfaces."""
    return [name for _, name in socket.if_nameindex()]


def read(name: str) -> Device:
    """Ask an interface everything."""
    if name not in names():
        raise UsageError(f"no interface '{name}': `ip link` lists them")
    system = Path("/sys/class/net", name)
    with Link(name) as link:
        return Device(
            name=name,
            driver=_driver(link),
            features=_features(link),
            rx_ring=_setting(link, _GRINGPARAM, now=5, most=1),
            channels=_channels(link),
            queues=len([*system.glob("queues/rx-*")]) or 1,
            rss=_rss(link),
            tcp_fields=_tcp_fields(link),
            times=_times(link),
            numa_node=_number(system / "device" / "numa_node"),
            irqs=_irqs(system),
            rps=any(
                path.read_text().strip(" ,0\n") for path in system.glob("queues/rx-*/rps_cpus")
            ),
            vlans=vlans(name),
        )


def hides_tags(name: str) -> list[str]:
    """Name the VLAN interfaces whose packets leave with their tag in the frame.

    The kernel's hash does not look behind such a tag on the way out.
    """
    over = vlans(name)
    if not over:
        return []
    with Link(name) as link:
        insert = (_features(link) or {}).get("tx-vlan-hw-insert")
    return [] if insert is None or insert.active else list(over)


def vlans(name: str) -> tuple[str, ...]:
    """Name the VLAN interfaces on top of one."""
    try:
        lines = _VLANS.read_text(encoding="ascii").splitlines()
    except OSError:
        return ()
    columns = [[cell.strip() for cell in line.split("|")] for line in lines]
    return tuple(cells[0] for cells in columns if len(cells) == 3 and cells[2] == name)


def _driver(link: Link) -> str:
    found = link.ask(struct.pack("I192x", _GDRVINFO))
    name = found[4:36].split(b"\0")[0].decode() if found else ""
    return name or ("loopback" if link.name == "lo" else "this interface")


def _features(link: Link) -> dict[str, Feature] | None:
    sizes = link.ask(struct.pack("IIQ", _GSSET_INFO, 0, 1 << _SS_FEATURES), room=4)
    if sizes is None:
        return None
    (count,) = struct.unpack_from("I", sizes, 16)
    strings = link.ask(struct.pack("III", _GSTRINGS, _SS_FEATURES, count), room=32 * count)
    blocks = (count + 31) // 32
    states = link.ask(struct.pack("II", _GFEATURES, blocks), room=16 * blocks)
    if strings is None or states is None:
        return None
    found = {}
    for number in range(count):
        name = strings[12 + 32 * number :][:32].split(b"\0")[0].decode()
        words = struct.unpack_from("IIII", states, 8 + 16 * (number // 32))
        available, _, active, never = (word >> number % 32 & 1 for word in words)
        if name:
            found[name] = Feature(bool(active), not available or bool(never))
    return found


def _setting(link: Link, request: int, *, now: int, most: int) -> Setting | None:
    found = link.ask(struct.pack("I32x", request))
    words = struct.unpack("9I", found) if found else (0,) * 9
    return Setting(words[now], words[most]) if words[most] else None


def _channels(link: Link) -> Setting | None:
    found = link.ask(struct.pack("I32x", _GCHANNELS))
    if found is None:
        return None
    _, most_rx, _, _, most_both, rx, _, _, both = struct.unpack("9I", found)
    return Setting(rx + both, most_rx or most_both)


def _rss(link: Link) -> Rss | None:
    sizes = link.ask(struct.pack("IIII12x", _GRSSH, 0, 0, 0))
    if sizes is None:
        return None
    _, _, entries, key_len = struct.unpack_from("IIII", sizes)
    room = 4 * entries + key_len
    found = link.ask(struct.pack("IIII12x", _GRSSH, 0, entries, key_len), room=room)
    if found is None or not key_len:
        return None
    used, transform = found[16], found[17]
    functions = tuple(name for bit, name in _FUNCTIONS.items() if used & bit)
    return Rss(found[28 + 4 * entries :][:key_len], functions, transform)


def _tcp_fields(link: Link) -> dict[str, int]:
    found = {}
    for name, flow_type in (("tcp4", 1), ("tcp6", 5)):
        answer = link.ask(struct.pack("II184x", _GRXFH, flow_type))
        if answer is not None:
            (found[name],) = struct.unpack_from("Q", answer, 8)
    return found


def _times(link: Link) -> Times | None:
    found = link.ask(struct.pack("I40x", _GET_TS_INFO))
    if found is None:
        return None
    _, can, clock, _, _, _, _, filters, *_ = struct.unpack("IIiIIIIIIII", found)
    hardware = can & _RX_HARDWARE and can & _RAW_HARDWARE
    return Times(
        kernel=bool(can & _RX_SOFTWARE),
        hardware_all=bool(hardware and filters >> _FILTER_ALL & 1),
        hardware_some=bool(hardware and filters >> 1),
        clock=clock if clock >= 0 else None,
    )


def _irqs(system: Path) -> dict[int, str]:
    """Find the interrupts of the device, or of the bus below it, with their processors."""
    device = (system / "device").resolve()
    folder = next((at for at in (device, device.parent) if (at / "msi_irqs").is_dir()), None)
    numbers = sorted(int(path.name) for path in folder.glob("msi_irqs/*")) if folder else []
    found = {}
    for number in numbers:
        where = Path("/proc/irq", str(number), "effective_affinity_list")
        try:
            found[number] = where.read_text(encoding="ascii").strip()
        except OSError:
            continue
    return {number: where for number, where in found.items() if re.match(r"\d", where)}


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


_VLANS = Path("/proc/net/vlan/config")
# Requests and bits of linux/sockios.h, linux/if.h, linux/ethtool.h and linux/net_tstamp.h.
_SIOCGIFFLAGS, _SIOCETHTOOL = 0x8913, 0x8946
_IFF_UP, _IFF_RUNNING = 1, 0x40
_GDRVINFO, _GRINGPARAM, _GSTRINGS, _GRXFH = 0x03, 0x10, 0x1B, 0x29
_GSSET_INFO, _GFEATURES, _GCHANNELS, _GET_TS_INFO, _GRSSH = 0x37, 0x3A, 0x3C, 0x41, 0x46
_SS_FEATURES = 4
_FUNCTIONS = {1: "toeplitz", 2: "xor", 4: "crc32"}
_RX_HARDWARE, _RX_SOFTWARE, _RAW_HARDWARE = 1 << 2, 1 << 3, 1 << 6
_FILTER_ALL = 1
_NOT_OFFERED = {errno.EOPNOTSUPP, errno.EINVAL, errno.ENODEV, errno.EPERM}
