"""What the stub of the extension says, held against the extension by mypy."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.system


def test_the_stub_says_what_the_extension_has():
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy.stubtest", "tcpwhy._core", "--concise"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr
