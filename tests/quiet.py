"""Tests on the kernel's clock: one run at a time, and whether the machine disturbed them.

What lives in `tests/system` takes real time, root, servers or other people's programs, and so does
what asks for the fixtures `tool` and `browser`. Such a test is right only on a machine that gives
it the processor. A thread measures how late it is woken meanwhile, and a failure while that was
late does not count. A processor may also be slower than its clock tells, which no sleeper sees: a
failure on a quiet machine counts, but the test passes with two passes to that one failure. The
summary names every test that was asked again.
"""

import fcntl
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import pytest
from _pytest.runner import runtestprotocol

HERE = Path(__file__).parent / "system"
PROGRAMS = frozenset({"tool", "browser"})
"""The fixtures that find a program of other people."""
LOCK = Path(tempfile.gettempdir()) / "tcpwhy-system-tests.lock"

TICK_S = 0.005
LATE_S = 0.020
"""On a quiet machine a sleeper of a few ms is woken at most 17 ms late in a minute."""
TURNS = 5
"""A test is asked so many times at most."""
MISSES = 2
"""Failures on a quiet machine that no pass makes good."""

asked_again: list[str] = []
LOCKED = pytest.StashKey[TextIO]()
"""The lock of this run, closed when its process ends."""


class Turn(NamedTuple):
    """One run of a test."""

    failed: bool
    late: bool
    """Whether the machine was busy with something else."""


def verdict(turns: Sequence[Turn]) -> bool | None:
    """Say whether a test passes, None while it has to be asked again."""
    passes = sum(not turn.failed for turn in turns)
    misses = sum(turn.failed and not turn.late for turn in turns)
    if passes > misses:
        return True
    return False if misses >= MISSES or len(turns) >= TURNS else None


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
    """Whether a test needs more than this repository, or the kernel's clock."""
    return HERE in item.path.parents or not PROGRAMS.isdisjoint(getattr(item, "fixturenames", ()))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if is_system(item):
            item.add_marker("system")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Ask a system test that failed again, until its `verdict` stands."""
    if not is_system(item):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    turns: list[Turn] = []
    while (passes := verdict(turns)) is None:
        if turns:
            item._initrequest()
        with Watch() as watch:
            reports = runtestprotocol(item, nextitem=nextitem, log=False)
        failures = [report for report in reports if report.failed]
        turns.append(Turn(bool(failures), watch.is_late))
        if failures:
            shown = failures
            late = f"woken {watch.latest_s * 1000:.0f} ms late"
            asked_again.append(f"{item.nodeid}: {late}; {_why(failures[0])}")
    if not passes:
        reports = shown
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def _why(report: pytest.TestReport) -> str:
    """Give the first line that pytest marks as the error."""
    lines = report.longreprtext.splitlines()
    return next((line[1:].strip() for line in lines if line.startswith("E ")), report.when or "")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send what a worker of xdist asked again to the process that shows it."""
    if (output := getattr(session.config, "workeroutput", None)) is not None:
        output["asked_again"] = asked_again


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    asked_again.extend(getattr(node, "workeroutput", {}).get("asked_again", []))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if asked_again:
        terminalreporter.section("failed turns of tests on the kernel's clock")
        for line in asked_again:
            terminalreporter.write_line(line)


def pytest_collection_finish(session: pytest.Session) -> None:
    config = session.config
    if hasattr(config, "workerinput") or config.option.collectonly:
        return
    if any(map(is_system, session.items)):
        _wait(config)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any, ids: Sequence[str]) -> None:
    """Wait before the workers of xdist get anything to do; the second finds it done."""
    folder = HERE.relative_to(node.config.rootpath).as_posix() + "/"
    if any(name.startswith(folder) for name in ids):
        _wait(node.config)


def _wait(config: pytest.Config) -> None:
    """Wait until no other run of system tests is under way on this machine."""
    if config.stash.get(LOCKED, None) is None:
        lock = config.stash[LOCKED] = LOCK.open("w")
        fcntl.flock(lock, fcntl.LOCK_EX)
