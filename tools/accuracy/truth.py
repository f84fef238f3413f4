"""What the simulator knows: who held the sender back, how full links were, what was dropped."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from accuracy import scenario
from accuracy.judged import CLASSES
from accuracy.scenario import Case, Spec

OF_CLASS = {
    "application": "application",
    "nagle": "application",
    "handshake": None,
    "receiver_window": "receiver_window",
    "recovery": "recovery",
    "rto_wait": "recovery",
    "closed": None,
}
"""The class of a limit; the network's unless listed, and none before the first data and after the
end: shares are those of the time between."""


class Half(NamedTuple):
    """One direction of a flow of a scenario."""

    flow: int
    backward: bool


class Span(NamedTuple):
    """A span in which one thing held the sender back."""

    start_ns: int
    end_ns: int
    limit: str
    phase: str
    flight_bytes: int


class Truth:
    """The truth of one run."""

    def __init__(self, case: Case, tables: Mapping[str, list[dict[str, Any]]]) -> None:
        self.case = case
        self.spans: dict[Half, list[Span]] = {}
        self.halves: dict[tuple[str, int, str, int], Half] = {}
        for row in tables["truth"]:
            half = Half(row["flow"], row["side"] == "backward")
            self.halves[row["src"], row["src_port"], row["dst"], row["dst_port"]] = half
            self.spans.setdefault(half, []).append(
                Span(
                    row["start_ns"],
                    row["end_ns"],
                    row["limit"],
                    row["phase"],
                    row["flight_size_bytes"],
                )
            )
        self._drops = [row for row in tables["events"] if row["action"] == "drop"]
        self._queues: dict[tuple[str, int], list[tuple[int, int]]] = {}
        for row in tables["queues"]:
            at = (row["link"], row["element"])
            self._queues.setdefault(at, []).append((row["at_ns"], row["busy_ns"]))

    def limits(self, half: Half, start_ns: int, end_ns: int) -> Counter[tuple[str, str]]:
        """Time by limit and phase, in ns."""
        spans = self.spans.get(half, [])
        first = bisect_left(spans, start_ns, key=lambda span: span.end_ns)
        found: Counter[tuple[str, str]] = Counter()
        for span in spans[first:]:
            if span.start_ns >= end_ns:
                break
            overlap = min(span.end_ns, end_ns) - max(span.start_ns, start_ns)
            if overlap > 0:
                found[span.limit, span.phase] += overlap
        return found

    def shares(self, half: Half, start_ns: int, end_ns: int) -> tuple[float, ...] | None:
        """Shares of the time by class; none when the connection was closed throughout."""
        paced = "pacing_rate_bps" in self.settings(half)
        time: Counter[str] = Counter()
        for (limit, _), ns in self.limits(half, start_ns, end_ns).items():
            owner = OF_CLASS.get(limit, "network")
            if limit == "pacing" and paced:
                owner = "application"
            if owner:
                time[owner] += ns
        total = time.total()
        return tuple(time[name] / total for name in CLASSES) if total else None

    def settings(self, half: Half) -> Spec:
        """What the scenario says of the sender's TCP."""
        flow = scenario.flows(self.case.spec)[half.flow]
        settings: Spec = flow.get("peer_tcp" if half.backward else "tcp", {})
        return settings

    def last_data_ns(self, half: Half) -> int:
        """When the last data was acknowledged."""
        return max(
            (span.end_ns for span in self.spans.get(half, []) if span.flight_bytes), default=0
        )

    def busy(self, half: Half, start_ns: int, end_ns: int) -> float | None:
        """The share of the time in which the slowest link of the path was sending."""
        server = scenario.bottleneck(self.case.spec, half.flow, half.backward)
        samples = self._queues.get((server.link, server.element), []) if server else []
        inside = [sample for sample in samples if start_ns <= sample[0] <= end_ns]
        if len(inside) < 2:
            return None
        (first_ns, first), (last_ns, last) = inside[0], inside[-1]
        return (last - first) / (last_ns - first_ns)

    def drops(self, half: Half, start_ns: int, end_ns: int) -> Counter[str]:
        """Dropped packets of the half by the kind of element that dropped them."""
        kind_at = kinds(self.case.spec, half)
        side = "backward" if half.backward else "forward"
        return Counter(
            kind_at.get((row["link"], row["element"]), row["reason"])
            for row in self._drops
            if (row["flow"], row["side"]) == (half.flow, side)
            and start_ns <= row["at_ns"] <= end_ns
        )


def kinds(spec: Spec, half: Half) -> dict[tuple[str, int], str]:
    """The kinds of the elements on the path of a half, by link and position."""
    found = scenario.elements(spec, half.flow, half.backward)
    return {(link, position): kind for link, position, kind, _ in found}


def half_of(expect: Spec) -> Half:
    """The half that an expectation is about."""
    return Half(expect.get("flow", 0), bool(expect.get("backward")))


def span_of(expect: Spec, truth: Truth) -> tuple[int, int]:
    """Begin and end of an expectation, at most until the last data is acknowledged."""
    last = truth.last_data_ns(half_of(expect))
    end_s = expect.get("to_s", float("inf"))
    return int(expect.get("from_s", 0) * 1e9), int(min(end_s * 1e9, last))


def allowed(expect: Spec) -> tuple[str, ...]:
    """The causes and limitations that are right."""
    return (expect.get("cause", expect["limitation"]), *expect.get("accept", ()))


def doubt(truth: Truth, expect: Spec) -> str | None:
    """Why an expectation does not hold by the simulator's own record; None when it does."""
    start, end = span_of(expect, truth)
    if end <= start:
        return "no data in this span"
    doubts = [_doubt(truth, expect, word, start, end) for word in allowed(expect)]
    return doubts[0] if all(doubts) else None


def _doubt(truth: Truth, expect: Spec, word: str, start: int, end: int) -> str | None:
    half = half_of(expect)
    limits = truth.limits(half, start, end)
    total = sum(ns for (limit, _), ns in limits.items() if limit != "closed") or 1
    held: Counter[str] = Counter()
    for (limit, phase), ns in limits.items():
        for name in {limit, f"{limit} {phase}", OF_CLASS.get(limit, "network") or ""}:
            held[name] += ns
    paced = "pacing_rate_bps" in truth.settings(half)
    needs = {
        "application": held["application"] + (held["pacing"] if paced else 0),
        "receiver_window": held["receiver_window"],
        "sender_window": held["send_buffer"] + held["cwnd_clamp"],
        "transport/slow_start": sum(held[f"{name} slow_start"] for name in _NETWORK),
        "transport/congestion_avoidance": held["cwnd congestion_avoidance"],
        "transport/recovery": held["recovery"],
    }
    network = held["cwnd"] + held["recovery"] + (0 if paced else held["pacing"])
    limitation = word.split("/")[0]
    share = needs.get(word, needs.get(limitation, network)) / total
    if share < HOLDS:
        most = held_words(limits)
        return f"{word}: the sender's state says so in {share:.0%} of the time only ({most})"
    return _doubt_of_path(truth, half, limitation, start, end)


def _doubt_of_path(truth: Truth, half: Half, limitation: str, start: int, end: int) -> str | None:
    busy = truth.busy(half, start, end)
    server = scenario.bottleneck(truth.case.spec, half.flow, half.backward)
    drops = truth.drops(half, start, end)
    random_drops = sum(drops[kind] for kind in ("bernoulli", "gilbert_elliott"))
    if limitation in ("unshared_bottleneck", "shared_bottleneck") and server and busy is not None:
        own = drops[kinds(truth.case.spec, half)[server.link, server.element]]
        is_overflowing = busy >= USED and own >= max(1, drops.total() / 2)
        if busy < FULL and not is_overflowing:
            return f"{limitation}: the link was busy in {busy:.0%} of the time only"
        alone = not scenario.sharers(truth.case.spec, half.flow, server.link)
        if limitation == "shared_bottleneck" and alone:
            return "shared_bottleneck: nobody else used the link"
    if limitation in _BELOW_THE_LINK and busy is not None and busy >= FULL:
        return f"{limitation}: the link was busy in {busy:.0%} of the time"
    if limitation == "policer" and drops["policer"] < max(1, drops.total() / 2):
        return f"policer: it dropped {drops['policer']} of {drops.total()}"
    if limitation == "random_loss" and random_drops < max(1, drops.total() / 2):
        return f"random_loss: it took {random_drops} of {drops.total()} drops"
    return None


def held_words(limits: Counter[tuple[str, str]]) -> str:
    """What held the sender back, the most first."""
    total = limits.total() or 1
    by_limit: Counter[str] = Counter()
    for (limit, _), ns in limits.items():
        by_limit[limit] += ns
    return ", ".join(f"{limit} {ns / total:.0%}" for limit, ns in by_limit.most_common(3))


HOLDS = 0.5
"""Share of the time in which the sender's state must be the expected one."""
FULL = 0.85
"""Share of the time in which a link sends from which it counts as full."""
USED = 0.6
"""The same when its own queue drops: AIMD and a short queue, or bursts of others, leave gaps."""
_NETWORK = ("cwnd", "pacing")
_BELOW_THE_LINK = ("policer", "random_loss", "transport", "sender_window", "receiver_window")
