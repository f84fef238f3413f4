"""Verdicts of the analysis against what is known to be true, at every capture of a run."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tcpwhy import vocabulary
from tcpwhy.analysis import analyze
from tcpwhy.lab.numbers import Comparison, compare, data_side
from tcpwhy.lab.run import Run
from tcpwhy.lab.scenario import Expect, Scenario

COLUMNS = ("limitation", "limitation_siekkinen")
"""Verdict columns that are compared, each where it is not NULL."""

NEARLY = 0.9
"""Share of the longest expectation's time from which another one held as long."""


@dataclass
class Score:
    """Answers of one kind at one capture point."""

    right: int = 0
    all: int = 0
    wrong: dict[str, int] = field(default_factory=dict)

    def note(self, given: str, *, is_right: bool) -> None:
        """Count one answer."""
        self.all += 1
        self.right += is_right
        if not is_right:
            self.wrong[given] = self.wrong.get(given, 0) + 1

    @property
    def share(self) -> float | None:
        """Share of right answers; None without any."""
        return self.right / self.all if self.all else None


Scores = dict[tuple[str, str, str], Score]
"""By capture point (sender, middle, receiver), table and column."""


def load(folder: Path, scenario: Scenario) -> Run:
    """Read a run back from its folder."""
    facts = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    ends: dict[tuple[int, str], dict[str, Any]] = {
        (end["flow"], end["side"]): {**end, "samples": [], "failure": None}
        for end in facts["programs"]
    }
    with (folder / "tcp_info.jsonl").open(encoding="utf-8") as file:
        for line in file:
            sample = json.loads(line)
            flow, side = sample.pop("flow"), sample.pop("side")
            ends[flow, side]["samples"].append(sample)
    captures = {name: folder / file for name, file in facts["captures"].items()}
    return Run(
        scenario,
        folder,
        facts["start_ns"],
        facts["emulator"],
        list(ends.values()),
        captures,
        facts["problems"],
        facts.get("tcp_probe", {"failure": "the run is of an earlier version"}),
    )


def check(run: Run) -> tuple[Scores, list[Comparison]]:
    """Analyse the captures of a run and compare."""
    scores: Scores = {}
    comparisons: list[Comparison] = []
    tables: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for flow in run.scenario.flows:
        for point, capture in _points(run, flow.hosts):
            rows = tables.setdefault(capture, {})
            if not rows:
                rows.update(rows_of(run.captures[capture]))
            for expect in run.scenario.expect:
                if expect.flow == flow.number:
                    _compare_verdicts(run, expect, point, rows, scores)
            src = _sender(run, flow.number, backward=data_side(flow) == "backward")
            for row in rows["flows"]:
                if (row["src"], row["src_port"]) == src:
                    comparisons += compare(run, flow, point, row)
    return scores, comparisons


def _points(run: Run, hosts: tuple[str, str]) -> Iterator[tuple[str, str]]:
    """Name the captures that show a flow, by where they stand on its path."""
    yield "sender", hosts[0]
    if "middle" in run.captures:
        yield "middle", "middle"
    yield "receiver", hosts[1]


def rows_of(capture: Path) -> dict[str, list[dict[str, Any]]]:
    """Analyse a capture; its rows by table."""
    result = analyze(capture, table=("flows", "intervals"))
    with result.to_duckdb() as connection:
        rows = {}
        for table in ("flows", "intervals"):
            cursor = connection.execute(f"SELECT * FROM {table}")
            names = [column[0] for column in cursor.description or ()]
            rows[table] = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    return rows


def _sender(run: Run, number: int, *, backward: bool) -> tuple[str, int]:
    """Address and port of who sends a half."""
    flow = run.scenario.flows[number]
    end = int(backward)
    return run.scenario.hosts[flow.hosts[end]], flow.ports[end]


def _compare_verdicts(
    run: Run, expect: Expect, point: str, rows: dict[str, list[dict[str, Any]]], scores: Scores
) -> None:
    src = _sender(run, expect.flow, backward=expect.backward)
    begin, end = (run.start_ns + round(t * 1e9) for t in (expect.from_s, expect.to_s))
    for table, chosen in rows.items():
        for row in chosen:
            if (row["src"], row["src_port"]) != src:
                continue
            if table == "intervals" and not begin <= row["start_ns"] <= row["end_ns"] <= end:
                continue
            held = _held_longest(run.scenario, expect) if table == "flows" else [expect]
            if held[0] is not expect:
                continue
            for column in COLUMNS:
                if (given := row[column]) is not None:
                    score = scores.setdefault((point, table, column), Score())
                    right = any(_is_right(each, column, row) for each in held)
                    score.note(given, is_right=right)


def _is_right(expect: Expect, column: str, row: dict[str, Any]) -> bool:
    if column == "limitation":
        return expect.admits(row["limitation"], row["cause"])
    right = {word.split("/")[0] for word in (expect.limitation, *expect.accept)}
    return vocabulary.is_paper_right(row[column], right)


def _held_longest(scenario: Scenario, expect: Expect) -> list[Expect]:
    """Give the expectations of the whole flow: the longest, and what lasted nearly as long.

    Of two halves of a flow that last equally long, either is what held the longest.
    """
    same = [e for e in scenario.expect if (e.flow, e.backward) == (expect.flow, expect.backward)]
    same.sort(key=lambda e: e.from_s - e.to_s)
    longest = same[0].to_s - same[0].from_s
    return [e for e in same if e.to_s - e.from_s >= NEARLY * longest]
