"""What `bench.py` measures on, and whether its processor counts instructions."""

from __future__ import annotations

import datetime
import functools
import os
import platform
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]
PERF = ("perf", "stat", "-x,", "-e", "instructions:u")


@functools.cache
def counts_instructions() -> bool:
    """Whether the processor counts the instructions of a program."""
    try:
        said = subprocess.run([*PERF, "true"], capture_output=True, text=True, check=False).stderr
    except OSError:
        return False
    return bool(re.search(r"^\d+,", said, re.MULTILINE))


def machine() -> str:
    """What this was measured on."""
    about = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    model = re.search(r"model name\s*: (.*)", about)
    name = model[1] if model else platform.machine()
    return f"{os.cpu_count()} cores, {name}, {platform.system()} {platform.release()}"


def commit() -> str:
    """What was measured."""
    asked = ["git", "describe", "--always", "--dirty"]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def today() -> str:
    """When."""
    return datetime.datetime.now(tz=datetime.UTC).date().isoformat()
