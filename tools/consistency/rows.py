"""The rows that are held against the rules: of captures, and of random worlds at all taps."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

import duckdb
import pyarrow as pa

import tcpwhy
from tcpwhy import worlds

TABLES = ("flows", "intervals", "periods")


@dataclass
class Found:
    """Tables with the columns `origin` and `tap` before their own."""

    tables: dict[str, list[pa.Table]] = field(default_factory=dict)
    captures: int = 0
    worlds: int = 0
    unreadable: list[str] = field(default_factory=list)

    def add(self, origin: str, tap: str, tables: Mapping[str, pa.Table]) -> None:
        """Take the tables of one capture, or of a world at one tap."""
        for table, rows in tables.items():
            words = {"origin": origin, "tap": tap}
            for at, (name, word) in enumerate(words.items()):
                rows = rows.add_column(at, name, pa.array([word] * len(rows), pa.string()))
            self.tables.setdefault(table, []).append(rows)

    def merge(self, other: Found) -> None:
        """Take what another one found."""
        for table, parts in other.tables.items():
            self.tables.setdefault(table, []).extend(parts)
        self.captures += other.captures
        self.worlds += other.worlds
        self.unreadable += other.unreadable

    def connect(self) -> duckdb.DuckDBPyConnection:
        """Open a database with the tables in it."""
        connection = duckdb.connect()
        for table, parts in self.tables.items():
            rows = pa.concat_tables(parts, promote_options="default")
            connection.register("arrived", rows)
            connection.execute(f"CREATE TABLE {table} AS SELECT * FROM arrived")
            connection.unregister("arrived")
        return connection


def of_captures(paths: Sequence[Path], workers: int | None = None) -> Found:
    """Analyse captures on several processes."""
    found = Found()
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for path, tables in zip(paths, pool.map(of_capture, paths, chunksize=4), strict=True):
            if tables is None:
                found.unreadable.append(path.name)
                continue
            found.captures += 1
            found.add(path.name, path.name, tables)
    return found


def of_capture(path: Path) -> dict[str, pa.Table] | None:
    """Analyse one capture; nothing if it cannot be read at all."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tcpwhy.DamagedInputWarning)
        try:
            result = tcpwhy.analyze(path, table=TABLES, workers=1)
            return {table: result.to_arrow(table) for table in TABLES}
        except tcpwhy.InputError:
            return None


def of_worlds(seeds: Iterable[int], workers: int | None = None) -> Found:
    """Run worlds on several processes."""
    found = Found()
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for world, by_tap in pool.map(of_world, seeds, chunksize=4):
            found.worlds += 1
            for tap, tables in by_tap.items():
                found.add(world, tap, tables)
    return found


def of_world(seed: int) -> tuple[str, dict[str, dict[str, pa.Table]]]:
    """Run one world; give its tables by tap, the truth beside the intervals."""
    by_tap = worlds.tables(worlds.name(seed), worlds.scenario(seed))
    for tables in by_tap.values():
        answers = tables.pop("answers", None)
        if answers is not None:
            truth = answers.column("true_limitations")
            tables["intervals"] = tables["intervals"].append_column("true_limitations", truth)
    return worlds.name(seed), by_tap


def captures(folder: Path) -> list[Path]:
    """Find captures in a folder: what the manifest lists, or what a name says."""
    names = ("*.pcap", "*.pcapng", "*.gz", "*.xz", "*.ntar")
    return sorted(path for name in names for path in folder.rglob(name))
