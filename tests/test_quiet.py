"""When a failed test on the kernel's clock is asked again."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from quiet import TURNS, Turn, verdict

PASS = Turn(failed=False, late=False)
MISS = Turn(failed=True, late=False)
LATE = Turn(failed=True, late=True)


@pytest.mark.parametrize(
    ("turns", "passes"),
    [
        ([], None),
        ([PASS], True),
        ([MISS], None),
        ([MISS, PASS], None),
        ([MISS, PASS, PASS], True),
        ([MISS, MISS], False),
        ([MISS, PASS, MISS], False),
        ([LATE], None),
        ([LATE, PASS], True),
        ([LATE, MISS, PASS, PASS], True),
        ([LATE] * TURNS, False),
        ([MISS, PASS, *[LATE] * (TURNS - 2)], False),
    ],
)
def test_a_test_needs_more_passes_than_failures_on_a_quiet_machine(turns, passes):
    assert verdict(turns) is passes


def test_a_real_flaw_is_found_however_often_it_is_asked(one_test):
    code, text = one_test("assert False")
    assert code == 1
    assert "1 failed" in text
    assert text.count("ms late; assert False") >= 2


@pytest.mark.parametrize("options", [[], ["--numprocesses", "2"]])
def test_a_single_failure_is_named_in_the_summary(one_test, options):
    code, text = one_test(
        "import pathlib",
        "asked = pathlib.Path(__file__).with_suffix('.asked')",
        "known = asked.exists()",
        "asked.touch()",
        "assert known, 'the first turn'",
        options=options,
    )
    assert code == 0
    assert "1 passed" in text
    assert "ms late; AssertionError: the first turn" in text


@pytest.fixture
def one_test(tmp_path):
    """Run one test in a process of its own, below a folder `system` beside the plugin."""

    def run(*body, options=()):
        shutil.copy(Path(__file__).parent / "quiet.py", tmp_path)
        (tmp_path / "conftest.py").write_text(CONFTEST)
        (tmp_path / "system").mkdir()
        text = "\n    ".join(["def test_one():", *body])
        (tmp_path / "system" / "test_one.py").write_text(text + "\n")
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options, str(tmp_path)],
            cwd=tmp_path,
            # Its lock is not that of the system tests that may run meanwhile.
            env=os.environ | {"TMPDIR": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=60,
        )
        return done.returncode, done.stdout

    return run


CONFTEST = """
pytest_plugins = ["quiet"]

def pytest_configure(config):
    config.addinivalue_line("markers", "system: on the kernel's clock")
"""
