"""Pairs of scenarios that differ in the remedy alone: what was predicted, and what was gained.

The prediction is `headroom_bps` of the limited run's `flows` row at each tap. The gain is the
goodput that the remedied run reaches once it has started up. How predictions are made was developed
on some paths and is reported on others.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from typing import NamedTuple

from accuracy import hidden, scenario, simulated, truth
from accuracy.scenario import Case, Spec
from accuracy.truth import Half

NEAR = 0.20
"""A prediction is right when it is off by no more than this."""


@dataclass(frozen=True)
class Pair:
    """A limited scenario and the same with the limit lifted."""

    remedy: str
    part: str
    """`development` or `report`."""
    limited: Case
    remedied: Case


class Prediction(NamedTuple):
    """What one tap's analysis predicts for a pair."""

    name: str
    remedy: str
    part: str
    path: str
    tap: str
    cause: str | None
    is_cause_right: bool
    now_bps: float
    predicted_bps: float | None
    reached_bps: float
    is_hidden: bool
    """Whether no number is given, and the capture shows none."""

    @property
    def is_near(self) -> bool:
        """Whether the prediction is right. None is not."""
        if self.predicted_bps is None:
            return False
        return abs(self.predicted_bps - self.reached_bps) <= NEAR * self.reached_bps

    @property
    def is_right(self) -> bool:
        """Whether it is near, or rightly no number."""
        return self.is_near or self.is_hidden


class Remedy(NamedTuple):
    """What is changed in a scenario, given its first flow too."""

    words: str
    scenarios: str
    change: Callable[[Spec, Spec], object]


def _without(*keys: str) -> Callable[[Spec, Spec], object]:
    def change(_: Spec, flow: Spec) -> None:
        for settings in (flow.get("tcp", {}), flow.get("peer_tcp", {}), flow):
            for key in keys:
                settings.pop(key, None)

    return change


def _without_elements(*kinds: str) -> Callable[[Spec, Spec], object]:
    def change(spec: Spec, _: Spec) -> None:
        for link in spec["links"].values():
            link["forward"] = [e for e in link["forward"] if not set(e) & set(kinds)]

    return change


def _bulk(_: Spec, flow: Spec) -> None:
    flow["workload"] = {"bulk": {}}
    flow.get("tcp", {}).pop("nagle", None)


def _alone(spec: Spec, _: Spec) -> None:
    spec["flows"] = [{**spec["flows"][0], "count": 1}]
    spec["udp"] = []


def _fast_link(spec: Spec, _: Spec) -> None:
    for element in spec["links"]["wan"]["forward"]:
        for kind in {"rate", "shaper"} & set(element):
            element[kind]["rate_bps"] *= 50
            element[kind]["queue"] = {"drop_tail": {"limit_packets": 5000}}


REMEDIES = (
    Remedy(
        "raise the receive buffer",
        "rwnd_buffer rwnd_buffer_bbr rwnd_buffer_lan",
        _without("receive_buffer_bytes"),
    ),
    Remedy("lift the window clamp", "rwnd_clamp", _without("window_clamp_bytes")),
    Remedy(
        "switch window scaling on",
        "rwnd_no_scaling rwnd_no_scaling_reno_far",
        _without("window_scaling"),
    ),
    Remedy("read faster", "rwnd_slow_reader rwnd_slow_reader_bbr", _without("reader")),
    Remedy(
        "raise the send buffer",
        "sndbuf_small sndbuf_small_bbr sndbuf_small_reno",
        _without("send_buffer_bytes"),
    ),
    Remedy("lift the cwnd clamp", "cwnd_clamp cwnd_clamp_far", _without("cwnd_clamp_bytes")),
    Remedy(
        "remove the losses",
        "random_loss_reno random_loss_cubic random_loss_heavy random_loss_bursts",
        _without_elements("bernoulli", "gilbert_elliott"),
    ),
    Remedy(
        "remove the policer",
        "policer_reno policer_slow policer_bbr",
        _without_elements("policer"),
    ),
    Remedy("lift the pacing rate", "paced_socket", _without("pacing_rate_bps")),
    Remedy(
        "write without pauses", "app_paced app_paced_bbr app_idle_chunks app_small_writes", _bulk
    ),
    Remedy("send the others elsewhere", "shared_two_cubic shared_udp shared_four_reno", _alone),
    Remedy("a faster link, small receive buffer", "bottleneck_cubic bottleneck_reno", _fast_link),
)

PATHS = {
    "development": ((1.0, 1.0), (0.4, 1.0), (1.0, 0.4), (1.5, 1.5)),
    "report": ((0.7, 0.7), (0.5, 1.6), (2.0, 0.5), (1.3, 1.2)),
}
"""Factors of the rates and of the times, such as slower or farther. Nobody looks at single pairs of
the report when predictions are improved."""
RECEIVE_BUFFER_BYTES = 262_144
"""What bounds the faster link: with autotuning nothing in the capture tells the next limit."""


def pairs(cases: Iterable[Case]) -> Iterator[Pair]:
    """All pairs, on all paths."""
    by_name = {case.name: case for case in cases}
    for remedy in REMEDIES:
        for name in remedy.scenarios.split():
            for part, paths in PATHS.items():
                for rates, times in paths:
                    yield _pair(by_name[name], remedy, part, rates, times)


def _pair(case: Case, remedy: Remedy, part: str, rates: float, times: float) -> Pair:
    spec = _on_path(case.spec, rates, times)
    if remedy.change is _fast_link:
        peer = spec["flows"][0].setdefault("peer_tcp", {})
        peer["receive_buffer_bytes"] = round(RECEIVE_BUFFER_BYTES * rates * times)
    lifted = copy.deepcopy(spec)
    remedy.change(lifted, lifted["flows"][0])
    lifted["expect"] = []
    lifted["taps"] = [{"name": "receiver", "host": lifted["flows"][0]["to"]}]
    lifted["duration_s"] = min(lifted["duration_s"], LONGEST_S * max(1.0, times))
    words = f"rates × {rates:g}, times × {times:g}"
    limited = replace(case, group="remedies", variant=words, spec=spec)
    return Pair(remedy.words, part, limited, replace(limited, spec=lifted))


def _on_path(spec: Spec, rates: float, times: float) -> Spec:
    spec = scenario.scaled(spec, rates, times)
    scenario.accept_small_windows(spec)
    spec["duration_s"] = max(spec["duration_s"], SHORTEST_S)
    return spec


def run_all(found: Iterable[Pair], workers: int | None = None) -> Iterator[list[Prediction]]:
    """Run pairs on all cores. A pair whose limit does not hold gives nothing."""
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from pool.map(predictions, found, chunksize=2)


def predictions(pair: Pair) -> list[Prediction]:
    """What each tap of the limited run predicts, beside what the remedied run reached."""
    limited = simulated.run(pair.limited)
    expect = pair.limited.expects[0]
    if truth.doubt(limited.truth, expect) is not None:
        return []
    half = truth.half_of(expect)
    reached = steady_bps(simulated.run(pair.remedied, taps=("receiver",)), half)
    now = steady_bps(limited, half)
    rows = {
        tap: row
        for tap, tables in limited.taps.items()
        for row in tables["flows"]
        if simulated.half_of(limited.truth, row) == half
    }
    unknown = [tap for tap, row in rows.items() if row["headroom_bps"] is None]
    flow = next(flow for flow, known in limited.truth.halves.items() if known == half)
    unseen = hidden.taps(pair.limited, flow, unknown) if unknown else set()
    return [
        Prediction(
            pair.limited.name,
            pair.remedy,
            pair.part,
            pair.limited.variant,
            tap,
            row["cause"],
            bool({row["cause"], (row["cause"] or "").split("/")[0]} & set(truth.allowed(expect))),
            now,
            row["headroom_bps"],
            reached,
            tap in unseen,
        )
        for tap, row in rows.items()
    ]


def steady_bps(run: simulated.Run, half: Half) -> float:
    """Goodput at the receiver in the later two thirds of a run."""
    rows = [
        row
        for row in run.taps["receiver"]["intervals"]
        if simulated.half_of(run.truth, row) == half
    ]
    end = max(row["end_ns"] for row in rows)
    begin = min(row["start_ns"] for row in rows)
    late = [row for row in rows if row["start_ns"] >= begin + (end - begin) / 3]
    # Intervals may stand side by side, one for each kind of period: the time counts once.
    length = max(row["end_ns"] for row in late) - min(row["start_ns"] for row in late)
    bits: float = 8e9 * sum(row["unique_bytes"] for row in late)
    return bits / float(length)


SHORTEST_S = 15.0
LONGEST_S = 25.0
"""Of a remedied run: many packets, and no more to be seen."""
