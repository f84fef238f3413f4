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


# As many ACKs of a connection may have come out of order at most for the rule of that name.
REORDERED_ACKS = 2

Test = Callable[[str, str, Value, Value, Case], bool]


def super_packets(_: str, fact: str, ours: Value, theirs: Value, case: Case) -> bool:
    return (
        fact == "data_packets" and bool(case.ours["offload_seen"]) and (ours or 0) > (theirs or 0)
    )


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


def probes(_: str, fact: str, ours: Value, theirs: Value, case: Case) -> bool:
    count = case.own("keep_alives") + case.own("zero_window_probes")
    if fact in ("retransmitted_bytes", "duplicate_acks"):
        return 0 < abs((theirs or 0) - (ours or 0)) <= count
    return False


def syn_again(reference: str, fact: str, ours: Value, theirs: Value, case: Case) -> bool:
    more = (theirs or 0) - (ours or 0)
    sent = case.tshark.get("syn_and_fin_segments") or 0
    return reference == "tcptrace" and fact == "retransmitted_bytes" and 0 < more < sent


def not_outstanding(reference: str, fact: str, ours: Value, theirs: Value, case: Case) -> bool:
    if fact != "duplicate_acks" or reference == "sequence" or not case.tshark:
        return False
    return abs((ours or 0) - (case.tshark["rfc5681_duplicate_acks"] or 0)) <= REORDERED_ACKS


def reordered_acks(reference: str, fact: str, ours: Value, theirs: Value, _: Case) -> bool:
    if fact != "duplicate_acks" or reference != "sequence":
        return False
    return 0 < (ours or 0) - (theirs or 0) <= REORDERED_ACKS


def reordering(reference: str, fact: str, ours: Value, theirs: Value, case: Case) -> bool:
    if fact != "retransmitted_bytes" or reference != "tshark" or not case.own("reordered_packets"):
        return False
    return ours == case.tshark["seen_again_bytes"]


def scale_inferred(_: str, fact: str, ours: Value, theirs: Value, case: Case) -> bool:
    return fact == "window_scale" and theirs is None and not case.ours["handshake_seen"]


def both_sides(_: str, fact: str, ours: Value, theirs: Value, case: Case) -> bool:
    position = case.ours["position"]
    away = position is None or position > 0.01
    return fact == "rtt_min_ms" and away and plausible_rtt(ours, theirs, case)


def delayed_ack(_: str, fact: str, ours: Value, theirs: Value, case: Case) -> bool:
    return fact == "rtt_min_ms" and plausible_rtt(ours, theirs, case)


def plausible_rtt(ours: Value, theirs: Value, case: Case) -> bool:
    """Whether ours is theirs and the way to the sender and back: a handshake's worth at most."""
    if ours is None or theirs is None:
        return False
    handshake = case.tshark.get("handshake_rtt_ms")
    return ours >= 0.99 * theirs and (handshake is None or ours <= theirs + 1.5 * handshake)


def clock_tick(_: str, fact: str, ours: Value, theirs: Value, case: Case) -> bool:
    return fact in ("rtt_min_ms", "handshake_rtt_ms") and ours is None and theirs == 10


def no_sample(_: str, fact: str, ours: Value, theirs: Value, case: Case) -> bool:
    return fact in ("rtt_min_ms", "handshake_rtt_ms") and (ours is None) != (theirs is None)


def tunnels_told_apart(_: str, fact: str, ours: Value, theirs: Value, case: Case) -> bool:
    # The same 4-tuple in several tunnels: the halves of ours were added up for the comparison.
    return case.own("pieces") > case.their("pieces") and fact in (
        "unique_bytes",
        "retransmitted_bytes",
    )


def stream_split(_: str, fact: str, ours: Value, theirs: Value, case: Case) -> bool:
    return case.own("pieces") < case.their("pieces") and fact == "rtt_min_ms"


def tcptrace_loses_track(reference: str, fact: str, ours: Value, theirs: Value, case: Case) -> bool:
    return reference == "tcptrace" and fact == "unique_bytes" and ours == case.tshark.get(fact)


def syn_copied(reference: str, fact: str, ours: Value, theirs: Value, _: Case) -> bool:
    known = ours is not None and theirs is not None
    return reference == "tshark" and fact == "handshake_rtt_ms" and known and theirs < ours


def handshake_sample(_: str, fact: str, ours: Value, theirs: Value, case: Case) -> bool:
    handshake = case.own("handshake_rtt_ms")
    return fact == "rtt_min_ms" and bool(ours and theirs) and ours == handshake < (theirs or 0)


def frame_length(reference: str, fact: str, ours: Value, theirs: Value, case: Case) -> bool:
    if reference == "tcptrace" or not case.tcptrace:
        return False
    short = case.tcptrace["payload_bytes"] != case.tshark["payload_bytes"]
    bytes_fact = fact in ("payload_bytes", "unique_bytes", "retransmitted_bytes")
    return short and bytes_fact and ours == case.tcptrace[fact]


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
    "probes": probes,
    "syn_again": syn_again,
    "reordering": reordering,
    "reordered_acks": reordered_acks,
    "not_outstanding": not_outstanding,
    "scale_inferred": scale_inferred,
    "tunnels_told_apart": tunnels_told_apart,
    "stream_split": stream_split,
    "clock_tick": clock_tick,
    "both_sides": both_sides,
    "delayed_ack": delayed_ack,
    "no_sample": no_sample,
    "frame_length": frame_length,
    "tcptrace_loses_track": tcptrace_loses_track,
    "tcptrace_wraps_mss": tcptrace_wraps_mss,
    "handshake_sample": handshake_sample,
    "syn_copied": syn_copied,
}


def name_fact(reference: str, fact: str, ours: Value, theirs: Value, case: Case) -> str | None:
    """The first rule that explains a difference."""
    for name, test in FACT_RULES.items():
        if test(reference, fact, ours, theirs, case):
            return name
    return None


def name_connection(reference: str, case: Case) -> str | None:
    """What explains a half that only one of both has."""
    return "pseudowire" if case.ours and reference == "tshark" else None
