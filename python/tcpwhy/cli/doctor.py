"""`tcpwhy doctor`: what this machine can do, and what to do about what it cannot."""

import os
import platform
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click

from tcpwhy._core import __version__
from tcpwhy.terminal import Style


class Finding(NamedTuple):
    """Something that was looked at."""

    subject: str
    state: str
    remedy: str = ""
    """What to do about it; empty when all is well."""


@click.command("doctor")
@click.option("--format", type=click.Choice(["table", "jsonl"]), default="table", show_default=True)
def command(format: str) -> None:
    """Say what this machine can do: versions, processors, libraries, capabilities."""
    style = Style.of(sys.stdout)
    findings = list(examine())
    if format == "jsonl":
        import json

        for finding in findings:
            click.echo(json.dumps(finding._asdict(), ensure_ascii=False))
        return
    widest = max(len(finding.subject) for finding in findings)
    for finding in findings:
        mark = style.warn("!") if finding.remedy else " "
        click.echo(f"{mark} {finding.subject.ljust(widest)}  {finding.state}")
        if finding.remedy:
            click.echo(f"  {' ' * widest}  → {finding.remedy}")


def examine() -> Iterator[Finding]:
    """Look at everything, in the order in which it is shown."""
    yield Finding("tcpwhy", f"{__version__} with Python {platform.python_version()}")
    yield Finding("kernel", f"{platform.system()} {platform.release()} {platform.machine()}")
    usable = len(os.sched_getaffinity(0))
    yield Finding("processors", f"{usable} usable of {os.cpu_count()}")
    yield libpcap()
    yield from capabilities()
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
