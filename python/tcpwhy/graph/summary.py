"""A graph in words: its heading, one sentence, and what a reader who cannot see it needs."""

from collections.abc import Sequence

from tcpwhy.graph.layout import Spec
from tcpwhy.graph.palette import plain
from tcpwhy.graph.trace import Trace
from tcpwhy.units import as_bytes, as_duration, as_rate, as_share


def heading(traces: Sequence[Trace]) -> str:
    """Name the direction, or the two that are compared."""
    return " beside ".join(trace.label for trace in traces)


def summary(trace: Trace) -> str:
    """Say in one line what was sent, how fast, and what limited it."""
    half = trace.half
    parts = [
        f"{as_bytes(half.unique_bytes)} in {as_duration(trace.span_ns)}",
        as_rate(half.goodput_bps) if half.goodput_bps else None,
        f"RTT {as_duration(half.rtt_mean_ns)}" if half.rtt_mean_ns else None,
        f"limited by {named(half.limitation, half.cause)}" if half.limitation else None,
        f"{half.confidence} confidence" if half.limitation and half.confidence else None,
    ]
    return " · ".join(part for part in parts if part)


def named(limitation: str | None, cause: str | None) -> str:
    """Name a limitation in plain words, with its cause where that says more."""
    detail = (cause or "").partition("/")[2].replace("_", " ")
    return f"{plain(limitation)} ({detail})" if detail else plain(limitation)


def counts(spec: Spec, trace: Trace) -> list[tuple[str, int]]:
    """Count the rare events by kind, in plain words, those that occurred."""
    found = ((mark["label"], trace.marks.get(mark["id"])) for mark in spec["marks"])
    return [(label, len(columns["t"])) for label, columns in found if columns and len(columns["t"])]


def shares(trace: Trace) -> list[tuple[str, float]]:
    """Give the share of time of every limitation of the ribbon, the largest first."""
    total: dict[str, int] = {}
    for verdict in trace.verdicts:
        name = named(verdict.limitation, verdict.cause)
        total[name] = total.get(name, 0) + verdict.end - verdict.start
    whole = sum(total.values()) or 1
    return sorted(((name, ns / whole) for name, ns in total.items()), key=lambda item: -item[1])


def description(spec: Spec, traces: Sequence[Trace]) -> str:
    """Describe the picture in words."""
    sentences = []
    for trace in traces:
        half = trace.half
        sentences.append(f"Time-sequence graph of {trace.label}: {summary(trace)}.")
        held = ", ".join(f"{name} {as_share(share)}" for name, share in shares(trace))
        if held:
            sentences.append(f"Verdicts over time: {held}.")
        events = ", ".join(f"{count:,} {label}" for label, count in counts(spec, trace))
        sentences.append(f"Events: {events}." if events else "No rare events.")
        if half.rtt_min_ns is not None:
            sentences.append(
                f"Round-trip time from {as_duration(half.rtt_min_ns)}"
                f" to {as_duration(half.rtt_max_ns)}."
            )
        if half.flight_size_max is not None and half.rwnd_max is not None:
            sentences.append(
                f"At most {as_bytes(half.flight_size_max)} in flight;"
                f" receiver window at most {as_bytes(half.rwnd_max)}."
            )
        sentences += trace.notes
    return " ".join(sentences)
