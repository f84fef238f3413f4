"""Records worlds in the lab's network namespaces: captures, clocks, and the log of the path."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from kernel_worlds import adapted, plain
from tcpwhy._core import TcpwhyError
from tcpwhy.lab import run as lab
from tcpwhy.lab import scenario

SAMPLE_S = 0.01
"""How often the kernel is asked what holds a sender back: some round trips of a long path."""
REALTIME_PRIORITY = 5
PATIENCE_S = 180


def record(seed: int, folder: Path) -> str | None:
    """Record one world; None, or why it does not count."""
    target = folder / f"{seed}"
    path = folder / f"world-{seed}.toml"
    text = plain.text(seed) if plain.is_plain(seed) else adapted.text(seed)
    path.write_text(text, "utf-8")
    try:
        with undisturbed():
            run = lab.run(scenario.load(path), target, sample_s=SAMPLE_S)
    except TcpwhyError as error:
        return str(error)
    return run.problems[0] if run.problems else None


def record_all(seeds: Iterable[int], folder: Path, workers: int) -> Iterator[tuple[int, str]]:
    """Record what is missing, several at once, each in a process of its own with its own end.

    Yields:
        Seeds that do not count, with the reason, also of earlier calls.

    """
    folder.mkdir(parents=True, exist_ok=True)
    waiting = [seed for seed in seeds if not (folder / f"{seed}.json").exists()]
    running: dict[int, subprocess.Popen[bytes]] = {}
    while waiting or running:
        while waiting and len(running) < workers:
            seed = waiting.pop(0)
            command = [sys.executable, "-m", "kernel_worlds", "one", str(seed), str(folder)]
            running[seed] = subprocess.Popen(["timeout", str(PATIENCE_S), *command])
        os.wait()
        for seed, process in list(running.items()):
            if process.poll() is not None:
                del running[seed]
                _note(folder, seed, process.returncode)
    for seed in seeds:
        if why := json.loads((folder / f"{seed}.json").read_text("utf-8"))["failure"]:
            yield seed, why


def one(seed: int, folder: Path) -> None:
    """Record a world in this process and note how it went."""
    _write(folder, seed, record(seed, folder))


def _note(folder: Path, seed: int, code: int) -> None:
    if not (folder / f"{seed}.json").exists():
        _write(folder, seed, f"it ended with {code}")


def _write(folder: Path, seed: int, failure: str | None) -> None:
    (folder / f"{seed}.json").write_text(json.dumps({"failure": failure}), "utf-8")
    if failure:
        shutil.rmtree(folder / f"{seed}", ignore_errors=True)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Run before all other work, where that is allowed."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(REALTIME_PRIORITY))
    except PermissionError:
        yield
        return
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
