"""Tests on the kernel's clock: one run at a time, and whether the machine disturbed them.

What lives in `tests/system` takes real time, root, servers or other people's programs. Such a
test is right only on a machine that gives it the processor. A thread measures how late it is
woken meanwhile; a test that failed while that was late is asked again, and the summary says so.
A failure on a quiet machine counts at once.
"""

import fcntl
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol

HERE = Path(__file__).parent / "system"
LOCK = Path(tempfile.gettempdir()) / "tcpwhy-system-tests.lock"

TICK_S = 0.005
LATE_S = 0.020
"""On a quiet machine a sleeper of a few ms is woken at most 17 ms late in a minute."""
TURNS = 3

disturbed: list[str] = []


class Watch:
    """Measures by how much a sleeper is woken late; a context manager."""

    def __init__(self) -> None:
        """Begin with no lateness seen."""
        self.latest_s = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        before = time.monotonic()
        while not self._over.wait(TICK_S):
            now = time.monotonic()
            self.latest_s = max(self.latest_s, now - before - TICK_S)
            before = now

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()

    @property
    def is_late(self) -> bool:
        """Whether the processor was somebody else's for longer than on a quiet machine."""
        return self.latest_s > LATE_S


def is_system(item: pytest.Item) -> bool:
    """Whether a test lives in the folder of those on the kernel's clock."""
    return HERE in item.path.parents


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if is_system(item):
            item.add_marker("system")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Ask a system test again where it failed on a machine that was busy with something else."""
    if not is_system(item):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for turn in range(1, TURNS + 1):
        with Watch() as watch:
            reports = runtestprotocol(item, nextitem=nextitem, log=False)
        failed = any(report.failed for report in reports)
        if not failed or not watch.is_late or turn == TURNS:
            break
        disturbed.append(f"{item.nodeid}: woken {1000 * watch.latest_s:.0f} ms late")
        item._initrequest()
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if disturbed:
        terminalreporter.section("asked again: the machine was busy with something else")
        for line in disturbed:
            terminalreporter.write_line(line)


@pytest.fixture(scope="session", autouse=True)
def alone(request: pytest.FixtureRequest) -> Iterator[None]:
    """Wait until no other run of system tests is under way on this machine."""
    if not any(is_system(item) for item in request.session.items):
        yield
        return
    with LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
