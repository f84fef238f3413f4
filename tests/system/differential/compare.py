"""Compares what tcpwhy says about a capture with what the references say, and names differences."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from . import captures, rules, tcptrace, tcpwhy, tshark
from .connection import Endpoint, Half, Key, Value, keyed
from .rules import Case

# What is compared with each reference: our fact, its fact, and by how much both may differ.
EXACT = {
    "tshark": {
        "packets": "packets",
        "data_packets": "data_packets",
        "payload_bytes": "payload_bytes",
        "unique_bytes": "unique_bytes",
        "retransmitted_bytes": "retransmitted_bytes",
        "duplicate_acks": "duplicate_acks",
        "zero_window_events": "zero_window_events",
        "mss_option": "mss_option",
        "window_scale": "window_scale",
    },
    "sequence": {
        "retransmitted_bytes": "seen_again_bytes",
        "duplicate_acks": "rfc5681_duplicate_acks",
    },
    "tcptrace": {
        "packets": "packets",
        "data_packets": "data_packets",
        "payload_bytes": "payload_bytes",
        "unique_bytes": "unique_bytes",
        "retransmitted_bytes": "retransmitted_bytes",
        "duplicate_acks": "duplicate_acks",
        "mss_option": "mss_option",
    },
}
TIMES = {
    "tshark": {"rtt_min_ms": "rtt_min_ms", "handshake_rtt_ms": "handshake_rtt_ms"},
    "sequence": {},
    "tcptrace": {"rtt_min_ms": "rtt_min_ms"},
}
# tcptrace prints one decimal; the share covers which of many samples a tool takes,
# and the delay inside the host where the capture was made at the sender.
TIME_TOLERANCE_MS, TIME_TOLERANCE = 0.11, 0.015


@dataclass(frozen=True)
class Difference:
    """One fact of one half on which tcpwhy and a reference differ."""

    capture: str
    half: Key
    reference: str
    fact: str
    ours: Value
    theirs: Value
    name: str | None

    def __str__(self) -> str:
        what = self.name or "UNEXPLAINED"
        return (
            f"{self.capture}: {self.half}: {self.fact}: tcpwhy {self.ours}, "
            f"{self.reference} {self.theirs}: {what}"
        )


@dataclass
class Comparison:
    """All of one capture."""

    halves: int
    compared: int
    differences: list[Difference]

    def counts(self) -> Counter[str]:
        """How often each named difference occurred."""
        return Counter(item.name for item in self.differences if item.name)

    def unexplained(self) -> list[Difference]:
        """Differences that no rule names."""
        return [item for item in self.differences if item.name is None]


def compare(path: Path) -> Comparison:
    """Runs every tool that is there over a capture."""
    ours = [half for half in tcpwhy.halves(path) if half.facts["packets"]]
    found = Comparison(len(ours), 0, [])
    references: dict[str, list[Half]] = {}
    for name, tool in (("tshark", tshark), ("tcptrace", tcptrace)):
        if tool.available():
            try:
                halves = tool.halves(path)
            except (RuntimeError, UnicodeDecodeError):
                # A link type or a file that this tool cannot read: nothing to compare with.
                continue
            references[name] = [half for half in halves if half.facts["packets"]]
    if "tshark" in references:
        references["sequence"] = references["tshark"]
    for name, halves in references.items():
        if name == "tcptrace" and not halves:
            continue
        one_reference(captures.label(path), name, ours, references, found)
    return found


def one_reference(
    capture: str, name: str, ours: list[Half], references: dict[str, list[Half]], found: Comparison
) -> None:
    """Compares with one reference and adds to `found`."""
    mine, theirs = aligned(ours, references[name])
    if name != "sequence":
        for key in sorted(mine.keys() ^ theirs.keys(), key=str):
            sides = Case(facts(mine, key), facts(theirs, key), facts(theirs, key), {})
            rule = rules.name_connection(name, sides)
            count = (1, 0) if key in mine else (0, 1)
            found.differences.append(Difference(capture, key, name, "connections", *count, rule))
    others = {other: aligned(ours, halves)[1] for other, halves in references.items()}
    for key in sorted(mine.keys() & theirs.keys(), key=str):
        case = Case(
            mine[key].facts,
            theirs[key].facts,
            facts(others.get("tshark", {}), key),
            facts(others.get("tcptrace", {}), key),
        )
        for fact, their_fact in EXACT[name].items():
            found.compared += 1
            a, b = case.ours.get(fact), case.theirs.get(their_fact)
            if a != b:
                rule = rules.name_fact(name, fact, a, b, case)
                found.differences.append(Difference(capture, key, name, fact, a, b, rule))
        for fact, their_fact in TIMES[name].items():
            found.compared += 1
            a, b = case.ours.get(fact), case.theirs.get(their_fact)
            if not same_time(a, b):
                rule = rules.name_fact(name, fact, a, b, case)
                found.differences.append(Difference(capture, key, name, fact, a, b, rule))


def facts(halves: dict[Key, Half], key: Key) -> dict[str, Value]:
    """The facts of a half; none when it is not there."""
    return halves[key].facts if key in halves else {}


def same_time(a: Value, b: Value) -> bool:
    """Whether two times are the same within what their tools can tell."""
    if a is None or b is None:
        return a is b
    return abs(a - b) <= max(TIME_TOLERANCE_MS, TIME_TOLERANCE * max(a, b))


def aligned(ours: list[Half], theirs: list[Half]) -> tuple[dict[Key, Half], dict[Key, Half]]:
    """Both by key. Where they do not agree on how many connections a 4-tuple had, its directions
    are added up on both sides: packets and bytes still compare. `pieces` says how many."""
    a, b = keyed(ours), keyed(theirs)
    split = {
        (key.src, key.dst)
        for key in a.keys() ^ b.keys()
        if Key(key.src, key.dst, 0) in a and Key(key.src, key.dst, 0) in b
    }
    return merged(a, split), merged(b, split)


def merged(halves: dict[Key, Half], split: set[tuple[Endpoint, Endpoint]]) -> dict[Key, Half]:
    """Adds up the halves of these 4-tuples."""
    result: dict[Key, Half] = {}
    for key in sorted(halves, key=lambda key: key.ordinal):
        half = halves[key]
        if (key.src, key.dst) not in split:
            result[key] = half
            continue
        first = Key(key.src, key.dst, 0)
        if first not in result:
            result[first] = Half(half.src, half.dst, half.begin_s, dict(half.facts, pieces=1))
            continue
        total = result[first].facts
        total["pieces"] = (total["pieces"] or 0) + 1
        for name, value in half.facts.items():
            known = total.get(name)
            if name.endswith(("_bytes", "packets", "_acks", "_events", "_frames", "_alives")):
                total[name] = (known or 0) + (value or 0)
            elif known is None:
                total[name] = value
    return result
