"""Whether a capture shows the link that comes next, or would be the same with a faster one.

The run is made again with the narrow link twice as fast. The gaps between the packets of a flow
are compared, and those between acknowledgements. Where they stay as they were, nobody can tell the
one link from the other by the capture.
"""

from __future__ import annotations

import copy
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

import tcpwhy
from accuracy.scenario import Case
from kernel_worlds import frames

Gaps = list[np.ndarray]
"""Sorted, in ns: those of the data, and those of what comes back."""


def taps(case: Case, flow: frames.Key, asked: list[str]) -> set[str]:
    """Give those of the taps asked for at which the captures of a case do not show the link."""
    now, faster = gaps(case, flow, asked), gaps(with_faster_link(case), flow, asked)
    return {tap for tap in asked if all(map(is_alike, now[tap], faster[tap]))}


def with_faster_link(case: Case) -> Case:
    """Double the rates of the link with the slowest one."""
    spec = copy.deepcopy(case.spec)
    by_link = {
        name: [e[kind] for e in link["forward"] for kind in ("rate", "shaper") if kind in e]
        for name, link in spec["links"].items()
    }
    slowest = {
        name: min(element["rate_bps"] for element in found)
        for name, found in by_link.items()
        if found
    }
    for element in by_link[min(slowest, key=lambda name: slowest[name])]:
        element["rate_bps"] *= 2
    return replace(case, spec=spec)


def gaps(case: Case, flow: frames.Key, asked: list[str]) -> dict[str, Gaps]:
    """Give the gaps between packets at each tap asked for.

    Raises:
        KeyError: A tap saw nothing of the flow's data.

    """
    src, src_port, dst, dst_port = flow
    with tempfile.TemporaryDirectory() as folder:
        run = tcpwhy.simulate(case.write(Path(folder)), captures=folder)
        for table in run.tables:
            run.to_arrow(table)
        found = {tap: frames.passed(Path(run.captures[tap])) for tap in asked}
    times = {
        tap: (seen[flow][0], seen.get((dst, dst_port, src, src_port), ([], []))[0])
        for tap, seen in found.items()
    }
    return {tap: [np.sort(np.diff(way)) for way in ways] for tap, ways in times.items()}


def is_alike(one: np.ndarray, other: np.ndarray) -> bool:
    """Tell whether two samples have one distribution, but for `SHIFT` and `APART` (Lévy 1937)."""
    return max(_ahead(one, other), _ahead(other, one)) <= APART


def _ahead(one: np.ndarray, other: np.ndarray) -> float:
    """By how much more of `one` lies below a gap than of `other` below one that is a bit longer."""
    at = np.concatenate([one, other / SHIFT])
    below = np.searchsorted(one, at, "right") / max(len(one), 1)
    longer = np.searchsorted(other, at * SHIFT, "right") / max(len(other), 1)
    return float(np.max(below - longer, initial=0.0))


SHIFT = 1.05
"""A longer or shorter round trip alone moves gaps by less."""
APART = 0.02
"""Of all gaps: a link that shows moves 5 % of them and more, chance 1 % at most."""
