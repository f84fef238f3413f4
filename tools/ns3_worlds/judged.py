"""What the analysis says of each interval of a world in ns-3, beside what is true."""

from __future__ import annotations

import csv
import subprocess
import tempfile
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import tcpwhy
from ns3_worlds import draw
from tcpwhy import _core

SAMPLE_S = 0.005
BEFORE_NS = 10_000_000_000
"""How long before an interval a loss, or a full window, may still hold the sender back."""
TAPS = ("sender", "middle", "receiver")
PORT = 5001
PATIENCE_S = 300


def run(program: Path, seed: int, folder: Path) -> None:
    """Run the world of a seed."""
    folder.mkdir(parents=True, exist_ok=True)
    words = [f"{key}={value}" for key, value in draw.world(seed).items()]
    subprocess.run([program, folder, *words], check=True, timeout=PATIENCE_S)


def of_worlds(program: Path, seeds: Iterable[int], workers: int) -> Iterator[list[dict[str, Any]]]:
    """Run worlds, some at once, and give the rows of each."""

    def one(seed: int) -> list[dict[str, Any]]:
        with tempfile.TemporaryDirectory(prefix="tcpwhy-ns3-") as folder:
            run(program, seed, Path(folder))
            return [{"world": seed, **row} for row in judged(Path(folder), draw.world(seed))]

    with ThreadPoolExecutor(workers) as pool:
        yield from pool.map(one, seeds)


def judged(folder: Path, world: draw.World) -> Iterator[dict[str, Any]]:
    """Give the intervals of the data's directions at all taps, each with what is true of it."""
    truth = Truth(folder, world)
    for tap in TAPS:
        rows = tcpwhy.analyze(folder / f"{tap}.pcap", table=["intervals"], workers=1)
        for row in rows.to_polars("intervals").to_dicts():
            flow = row["dst_port"] - PORT
            if 0 <= flow < truth.flows:
                yield {"tap": tap, **row, **truth.between(flow, row["start_ns"], row["end_ns"])}


class Truth:
    """The record of a world."""

    def __init__(self, folder: Path, world: draw.World) -> None:
        self.flows = int(world["flows"])
        self._is_shaper = world["queue"] == "tbf"
        self._states: dict[int, list[dict[str, Any]]] = defaultdict(list)
        for row in _rows(folder / "state.csv"):
            self._states[int(row["flow"])].append(row | {"at": int(row["at_ns"])})
        self._events: dict[int, list[tuple[int, str, str]]] = defaultdict(list)
        for row in _rows(folder / "events.csv"):
            event = (int(row["at_ns"]), row["action"], row["reason"])
            self._events[int(row["half"])].append(event)
        self._totals: dict[str, list[list[float]]] = defaultdict(list)
        for line in (folder / "links.csv").read_text("utf-8").splitlines():
            at, name, *numbers = line.split(",")
            self._totals[name].append([float(at), *map(float, numbers)])

    def between(self, flow: int, start_ns: int, end_ns: int) -> dict[str, Any]:
        """Tell what held a flow back between two times."""
        if end_ns <= start_ns:
            return {"true_limitations": None, "untellable": "shorter than half a second"}
        time_s, srtt_s, inflation = self._held(flow, start_ns, end_ns)
        names = ["near", "narrow", "far", *(["shaper"] if self._is_shaper else [])]
        servers = [self._server(name, 2 * flow, start_ns, end_ns) for name in names]
        events = self._events[2 * flow]
        first, begin, end = (
            bisect_left(events, at, key=lambda event: event[0])
            for at in (start_ns - BEFORE_NS, start_ns, end_ns)
        )
        limitation, cause, right, why = _core.answer(
            length_s=(end_ns - start_ns) / 1e9,
            time_s=time_s,
            srtt_s=srtt_s,
            inflation=inflation,
            servers=servers,
            returning_busy=self._server("back", 2 * flow + 1, start_ns, end_ns)[0],
            losses=_counted(events[begin:end]),
            before=_counted(events[first:begin]),
        )
        return {
            "true_limitation": limitation,
            "true_cause": cause,
            "true_limitations": " ".join(right) or None,
            "untellable": why,
            "link_busy": max(servers)[0],
            "link_others": max(servers)[1],
            "true_time": str({name: round(seconds, 2) for name, seconds in time_s.items()}),
            "true_losses": str(_counted(events[begin:end])),
        }

    def _held(
        self, flow: int, start_ns: int, end_ns: int
    ) -> tuple[dict[str, float], float | None, float | None]:
        """Share out the time; the smoothed round-trip time; its mean over the least."""
        states = self._states[flow]
        early, first, last = (
            bisect_left(states, at, key=lambda state: state["at"])
            for at in (start_ns - BEFORE_NS, start_ns, end_ns)
        )
        held = {state["limit"] for state in states[early:last]}
        time_s: defaultdict[str, float] = defaultdict(float)
        mine = states[first:last]
        for state in mine:
            pacing, _, phase = state["limit"].partition("/")
            name = phase or pacing
            if phase and state["near"] in held:
                name = state["near"]
                time_s["paced_at_window"] += SAMPLE_S
            time_s[name] += SAMPLE_S
            time_s["both_windows"] += SAMPLE_S * (state["both"] == "1")
        srtts = [float(state["srtt_s"]) for state in mine]
        least_s = sum(float(state["least_s"]) for state in mine)
        inflation = sum(srtts) / least_s if least_s else None
        return dict(time_s), (srtts[-1] or None) if srtts else None, inflation

    def _server(self, name: str, half: int, start_ns: int, end_ns: int) -> tuple[float, float]:
        """Give the share of time in which a link was sending, and of its bytes those of others."""
        looks = self._totals[name]
        if not looks:
            return 0.0, 0.0
        a, b = (
            looks[min(bisect_left(looks, at, key=lambda look: int(look[0])), len(looks) - 1)]
            for at in (start_ns, end_ns)
        )
        busy = (b[1] - a[1]) * 1e9 / max(1.0, b[0] - a[0])
        sent = b[2] - a[2]
        return min(busy, 1.0), 1 - (b[3 + half] - a[3 + half]) / sent if sent else 0.0


def _rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        yield from csv.DictReader(file)


def _counted(events: list[tuple[int, str, str]]) -> list[tuple[str, str, int]]:
    counts = Counter(event[1:] for event in events)
    return [(action, reason, count) for (action, reason), count in counts.items()]
