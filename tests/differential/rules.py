"""Differences in definition, each with the condition under which it may explain a difference.

The reasons stand in differences.toml, together with how often each occurs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .connection import Value

Facts = dict[str, Value]


@dataclass
class Case:
    """A half as everybody sees it: us, the reference in question, and both tools."""

    ours: Facts
    theirs: Facts
    tshark: Facts
    tcptrace: Facts

    def own(self, name: str) -> float:
        """A fact of ours, unknown as 0."""
        return self.ours.get(name) or 0

    def their(self, name: str) -> float:
        """A fact of the reference, unknown as 0."""
        return self.theirs.get(name) or 0


Test = Callable[[str, str, Value, Value, Case], bool]


def super_packets(_: str, fact: str, ours: Value, theirs: Value, case: Case) -> bool:
    return fact == "data_packets" and bool(case.ours["offload_seen"]) and (ours or 0) > (theirs or 0)


def duplicate_frames(_: str, fact: str, ours: Value, theirs: Value, case: Case) -> bool:
    copies = case.own("duplicate_frames")
    if not copies:
        return False
    if fact in ("packets", "data_packets"):
        return 0 < (theirs or 0) - (ours or 0) <= copies
    if fact in ("payload_bytes", "retransmitted_bytes"):
        # Copies add to the reference's payload and retransmissions alike, never to unique bytes.
        return case.ours["unique_bytes"] == case.theirs["unique_bytes"] and (theirs or 0) > (
            ours or 0
        )
    return fact in ("duplicate_acks", "rtt_min_ms")


def out_of_order(reference: str, fact: str, ours: Value, theirs: Value, case: Case) -> bool:
    if reference != "tshark" or fact != "retransmitted_bytes":
        return False
    low = case.their("retransmitted_bytes")
    return low < (ours or 0) <= low + case.their("out_of_order_bytes")


def late_fill(reference: str, fact: str, ours: Value, theirs: Value, case: Case) -> bool:
    if reference == "tshark" or fact != "retransmitted_bytes" or not case.tshark:
        return False
    late = (case.tshark["retransmitted_bytes"] or 0) + (case.tshark["out_of_order_bytes"] or 0)
    return (theirs or 0) < (ours or 0) <= late


def acknowledged_before(_: str, fact: str, ours: Value, theirs: Value, case: Case) -> bool:
    missed = case.own("missed_bytes")
    return fact == "retransmitted_bytes" and 0 < (ours or 0) - (theirs or 0) <= missed


def probes(_: str, fact: str, ours: Value, theirs: Value, case: Case) -> bool:
    count = case.own("keep_alives") + case.own("zero_window_probes")
    if fact in ("retransmitted_bytes", "duplicate_acks"):
        return 0 < abs((theirs or 0) - (ours or 0)) <= count
    return False


def syn_again(reference: str, fact: str, ours: Value, theirs: Value, case: Case) -> bool:
    # tcptrace counts the sequence number of a SYN or FIN that is sent again as a byte.
    more = (theirs or 0) - (ours or 0)
    return reference == "tcptrace" and fact == "retransmitted_bytes" and more in (1, 2)


def not_outstanding(reference: str, fact: str, ours: Value, theirs: Value, case: Case) -> bool:
    if fact != "duplicate_acks" or reference == "sequence" or not case.tshark:
        return False
    return case.ours["duplicate_acks"] == case.tshark["rfc5681_duplicate_acks"]


def both_sides(_: str, fact: str, ours: Value, theirs: Value, case: Case) -> bool:
    if fact != "rtt_min_ms" or ours is None or theirs is None:
        return False
    position = case.ours["position"]
    return ours >= theirs * 0.99 and (position is None or position > 0.01)


def delayed_ack(_: str, fact: str, ours: Value, theirs: Value, case: Case) -> bool:
    # At the sender both measure the same, but a sample that a delayed ACK may have stretched or
    # that a retransmission makes ambiguous is not a sample of ours.
    if fact != "rtt_min_ms" or ours is None or theirs is None:
        return False
    return theirs * 0.99 <= ours <= (case.tshark.get("handshake_rtt_ms") or theirs) * 1.5


def no_sample(_: str, fact: str, ours: Value, theirs: Value, case: Case) -> bool:
    return fact in ("rtt_min_ms", "handshake_rtt_ms") and (ours is None) != (theirs is None)


def frame_length(reference: str, fact: str, ours: Value, theirs: Value, case: Case) -> bool:
    if reference == "tcptrace" or not case.tcptrace:
        return False
    if fact in ("payload_bytes", "unique_bytes"):
        return ours == case.tcptrace[fact]
    return fact == "retransmitted_bytes" and ours == case.tcptrace[fact]


def tcptrace_wraps_mss(reference: str, fact: str, ours: Value, theirs: Value, _: Case) -> bool:
    return (
        reference == "tcptrace"
        and fact == "mss_option"
        and ours is not None
        and theirs is not None
        and int(theirs) & 0xFFFF != 0
        and theirs > 0xFFFF
    )


FACT_RULES: dict[str, Test] = {
    "super_packets": super_packets,
    "duplicate_frames": duplicate_frames,
    "out_of_order": out_of_order,
    "late_fill": late_fill,
    "acknowledged_before": acknowledged_before,
    "probes": probes,
    "syn_again": syn_again,
    "not_outstanding": not_outstanding,
    "both_sides": both_sides,
    "delayed_ack": delayed_ack,
    "no_sample": no_sample,
    "frame_length": frame_length,
    "tcptrace_wraps_mss": tcptrace_wraps_mss,
}


def name_fact(reference: str, fact: str, ours: Value, theirs: Value, case: Case) -> str | None:
    """The first rule that explains a difference."""
    for name, test in FACT_RULES.items():
        if test(reference, fact, ours, theirs, case):
            return name
    return None


def name_connection(reference: str, case: Case) -> str | None:
    """What explains a half that only one of both has."""
    return "only_tcpwhy" if case.ours else None
