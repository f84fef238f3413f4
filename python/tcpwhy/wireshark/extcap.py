"""tcpwhy inside Wireshark: an extcap program that captures a link, with verdicts as comments.

Wireshark, or dumpcap, calls it with the options of the manual page extcap(4). Packets come from
dumpcap as in any capture; `monitor` watches the same link and says what limits its connections, so
that a comment stands on the first packet after a verdict was reached.
"""

import argparse
import os
import select
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tcpwhy._core import TcpwhyError, UsageError, __version__
from tcpwhy.live import Monitor, monitor
from tcpwhy.wireshark.annotate import Comments

PREFIX = "tcpwhy-"
"""Of the interfaces' names in Wireshark."""

LOOK_MS, LEAVE_S = 100, 0.3
"""How often it asks whether somebody reads, and how long it then waits for each of its threads."""

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
    with _held(options.fifo) as reader:
        ended = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: ended.set())
        packets = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert packets.stdout is not None
        writer = _Writer(comments, f"/dev/fd/{packets.stdout.fileno()}", options.fifo)
        listener = threading.Thread(target=_listen, args=(watch, comments), daemon=True)
        writer.start()
        listener.start()
        # Without packets no write fails: whether somebody still reads takes a question of its own.
        while writer.is_alive() and not ended.is_set() and not reader.poll(LOOK_MS):
            pass
        packets.terminate()
        watch.stop()
        # Wireshark waits for this program: whoever is stuck ends with it.
        for thread in (writer, listener):
            thread.join(LEAVE_S)
        packets.kill()
        packets.wait()
    if writer.failed:
        raise writer.failed


@contextmanager
def _held(fifo: str) -> Iterator[select.poll]:
    """Hold an end for writing, which tells when the last reader has left."""
    held = os.open(fifo, os.O_WRONLY)
    try:
        reader = select.poll()
        # Errors are told without being asked for.
        reader.register(held, 0)
        yield reader
    finally:
        os.close(held)


class _Writer(threading.Thread):
    """Writes packets with comments, so that signals are heard meanwhile."""

    def __init__(self, comments: Comments, pipe: str, fifo: str) -> None:
        super().__init__(daemon=True)
        self.failed: BaseException | None = None
        self._comments, self._pipe, self._fifo = comments, pipe, fifo

    def run(self) -> None:
        try:
            self._comments.annotations.write([self._pipe], self._fifo)
        except BrokenPipeError:
            pass
        except BaseException as error:
            self.failed = error


def _listen(watch: Monitor, comments: Comments) -> None:
    for table, batch in watch.batches():
        if table in comments.capabilities.tables:
            comments.write(table, batch)


def leave(code: int) -> None:
    """End at once, whoever is stuck. Wireshark closes what it reads from when it has enough."""
    sys.stdout.flush()
    os._exit(code)


if __name__ == "__main__":
    leave(main())
