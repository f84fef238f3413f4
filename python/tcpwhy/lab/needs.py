"""What the lab needs of a machine, for `tcpwhy doctor`."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

Need = tuple[str, str, str]
"""Subject, state, and what to do about it; empty when all is well."""

_PROGRAMS = {
    "ip": ("iproute2", "addresses and routes"),
    "tcpdump": ("tcpdump", "captures"),
}
_CAP_SYS_ADMIN, _CAP_SYS_NICE = 21, 23


def needs() -> Iterator[Need]:
    """Look at what namespaces, interfaces and captures need."""
    yield _tun()
    yield _namespaces()
    yield _real_time()
    for program, (package, purpose) in _PROGRAMS.items():
        if shutil.which(program):
            yield f"lab: {program}", f"there: {purpose}", ""
        else:
            remedy = f"apt install {package}, or the {package} package of this system"
            yield f"lab: {program}", f"absent: no {purpose}", remedy
    yield _controllers()
    yield _tracepoint()
    yield _disciplines()


def _tun() -> Need:
    device = Path("/dev/net/tun")
    if not device.exists():
        return "lab: /dev/net/tun", "absent: no emulated links", "modprobe tun"
    if not os.access(device, os.R_OK | os.W_OK):
        return "lab: /dev/net/tun", "not for this user", "run the lab as root"
    return "lab: /dev/net/tun", "there: emulated links", ""


def _namespaces() -> Need:
    subject = "lab: namespaces"
    if os.geteuid() == 0:
        if _holds(_CAP_SYS_ADMIN):
            return subject, "root makes them", ""
        return subject, "not held: cap_sys_admin", "give this container CAP_SYS_ADMIN"
    allowed = _number("/proc/sys/user/max_user_namespaces") > 0
    restricted = _number("/proc/sys/kernel/unprivileged_userns_clone", 1) == 0
    restricted |= _number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1
    if allowed and not restricted:
        return subject, "inside a user namespace, without root", ""
    return subject, "user namespaces are not allowed here", "run the lab as root"


def _real_time() -> Need:
    if _holds(_CAP_SYS_NICE):
        return "lab: real time", "held: cap_sys_nice, links keep time on a busy machine", ""
    remedy = "run the lab as root; else runs on a busy machine are refused more often"
    return "lab: real time", "not held: cap_sys_nice", remedy


def _controllers() -> Need:
    path = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
    known = path.read_text(encoding="ascii").split() if path.exists() else []
    missing = [name for name in ("reno", "cubic", "bbr") if name not in known]
    remedy = f"modprobe {' '.join(f'tcp_{name}' for name in missing)}" if missing else ""
    return "lab: controllers", " ".join(known) or "?", remedy


def _tracepoint() -> Need:
    from tcpwhy.lab import tracepoint

    subject = "lab: tcp_probe"
    if (reason := tracepoint.obstacle()) is None:
        return subject, "there: cwnd at every acknowledgement", ""
    remedy = "run the lab as root on a kernel with CONFIG_FTRACE; else cwnd is sampled every 100 ms"
    return subject, f"absent: {reason}", remedy


def _disciplines() -> Need:
    from tcpwhy._core import TcpwhyError
    from tcpwhy.lab.kernelpath import KINDS, missing, remedy
    from tcpwhy.lab.namespace import Namespace

    subject = "lab: qdiscs"
    if not shutil.which("tc"):
        return subject, "not known: tc is absent", "apt install iproute2"
    try:
        with Namespace("doctor", rootless=os.geteuid() != 0) as host:
            lacks = missing(set(KINDS), host)
    except TcpwhyError as error:
        return subject, f"not known: {error}", "run this as root"
    there = " ".join(kind for kind in KINDS if kind not in lacks)
    if not lacks:
        return subject, f"{there}: any path with `--emulator kernel`", ""
    state = f"{there}; no {' '.join(lacks)}: not every path with `--emulator kernel`"
    return subject, state, remedy(lacks)


def _holds(capability: int) -> bool:
    status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    effective = next(int(line.split()[1], 16) for line in status if line.startswith("CapEff:"))
    return bool(effective >> capability & 1)


def _number(path: str, default: int = 0) -> int:
    try:
        return int(Path(path).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return default
