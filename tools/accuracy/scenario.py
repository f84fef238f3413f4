"""Scenarios as data: read, edited, scaled, and asked for what lies on a path."""

from __future__ import annotations

import copy
import math
import random
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import tomli_w

Spec = dict[str, Any]
"""A scenario file as parsed."""


@dataclass(frozen=True)
class Case:
    """A scenario to run."""

    name: str
    """The scenario's, the same for all its variants."""
    group: str
    """`scenarios` for one as it is in the repository, `held out` for a variant."""
    variant: str
    """What was changed, in words."""
    spec: Spec

    def write(self, folder: Path) -> Path:
        """Write the scenario into a folder."""
        path = folder / f"{self.name}.toml"
        path.write_bytes(tomli_w.dumps(self.spec).encode())
        return path

    @property
    def expects(self) -> list[Spec]:
        """What is true, span by span."""
        return list(self.spec.get("expect", []))


class Server(NamedTuple):
    """An element that serves packets at a rate."""

    link: str
    """With its direction, as the simulator's tables name it."""
    element: int
    rate_bps: float


def read_all(folder: Path) -> list[Case]:
    """The scenarios of a folder as they are."""
    paths = sorted(folder.glob("*.toml"))
    return [Case(path.stem, "scenarios", "", tomllib.loads(path.read_text())) for path in paths]


def flows(spec: Spec) -> list[Spec]:
    """The flows, repeated ones counted out."""
    return [flow for flow in spec["flows"] for _ in range(flow.get("count", 1))]


def elements(spec: Spec, flow: int, backward: bool) -> Iterator[tuple[str, int, str, Spec]]:
    """What a flow's packets meet: link, position, kind, settings."""
    path = flows(spec)[flow]["path"]
    for name in reversed(path) if backward else path:
        link = spec["links"][name]
        direction = "backward" if backward else "forward"
        for position, element in enumerate(link.get(direction, link["forward"])):
            for kind, settings in element.items():
                yield f"{name}/{direction}", position, kind, settings


def bottleneck(spec: Spec, flow: int, backward: bool) -> Server | None:
    """The slowest server of the path; none when there is no server, or one whose rate varies."""
    servers = []
    for link, position, kind, settings in elements(spec, flow, backward):
        if kind in _VARYING:
            return None
        if kind in ("rate", "shaper"):
            servers.append(Server(link, position, settings["rate_bps"]))
    return min(servers, key=lambda server: server.rate_bps, default=None)


def sharers(spec: Spec, flow: int, link: str) -> int:
    """How many other senders use a link."""
    name = link.split("/")[0]
    others = [other for number, other in enumerate(flows(spec)) if number != flow]
    return sum(name in sender["path"] for sender in [*others, *spec.get("udp", [])])


def scaled(spec: Spec, rates: float, times: float) -> Spec:
    """All rates and all times multiplied, and all sizes by the product of both.

    A path and its windows keep their proportions: what limits the original limits the copy, as far
    as TCP's own times (delayed acknowledgements, timers) and sizes (segments) do not matter. Loss
    probabilities fall with the square of the sizes, as cwnd grows with the root of their inverse.
    Durations never shrink: a shorter round trip only means more of them.
    """
    sizes = rates * times
    factors = (
        dict.fromkeys(_RATES, rates)
        | dict.fromkeys(_SIZES, sizes)
        | dict.fromkeys(_TIMES, times)
        | dict.fromkeys(_SPANS, max(times, 1.0))
        | dict.fromkeys(_LOSSES, sizes**-2)
        | {"frequencies_hz": 1 / times, "opportunities_ms": 1 / rates}
    )
    copied: Spec = _scale(spec, factors)
    return copied


def _scale(node: Any, factors: dict[str, float], key: str = "") -> Any:
    if isinstance(node, dict):
        if "interval_ms" in node and "write_bytes" in node:
            # A small write stays small.
            factors = {**factors, "write_bytes": 1.0}
        return {name: _scale(value, factors, name) for name, value in node.items()}
    if isinstance(node, list):
        return [_scale(value, factors, key) for value in node]
    if key not in factors or isinstance(node, bool | str):
        return node
    value = node * factors[key]
    if key in _LOSSES:
        return min(value, 0.2)
    whole = key in _SIZES or key in _RATES or key == "opportunities_ms"
    return max(1, round(value)) if whole else round(value, 6)


def held_out(case: Case, draw: int, each: int) -> Iterator[Case]:
    """Variants of a scenario that nobody looks at when thresholds are chosen.

    A third has another seed only. A third has the same windows on a faster and nearer or slower and
    farther path, and a third also larger or smaller windows.
    """
    for number in range(each):
        chance = random.Random(f"{draw}/{case.name}/{number}")
        rates, times = 1.0, 1.0
        if number % 3:
            rates = _around_one(chance, 3.0)
            times = 1 / rates if number % 3 == 1 else _around_one(chance, 2.0)
        spec = scaled(case.spec, rates, times) if number % 3 else copy.deepcopy(case.spec)
        spec["seed"] = chance.randrange(2, 2**31)
        accept_small_windows(spec)
        words = f"rates × {rates:.2f}, times × {times:.2f}, seed {spec['seed']}"
        yield Case(case.name, "held out", words, spec)


def accept_small_windows(spec: Spec) -> None:
    """As `rwnd_buffer_lan` does: a window that needs no scaling is not told from one without."""
    counted = flows(spec)
    for expect in spec.get("expect", []):
        peer = counted[expect.get("flow", 0)].get("peer_tcp", {})
        buffer_bytes = peer.get("receive_buffer_bytes", UNSCALED_BYTES)
        if expect.get("cause") == "receiver_window/buffer" and buffer_bytes < 2 * UNSCALED_BYTES:
            accept = expect.setdefault("accept", [])
            accept.append("receiver_window/no_window_scaling")


def _around_one(chance: random.Random, most: float) -> float:
    return math.exp(chance.uniform(-math.log(most), math.log(most)))


UNSCALED_BYTES = 65_536
"""No window is larger without scaling (RFC 7323); half of a receive buffer is advertised."""
_VARYING = ("trace", "wifi", "walk")
_RATES = ("rate_bps", "min_bps", "max_bps", "pacing_rate_bps", "rate_pps", "mean_pps")
_TIMES = (
    "delay_ms interval_ms think_ms serve_ms jitter_ms hold_ms on_ms off_ms rto_min_ms gap_ms "
    "step_ms"
).split()
_SPANS = "duration_s start_s stop_s stagger_s from_s to_s for_s pauses_s".split()
_SIZES = (
    "limit_packets mark_packets min_packets max_packets burst_bytes chunk_bytes response_bytes "
    "bytes write_bytes read_bytes send_buffer_bytes receive_buffer_bytes window_clamp_bytes "
    "cwnd_clamp_bytes initial_ssthresh_bytes"
).split()
_LOSSES = ("loss", "p")
