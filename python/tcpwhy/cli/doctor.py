"""`tcpwhy doctor`: what this machine can do, and what to do about what it cannot."""

import os
import platform
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import click

from tcpwhy._core import __version__
from tcpwhy.cli._help import Described
from tcpwhy.terminal import Style, paragraph, shorten, width


class Finding(NamedTuple):
    """Something that was looked at."""

    subject: str
    state: str
    remedy: str = ""
    """What to do about it; empty when all is well."""


SECTION = "Hosts and tests"
EXAMPLES = (
    "# what this machine can do",
    "tcpwhy doctor",
)


@click.command("doctor", cls=Described)
@click.argument("interfaces", nargs=-1, metavar="[IFACE]...")
@click.option(
    "--format",
    type=click.Choice(["table", "jsonl"]),
    default="table",
    show_default=True,
    help="Format of standard output.",
)
def command(interfaces: tuple[str, ...], format: str) -> None:
    """Say what this machine can do, and what to do about what it cannot.

    Versions, processors, libraries, capabilities, and network cards: offloads that merge packets,
    queues, rings, the receive hash, processors, timestamps. IFACE looks at that interface alone.
    """
    style = Style.of(sys.stdout)
    findings = list(network(interfaces) if interfaces else examine())
    if format == "jsonl":
        import json

        for finding in findings:
            click.echo(json.dumps(finding._asdict(), ensure_ascii=False))
        return
    widest, limit = max(len(finding.subject) for finding in findings), width(sys.stdout)
    for finding in findings:
        mark = style.warn("!") if finding.remedy else " "
        head = f"{finding.subject.ljust(widest)}  "
        lines = [*paragraph(head, finding.state, limit - 2)]
        # A line to type stays one line, however long: only what is said of it is broken.
        what, _, said = finding.remedy.partition("; ")
        if what:
            lines.append(f"{' ' * len(head)}→ {what}")
            lines += paragraph(" " * (len(head) + 2), said, limit - 2)
        for number, line in enumerate(lines):
            click.echo(f"{' ' if number else mark} {line}")


def examine() -> Iterator[Finding]:
    """Look at everything, in the order in which it is shown."""
    yield Finding("tcpwhy", f"{__version__} with Python {platform.python_version()}")
    yield Finding("kernel", f"{platform.system()} {platform.release()} {platform.machine()}")
    usable = len(os.sched_getaffinity(0))
    yield Finding("processors", f"{usable} usable of {os.cpu_count()}")
    yield libpcap()
    yield from capabilities()
    yield from network(())
    yield from lab()
    yield from extras()


def libpcap() -> Finding:
    """Look for the library that compiles capture filters."""
    import ctypes

    try:
        library = ctypes.CDLL("libpcap.so.0.8")
    except OSError:
        remedy = "apt install libpcap0.8, or the libpcap package of this system"
        return Finding("libpcap", "absent: --filter does not work", remedy)
    library.pcap_lib_version.restype = ctypes.c_char_p
    return Finding("libpcap", library.pcap_lib_version().decode())


# Bits of linux/capability.h.
_CAPABILITIES = {
    "cap_net_raw": (13, "live capture"),
    "cap_net_admin": (12, "promiscuous mode, network namespaces"),
    "cap_sys_admin": (21, "network namespaces of the lab"),
}


def capabilities() -> Iterator[Finding]:
    """Look at what the process may do; reading captures needs none of it."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    lines = (line.split() for line in status.splitlines())
    effective = next(int(line[1], 16) for line in lines if line and line[0] == "CapEff:")
    for name, (bit, purpose) in _CAPABILITIES.items():
        if effective >> bit & 1:
            yield Finding(name, f"held: {purpose}")
        else:
            python = Path(sys.executable).resolve()
            remedy = f"run as root, or: setcap {name}=ep {python} (analyze and query need none)"
            yield Finding(name, f"not held: no {purpose}", remedy)


def network(names: Sequence[str]) -> Iterator[Finding]:
    """Look at interfaces: those named, or all that have a device behind them."""
    from tcpwhy.host import ethtool, nic

    if not names:
        every = [name for name in ethtool.names() if name != "lo"]
        names = [name for name in every if Path("/sys/class/net", name, "device").exists()]
        others = [name for name in every if name not in names]
        if others:
            listed = shorten(", ".join(others), 60)
            yield Finding("other interfaces", f"{listed}: tcpwhy doctor NAME looks at one")
    for name in names:
        device = ethtool.read(name)
        yield Finding(name, f"driver {device.driver}")
        yield from (Finding(*advice) for advice in nic.advise(device))


def lab() -> Iterator[Finding]:
    """Look at what the kernel lab needs."""
    from tcpwhy.lab.needs import needs

    return (Finding(*need) for need in needs())


def extras() -> Iterator[Finding]:
    """Look at the optional dependencies, as the package declares them."""
    from importlib.metadata import PackageNotFoundError, requires, version

    wanted: dict[str, list[str]] = {}
    for requirement in requires("tcpwhy") or []:
        match = re.match(r"([\w.-]+).*extra == ['\"](\w+)['\"]", requirement)
        if match and match[2] != "dev":
            wanted.setdefault(match[2], []).append(match[1])
    for extra, names in sorted(wanted.items()):
        try:
            yield Finding(f"extra {extra}", ", ".join(f"{name} {version(name)}" for name in names))
        except PackageNotFoundError as error:
            remedy = f"pip install 'tcpwhy[{extra}]' if it is wanted"
            yield Finding(f"extra {extra}", f"absent: {error.name}", remedy)
