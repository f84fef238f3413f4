"""A link watched for a while: its packets in a file, for as long as a graph reads them."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tcpwhy._core import PrivilegeError, TcpwhyError, UsageError

KEPT_BYTES = 256
"""Of a frame: its headers with all options, also in tunnels."""

START_S = 10.0
"""How long tcpdump has to open the link."""

BUFFER_KIB = 65_536
"""What waits in the kernel while the file is written."""

DENIED = ("permission", "not permitted")


@contextmanager
def watched(interface: str, seconds: float, filter: str = "tcp") -> Iterator[str]:
    """Capture a link with tcpdump; give the file. Ctrl-C ends the watching early.

    Args:
        interface: its name.
        seconds: how long it is watched.
        filter: which packets, in the syntax of tcpdump.

    Raises:
        UsageError: without tcpdump, without such a link, for a wrong filter.
        PrivilegeError: without CAP_NET_RAW.
        TcpwhyError: when no packet was seen.

    """
    tcpdump = shutil.which("tcpdump")
    if tcpdump is None:
        raise UsageError("a link is watched by tcpdump, which is not installed")
    if interface.startswith("-"):
        raise UsageError(f"{interface!r} is not the name of a link")
    with tempfile.TemporaryDirectory(prefix="tcpwhy-live-") as folder:
        file = Path(folder) / "link.pcap"
        options = ["-i", interface, "-n", "-s", str(KEPT_BYTES), "-B", str(BUFFER_KIB), "-U"]
        # As whom it runs already: the folder is of nobody else.
        options += ["-Z", "root"] if os.geteuid() == 0 else []
        command = [tcpdump, *options, "-w", str(file), "--", filter]
        with subprocess.Popen(command, stderr=subprocess.PIPE, process_group=0) as process:
            try:
                _opened(process, interface, file)
                with suppress(KeyboardInterrupt):
                    time.sleep(seconds)
            finally:
                process.send_signal(signal.SIGINT)
                process.communicate(timeout=START_S)
        if file.stat().st_size <= PCAP_HEAD:
            raise TcpwhyError(f"{interface}: no packet of {filter!r} in {seconds:g} s")
        yield str(file)


PCAP_HEAD = 24
"""Bytes of a file without a packet."""


def _opened(process: "subprocess.Popen[bytes]", interface: str, file: Path) -> None:
    """Wait until the link is open: the file has its head then."""
    until = time.monotonic() + START_S
    while not (file.exists() and file.stat().st_size >= PCAP_HEAD):
        if process.poll() is not None:
            told = process.stderr.read().decode("utf-8", "replace") if process.stderr else ""
            line = told.partition("\n")[0].removeprefix("tcpdump: ") or "tcpdump ended"
            line = line.removeprefix(f"{interface}: ")
            if any(word in line.lower() for word in DENIED):
                raise PrivilegeError(f"{interface}: {line}; watching takes CAP_NET_RAW: use sudo")
            raise UsageError(f"{interface}: {line}")
        if time.monotonic() > until:
            raise TcpwhyError(f"{interface}: tcpdump did not open it in {START_S:g} s")
        time.sleep(0.02)


def of_pair(src: str, src_port: int, dst: str, dst_port: int) -> str:
    """Give the filter for a connection, also behind a VLAN tag."""
    ends = f"host {src} and host {dst} and port {src_port} and port {dst_port}"
    plain = f"tcp and {ends}"
    return f"({plain}) or (vlan and {plain})"
