"""Where tasks run: in a pool of processes here, or on a Dask cluster.

An executor takes tasks and gives outcomes as they come. A process that dies costs its own tasks
only: they are given to another one, up to `TRIES` times.
"""

from __future__ import annotations

import multiprocessing
import warnings
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Protocol

from tcpwhy._core import UsageError
from tcpwhy.archive.task import Outcome, Task, run
from tcpwhy.extras import require

TRIES = 3
CONNECT_S = 10
AHEAD = 4
"""Tasks for each process that are handed out before they are needed."""


class Executor(Protocol):
    """Runs tasks, in any order."""

    def outcomes(self, tasks: Sequence[Task]) -> Iterator[Outcome]:
        """Give what became of each task, as it is known."""

    def close(self) -> None:
        """Leave what is under way, and free what was taken."""


class Local:
    """Processes of this machine; one that dies is replaced."""

    def __init__(self, processes: int) -> None:
        self._processes = processes
        self._pool = self._fresh()

    def _fresh(self) -> ProcessPoolExecutor:
        # A fork of a process with threads may hang; a server that has none forks for us.
        context = multiprocessing.get_context("forkserver")
        return ProcessPoolExecutor(self._processes, mp_context=context)

    def outcomes(self, tasks: Sequence[Task]) -> Iterator[Outcome]:
        """Give what became of each task; see `Executor`."""
        waiting = list(reversed(tasks))
        tries: dict[str, int] = {}
        under_way: dict[Future[Outcome], Task] = {}
        while waiting or under_way:
            while waiting and len(under_way) < self._processes * AHEAD:
                task = waiting.pop()
                under_way[self._pool.submit(run, task)] = task
            ended, _ = wait(under_way, return_when=FIRST_COMPLETED)
            broken = []
            for future in ended:
                task = under_way.pop(future)
                try:
                    yield future.result()
                except BrokenProcessPool:
                    broken.append(task)
            if not broken:
                continue
            # The pool does not say which task killed its process: one at a time will tell.
            again = [*broken, *under_way.values()]
            under_way.clear()
            self._pool = self._fresh()
            yield from self._one_by_one(again, tries)

    def _one_by_one(self, tasks: Iterable[Task], tries: dict[str, int]) -> Iterator[Outcome]:
        for task in tasks:
            while True:
                try:
                    yield self._pool.submit(run, task).result()
                    break
                except BrokenProcessPool:
                    self._pool = self._fresh()
                    tries[task.key] = tries.get(task.key, 0) + 1
                    if tries[task.key] >= TRIES:
                        yield _given_up(task)
                        break

    def close(self) -> None:
        """Leave what is under way; see `Executor`."""
        self._pool.shutdown(wait=True, cancel_futures=True)


class Cluster:
    """Workers of a Dask cluster; each needs tcpwhy installed and a path to the store."""

    def __init__(self, address: str) -> None:
        self._distributed = require("distributed", extra="dask")
        try:
            with warnings.catch_warnings():
                # A worker needs tcpwhy and nothing else: packages that it lacks are no defect.
                kind = require("distributed.versions", extra="dask").VersionMismatchWarning
                warnings.simplefilter("ignore", kind)
                self._client: Any = self._distributed.Client(
                    address, timeout=CONNECT_S, set_as_default=False
                )
        except (OSError, ValueError, TimeoutError) as error:
            raise UsageError(
                f"no Dask scheduler at {address}: start one with dask scheduler, or check the"
                f" address ({error})"
            ) from error

    def outcomes(self, tasks: Sequence[Task]) -> Iterator[Outcome]:
        """Give what became of each task; see `Executor`."""
        by_key = {task.key: task for task in tasks}
        futures = self._client.map(
            run, list(by_key.values()), key=list(by_key), retries=TRIES - 1, pure=False
        )
        killed = self._distributed.KilledWorker
        with self._client.as_current():
            completed = self._distributed.as_completed(futures)
        for future in completed:
            try:
                yield future.result()
            except killed:
                yield _given_up(by_key[future.key])
            future.release()

    def close(self) -> None:
        """Leave the cluster as it is; see `Executor`."""
        self._client.close()


def _given_up(task: Task) -> Outcome:
    said = f"{task.capture.name}: {TRIES} processes died with it; analyse it alone to see why"
    return Outcome(task.capture.name, task.size_bytes, damage=said, part=task.part)
