"""A run over many captures: what is left to do, who does it, and what came of it."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Any

from tcpwhy._core import UsageError
from tcpwhy.archive.executors import Cluster, Executor, Local
from tcpwhy.archive.inputs import Capture, find
from tcpwhy.archive.task import Outcome, Task, done
from tcpwhy.sinks.store import OPENS, Sink


def analyze_each(
    captures: Iterable[str],
    store: str,
    *,
    tables: Sequence[str] = OPENS.tables,
    processes: int | None = None,
    cluster: str | None = None,
    split: int = 1,
    options: Mapping[str, Any] | None = None,
) -> Generator[Outcome, None, None]:
    """Analyse each capture on its own, many at a time, into one store.

    Args:
        captures: paths, globs, `@LIST` files and URLs (`tcpwhy.archive.find`).
        store: the folder that all processes write to; on a cluster, a path that all have.
        tables: the tables to write.
        processes: how many at a time; as many as there are cores unless given.
        cluster: the address of a Dask scheduler, instead of processes here.
        split: tasks for each capture: each reads all of it, and follows its part of the flows.
        options: options of `tcpwhy.analyze`, the same for each.

    Yields:
        What became of each capture, or of each part of one, as it is known; first those that an
        earlier run did.

    """
    if "://" in store:
        raise UsageError(f"{store}: many captures at a time go to a store, a path without a suffix")
    # Made here, so that what is wrong with it is said once and before anything is read.
    Sink(store, tuple(tables)).close()
    tasks = [
        Task(
            capture,
            os.path.abspath(store),  # noqa: PTH100
            tuple(tables),
            dict(options or {}),
            part,
            split,
        )
        for capture in find(captures)
        for part in range(split)
    ]
    left: list[Task] = []
    for task in tasks:
        if outcome := done(task):
            yield outcome
        else:
            left.append(task)
    if not left:
        return
    # The largest first: otherwise the last one may keep one process busy alone.
    left.sort(key=lambda task: -task.size_bytes)
    executor: Executor = Cluster(cluster) if cluster else Local(processes or _cores())
    try:
        yield from executor.outcomes(left)
    finally:
        executor.close()


def _cores() -> int:
    return len(os.sched_getaffinity(0))


__all__ = ["Capture", "Outcome", "analyze_each"]
