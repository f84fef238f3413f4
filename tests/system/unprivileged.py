"""Running the command line as somebody without any privilege."""

import os
import shutil
import subprocess
import sys

import pytest

NOBODY = 65534
SETPRIV = (
    "--reuid=65534",
    "--regid=65534",
    "--clear-groups",
    "--bounding-set=-all",
    "--inh-caps=-all",
)


def command(*arguments: object) -> list[str]:
    """Give the command that runs `tcpwhy` as nobody, or skip the test where that cannot be.

    The interpreter of a developer often lies where only they may read; then the system's is taken,
    if it is the same release.
    """
    setpriv = shutil.which("setpriv")
    if os.geteuid() != 0 or setpriv is None:
        pytest.skip("becoming somebody else needs root and setpriv")
    for python in (sys.executable, "/usr/bin/python3"):
        start = [setpriv, *SETPRIV, "/usr/bin/env", f"PYTHONPATH={':'.join(sys.path)}", python]
        look = [*start, "-c", "import tcpwhy, click, duckdb, sys; print(sys.version_info[:2])"]
        done = subprocess.run(look, capture_output=True, text=True, cwd="/", check=False)
        if done.stdout.strip() == str(sys.version_info[:2]):
            return [*start, "-m", "tcpwhy", *map(str, arguments)]
    pytest.skip("no Python here can be run by nobody")


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run `tcpwhy` as nobody."""
    line = command(*arguments)
    return subprocess.run(line, capture_output=True, text=True, cwd="/", timeout=60, check=False)
