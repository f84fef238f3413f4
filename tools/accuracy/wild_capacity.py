"""The capacity of random worlds: what their rows of `flows` say, beside the slowest link."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from accuracy import scenario, simulated
from accuracy.judged import Capacity

ScenarioOf = Callable[[int], str]
COLUMNS = [
    "src",
    "dst",
    "flow_data_packets",
    "flow_capacity_bps",
    "flow_capacity_unknown",
]
"""Beside those of the intervals."""


def capacities(rows: Iterable[dict[str, Any]], scenario_of: ScenarioOf) -> list[Capacity]:
    """Give the capacity of each direction of the flow that a world is about, at each tap."""
    firsts = {(row["tap"], row["flow_id"], row["direction"]): row for row in rows}
    found = []
    for row in firsts.values():
        slowest = _slowest(scenario_of, row["world"]).get((row["src"], row["dst"]))
        if slowest is not None and row["flow_data_packets"] >= simulated.CAPACITY_PACKETS:
            measured = (row["flow_capacity_bps"], row["flow_capacity_unknown"])
            found.append(Capacity(str(row["world"]), row["tap"], slowest, *measured))
    return found


@cache
def _slowest(scenario_of: ScenarioOf, seed: int) -> dict[tuple[str, str], float]:
    """Give the rate of the slowest link by source and destination, where none varies."""
    spec = tomllib.loads(scenario_of(seed))
    # Hosts have addresses in the order of their names.
    address = {host: f"10.0.0.{number}" for number, host in enumerate(sorted(spec["hosts"]), 1)}
    flow = spec["flows"][0]
    ends = address[flow["from"]], address[flow["to"]]
    found = {}
    for backward, way in ((False, ends), (True, ends[::-1])):
        server = scenario.bottleneck(spec, 0, backward)
        if server is not None:
            found[way] = server.rate_bps
    return found
