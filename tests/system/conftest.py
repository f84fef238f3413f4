"""What several system tests share: the wheel that is published."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROFILE = os.environ.get("TCPWHY_WHEEL_PROFILE", "release")


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """Build the wheel that is published."""
    pytest.importorskip("maturin", reason="wheels are built by maturin: pip install maturin")
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "maturin", "build", "--quiet", "--locked"]
    subprocess.run([*command, "--profile", PROFILE, "--out", folder], cwd=ROOT, check=True)
    (built,) = folder.glob("*.whl")
    return built
