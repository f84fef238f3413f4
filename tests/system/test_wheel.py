"""The wheel in an empty environment: what a person has who has no sources."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCENARIOS = sorted(path.stem for path in (ROOT / "scenarios").glob("*.toml"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """Give the command of an environment with the wheel alone, run in a folder of its own."""
    place = tmp_path_factory.mktemp("empty")
    subprocess.run([sys.executable, "-m", "venv", place], check=True)
    pip = [place / "bin" / "pip", "--quiet", "--disable-pip-version-check", "install", wheel]
    subprocess.run(pip, check=True)
    folder = tmp_path_factory.mktemp("elsewhere")
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def run(*arguments):
        command = [place / "bin" / "tcpwhy", *arguments]
        return subprocess.run(
            command, cwd=folder, env=clean, capture_output=True, text=True, check=True
        )

    return run


def test_the_wheel_lists_every_scenario(installed):
    listed = installed("simulate", "--list").stdout.splitlines()[1:]
    assert [line.split()[0] for line in listed] == SCENARIOS


def test_the_wheel_simulates_a_scenario_by_its_name(installed):
    done = installed("simulate", "rwnd_buffer", "--table", "truth", "--format", "jsonl")
    truths = [json.loads(line) for line in done.stdout.splitlines()]
    assert "receiver_window" in {truth["limit"] for truth in truths}


def test_the_lab_has_them_too(installed):
    listed = installed("lab", "list", "--format", "jsonl").stdout.splitlines()
    assert [json.loads(line)["name"] for line in listed] == SCENARIOS
