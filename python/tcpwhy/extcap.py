"""tcpwhy inside Wireshark: an extcap program that captures a link, with verdicts as comments.

Wireshark, or dumpcap, calls it with the options of the manual page extcap(4). Packets come from
dumpcap as in any capture; `monitor` watches the same link and says what limits its connections, so
that a comment stands on the first packet after a verdict was reached.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from tcpwhy._core import TcpwhyError, UsageError, __version__
from tcpwhy.annotate import Comments
from tcpwhy.live import Monitor, monitor

PREFIX = "tcpwhy-"
"""Of the interfaces' names in Wireshark."""

_ETHERNET = 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Answer Wireshark."""
    options = _parser().parse_args(arguments)
    try:
        if options.extcap_interfaces:
            print(f"extcap {{version={__version__}}}{{help=https://pypi.org/project/tcpwhy}}")
            for name in sorted(path.name for path in Path("/sys/class/net").iterdir()):
                shown = f"{name}, with what limits each TCP connection"
                print(f"interface {{value={PREFIX}{name}}}{{display={shown}}}")
        elif options.extcap_dlts:
            print(f"dlt {{number={_ETHERNET}}}{{name=EN10MB}}{{display=Ethernet}}")
        elif options.extcap_config:
            print(
                "arg {number=0}{call=--interval}{display=Interval of verdicts}{type=string}"
                "{default=3s}{tooltip=Length of a periodic calculation}"
            )
        elif options.capture:
            _capture(_interface(options.extcap_interface), options)
        else:
            raise UsageError("this program is for Wireshark: put it into its folder for extcap")
    except (TcpwhyError, OSError) as error:
        print(f"tcpwhy: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tcpwhy-extcap", description=__doc__)
    for name in ("interfaces", "dlts", "config"):
        parser.add_argument(f"--extcap-{name}", action="store_true")
    parser.add_argument("--extcap-interface", default="")
    parser.add_argument("--extcap-version")
    parser.add_argument("--extcap-capture-filter", default="")
    parser.add_argument("--capture", action="store_true")
    parser.add_argument("--fifo")
    parser.add_argument("--interval", default="3s")
    return parser


def _interface(value: str) -> str:
    if not value.startswith(PREFIX):
        raise UsageError(f"no interface {value!r}: their names begin with {PREFIX}")
    return value.removeprefix(PREFIX)


def _capture(interface: str, options: argparse.Namespace) -> None:
    """Copy packets to Wireshark until it has enough."""
    program = shutil.which("dumpcap")
    if program is None:
        raise UsageError("dumpcap is not there: it is part of Wireshark")
    if not options.fifo:
        raise UsageError("no --fifo to write to")
    chosen = options.extcap_capture_filter or None
    comments = Comments()
    watch = monitor(
        interface, table="intervals", interval=options.interval, filter=chosen, workers=1
    )
    command = [program, "-q", "-i", interface, "-w", "-"]
    command += ["-f", chosen] if chosen else []
    packets = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert packets.stdout is not None

    def end(*_: object) -> None:
        packets.terminate()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    listener = threading.Thread(target=_listen, args=(watch, comments), daemon=True)
    listener.start()
    try:
        pipe = f"/dev/fd/{packets.stdout.fileno()}"
        _write(comments, pipe, options.fifo)
    finally:
        packets.terminate()
        packets.wait()
        watch.stop()
        listener.join(10)


def _write(comments: Comments, pipe: str, fifo: str) -> None:
    """Write in a thread, so that signals are heard meanwhile."""
    failed: list[BaseException] = []

    def work() -> None:
        try:
            comments.annotations.write([pipe], fifo)
        except BrokenPipeError:
            pass
        except BaseException as error:
            failed.append(error)

    writer = threading.Thread(target=work)
    writer.start()
    while writer.is_alive():
        writer.join(0.2)
    if failed:
        raise failed[0]


def _listen(watch: Monitor, comments: Comments) -> None:
    for table, batch in watch.batches():
        if table in comments.capabilities.tables:
            comments.write(table, batch)


if __name__ == "__main__":
    # Wireshark closes what it reads from when it has enough.
    code = main()
    sys.stdout.flush()
    os._exit(code)
