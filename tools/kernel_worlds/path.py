"""What the emulated path did: how busy its links were and with whose bytes, and what it dropped."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import duckdb

from tcpwhy import _core
from tcpwhy.lab.scenario import Scenario

REACH_NS = 10_000_000_000
"""How long before an interval a loss may lie that still holds the sender back."""
Events = list[tuple[str, str, int]]


class Look(NamedTuple):
    """Totals of an element since the start."""

    at_ns: int
    busy_ns: int
    sent_bytes: int


class Paths:
    """The record of the emulator of one run."""

    def __init__(self, folder: Path, routes: dict[int, list[str]]) -> None:
        self.routes = routes
        self._looks: dict[str, dict[int, list[Look]]] = {}
        queues = duckdb.read_parquet(str(folder / "queues.parquet"))
        rows = queues.order("at_ns").project("link, element, at_ns, busy_ns, sent_bytes")
        for link, element, *look in rows.fetchall():
            self._looks.setdefault(link, {}).setdefault(element, []).append(Look(*look))
        events = duckdb.read_parquet(str(folder / "events.parquet"))
        self._events: dict[int, list[tuple[int, str, str]]] = {}
        for half, *event in (
            events.filter("half IS NOT NULL")
            .order("at_ns")
            .project("half, at_ns, action, reason")
            .fetchall()
        ):
            self._events.setdefault(half, []).append((event[0], event[1], event[2]))

    def servers(
        self, half: int, start_ns: int, end_ns: int, own_bytes: float
    ) -> list[tuple[float, float]]:
        """Give for each element of the way the share of busy time and of others' bytes."""
        found = []
        for link in self.routes[half]:
            alone = sum(link in route for route in self.routes.values()) == 1
            for looks in self._looks.get(link, {}).values():
                busy, sent = (_at(looks, end_ns, i) - _at(looks, start_ns, i) for i in (1, 2))
                others = 0.0 if alone or not sent else max(0.0, 1 - own_bytes / sent)
                found.append((busy / (end_ns - start_ns), others))
        return found

    def events(self, half: int, start_ns: int, end_ns: int) -> tuple[Events, Events]:
        """Count what elements did to the packets of a half, in the interval and before."""
        mine = self._events.get(half, [])
        first, begin, end = (
            bisect_left(mine, at, key=lambda event: event[0])
            for at in (start_ns - REACH_NS, start_ns, end_ns)
        )
        return _counted(mine[begin:end]), _counted(mine[first:begin])


def _counted(events: list[tuple[int, str, str]]) -> Events:
    counts = Counter(event[1:] for event in events)
    return [(action, reason, count) for (action, reason), count in counts.items()]


def _at(looks: list[Look], at_ns: int, column: int) -> float:
    """Interpolate a total."""
    after = bisect_right(looks, at_ns, key=lambda look: look.at_ns)
    if not 0 < after < len(looks):
        return float(looks[max(0, after - 1)][column])
    a, b = looks[after - 1], looks[after]
    share = (at_ns - a.at_ns) / max(1, b.at_ns - a.at_ns)
    return a[column] + share * (b[column] - a[column])


def routes(world: Scenario) -> dict[int, list[str]]:
    """Give the links of each half, by the numbers of the emulator: UDP sources follow the flows."""
    entries = [entry for entry, *_ in _core.scenario_names(world.path)["flows"]]
    found = {}
    for number, entry in enumerate(entries):
        path = world.raw["flows"][entry]["path"]
        found[2 * number] = [f"{link}/forward" for link in path]
        found[2 * number + 1] = [f"{link}/backward" for link in path]
    for number, source in enumerate(world.raw.get("udp", ())):
        found[2 * len(entries) + number] = [f"{link}/forward" for link in source["path"]]
    return found
