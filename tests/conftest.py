"""What the tests share."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tcpwhy import _core

pyarrow = pytest.importorskip("pyarrow", reason="the tests make batches with pyarrow")

ROOT = Path(__file__).parent.parent

pytest_plugins = ["quiet", "browser"]

type_defaults = {"Utf8": "", "Boolean": False, "Float64": 0.0}


def pytest_addoption(parser):
    parser.addoption("--new-golden", action="store_true", help="write golden texts anew")


def pytest_configure():
    """Programs keep ignoring what was ignored when they began, as nohup and `&` have it."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Where everything should be there (TCPWHY_NO_SKIP=1), a skipped test is a failed one."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("TCPWHY_NO_SKIP"):
        report.outcome = "failed"
        report.longrepr = f"skipped, but TCPWHY_NO_SKIP is set: {report.longrepr[2]}"
    return report


@pytest.fixture(scope="session")
def shared() -> Path:
    """Find the folder with captures that are not part of the repository."""
    path = Path(os.environ.get("TCPWHY_SHARED", ROOT.parent / "shared"))
    if not (path / "captures" / "manifest.csv").is_file():
        pytest.skip(f"no captures in {path}: TCPWHY_SHARED names another folder")
    return path


@pytest.fixture(scope="session")
def tool() -> Callable[[str], str]:
    """Find a program of another project by name."""

    def find(name: str) -> str:
        path = shutil.which(name)
        if path is None:
            pytest.skip(f"{name} is not installed")
        return path

    return find


@pytest.fixture(scope="session")
def batch_of() -> Callable[..., Any]:
    """Make a batch of a table from rows that name only some columns.

    What a row does not name is NULL where that is allowed, else zero or an empty text.
    """
    columns = dict(_core.schemas())

    def make(table: str, *rows: dict[str, Any]) -> Any:
        for row in rows:
            assert row.keys() <= {name for name, *_ in columns[table]}, "a column that is not there"
        complete = [
            {
                name: row.get(name, None if nullable else type_defaults.get(kind, 0))
                for name, kind, nullable, _ in columns[table]
            }
            for row in rows
        ]
        schema = pyarrow.table(_core.Rows(table, [])).schema
        return pyarrow.RecordBatch.from_pylist(complete, schema=schema)

    return make


@pytest.fixture
def tcpwhy() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the command line in a process of its own."""

    def run(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "tcpwhy", *map(str, arguments)]
        options = {"text": True, "capture_output": True, "timeout": 60} | options
        return subprocess.run(command, check=False, **options)

    return run


@pytest.fixture(scope="session")
def golden() -> Callable[[str], str]:
    """Read a golden file."""

    def read(name: str) -> str:
        return (ROOT / "tests" / "golden" / name).read_text(encoding="utf-8")

    return read


@pytest.fixture(scope="session")
def same_as_golden(request) -> Callable[[str, str], None]:
    """Compare a text with a golden file, or write the file anew with --new-golden."""

    def compare(name: str, text: str) -> None:
        path = ROOT / "tests" / "golden" / name
        if request.config.getoption("--new-golden"):
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8"), "changed: pytest --new-golden, and read it"

    return compare
