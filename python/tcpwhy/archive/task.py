"""One capture, in whichever process it is analysed."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tcpwhy._core import InputError, UsageError
from tcpwhy.analysis import analyze
from tcpwhy.archive.inputs import Capture, local_path
from tcpwhy.sinks import Run
from tcpwhy.sinks.store import Sink

NOTES = "captures"
"""Folder of a store with a note for each capture that is done."""


@dataclass(frozen=True)
class Task:
    """A capture to be analysed into a store; it travels to other processes."""

    capture: Capture
    store: str
    tables: tuple[str, ...]
    options: dict[str, Any]
    part: int = 0
    parts: int = 1
    """Of how many parts of the flows this is one, by a hash of their ends."""

    @property
    def size_bytes(self) -> int:
        """What it weighs: the capture, shared by its parts."""
        return self.capture.size_bytes // self.parts

    @property
    def key(self) -> str:
        """The same for the same content, options and tables."""
        said: list[Any] = [*self.capture, sorted(self.tables), sorted(self.options.items())]
        said += [self.part, self.parts] if self.parts > 1 else []
        return hashlib.sha256(json.dumps(said, default=str).encode()).hexdigest()[:32]

    @property
    def note(self) -> Path:
        """Where it is noted what was done with this capture last."""
        name = hashlib.sha256(self.capture.name.encode()).hexdigest()[:32]
        part = f".{self.part}-{self.parts}" if self.parts > 1 else ""
        return Path(self.store, NOTES, f"{name}{part}.json")

    @property
    def begun(self) -> Path:
        """There while it is under way, and after it was cut off."""
        return self.note.with_suffix(".begun")


@dataclass(frozen=True)
class Outcome:
    """What became of a capture."""

    name: str
    size_bytes: int
    counters: dict[str, int] = field(default_factory=dict)
    damage: str | None = None
    """What was wrong with it; rows found before are in the store."""
    done_before: bool = False
    """An earlier run did it: nothing was read."""
    part: int = 0
    """Of a capture that was split."""


def done(task: Task) -> Outcome | None:
    """Give what an earlier run noted, if it did this task."""
    try:
        said = json.loads(task.note.read_text("utf-8"))
        if said.pop("key") != task.key:
            return None
        return Outcome(**{**said, "done_before": True})
    except (OSError, ValueError, TypeError, LookupError):
        return None


def run(task: Task) -> Outcome:
    """Analyse one capture; only what is wrong with the store or an option is raised."""
    capture = task.capture
    try:
        with local_path(capture.name) as path:
            outcome = _pour(task, path)
    except UsageError:
        raise
    except InputError as error:
        outcome = Outcome(capture.name, task.size_bytes, damage=str(error), part=task.part)
    unfinished = task.note.with_suffix(".tmp")
    unfinished.write_text(json.dumps({"key": task.key, **asdict(outcome)}), "utf-8")
    unfinished.replace(task.note)
    task.begun.unlink(missing_ok=True)
    return outcome


def _pour(task: Task, path: str) -> Outcome:
    is_new = not (task.note.exists() or task.begun.exists())
    task.begun.parent.mkdir(parents=True, exist_ok=True)
    task.begun.touch()
    # Of a new capture no flow is in the store: nothing there has to be looked through for it.
    sink = Sink(task.store, task.tables, Run(live=is_new))
    counters: dict[str, int] = {}
    try:
        options = dict(task.options)
        if task.parts > 1:
            options["part"] = f"{task.part}/{task.parts}"
        result = analyze(path, table=task.tables, workers=1, **options)
        for table, batch in result.batches():
            if table == "counters":
                counters = _counted(batch)
            if table in sink.capabilities.tables:
                sink.write(table, batch)
    finally:
        sink.close()
    damage = "; ".join(map(str, result.damage)) or None
    return Outcome(task.capture.name, task.size_bytes, counters, damage, part=task.part)


def _counted(batch: Any) -> dict[str, int]:
    import duckdb

    with duckdb.connect() as connection:
        connection.register("batch", batch)
        return dict(connection.execute("SELECT name, value FROM batch").fetchall())
