"""The figures of "The Effect of TCP's Adaptivity on the Throughput": which cases each one needs.

A figure varies one setting over the curves and the frequency along each, or looks at one frequency
over time. Times of measurement are those of the tables that the simulator is held to.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tcpwhy.units import as_bytes, as_duration, as_rate

Case = dict[str, Any]

REFERENCE: Mapping[str, Any] = {
    "recovery": "reno",
    "reno_rules": "ns3",
    "rate_bps": 1_000_000,
    "delay_ns": 5_000_000,
    "buffer_packets": 40,
    "tcp_packet_bytes": 1000,
    "udp_packet_bytes": 1000,
    "rto_min_ns": 1_000_000_000,
    "rto_max_ns": 60_000_000_000,
    "phase": 0.0,
    "jitter_packets": 0.0,
    "seed": 1,
    "warm_ns": 60_000_000_000,
    "duration_ns": 600_000_000_000,
    "step_ns": None,
}
"""The reference case: what a figure does not say is as here."""

LOW_HZ, CRITICAL_HZ, HIGH_HZ = 0.05, 0.4, 5.0
"""Frequencies at which the paper looks closer: below, in and above the critical interval."""

_SWEEP = {"jitter_packets": 1.0, "warm_ns": 40 * 10**9, "duration_ns": 200 * 10**9}
"""Of the figures about settings: jitter breaks the lockstep of equal rates at a full queue."""

_LOOK = {"step_ns": 20_000_000, "duration_ns": 60 * 10**9}


@dataclass(frozen=True)
class Figure:
    """One figure."""

    number: int
    title: str
    kind: str
    """What is drawn: characteristics, plane, rates, window, buffer or sequence."""
    varied: str | None = None
    """The setting that differs between the curves."""
    values: Sequence[Any] = ()
    """Its values."""
    frequency_hz: float | None = None
    """The frequency that is looked at over time."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What differs from the reference case in all curves."""
    phases: int = 1
    """Start phases over which the mean is taken."""

    @property
    def is_over_time(self) -> bool:
        """Whether it looks at one frequency over time."""
        return self.frequency_hz is not None


FIGURES = {
    figure.number: figure
    for figure in (
        Figure(
            2,
            "Throughput of TCP over the frequency of the background",
            "characteristics",
            varied="recovery",
            values=("reno", "newreno", "sack", "tahoe"),
            phases=4,
        ),
        Figure(
            3,
            "Throughput of TCP with two frequencies in the background",
            "plane",
            settings={"warm_ns": 40 * 10**9, "duration_ns": 200 * 10**9},
        ),
        Figure(4, "Rates at low frequency", "rates", frequency_hz=LOW_HZ, settings=_LOOK),
        Figure(5, "Window at low frequency", "window", frequency_hz=LOW_HZ, settings=_LOOK),
        Figure(
            6,
            "Segments at the critical frequency",
            "sequence",
            frequency_hz=CRITICAL_HZ,
            settings=_LOOK | {"duration_ns": 10 * 10**9},
        ),
        Figure(
            7,
            "Buffer at the critical frequency",
            "buffer",
            frequency_hz=CRITICAL_HZ,
            settings=_LOOK | {"duration_ns": 15 * 10**9},
        ),
        Figure(
            8,
            "Window at the critical frequency",
            "window",
            frequency_hz=CRITICAL_HZ,
            settings=_LOOK | {"duration_ns": 15 * 10**9},
        ),
        Figure(
            9,
            "Buffer at high frequency",
            "buffer",
            frequency_hz=HIGH_HZ,
            settings=_LOOK | {"duration_ns": 10 * 10**9},
        ),
        Figure(
            10,
            "Segments at high frequency",
            "sequence",
            frequency_hz=HIGH_HZ,
            settings=_LOOK | {"duration_ns": 8 * 10**9},
        ),
        Figure(
            11,
            "Throughput of TCP by link rate",
            "characteristics",
            varied="rate_bps",
            values=(500_000, 1_000_000, 2_000_000, 5_000_000, 10_000_000),
            settings=_SWEEP,
        ),
        Figure(
            12,
            "Throughput of TCP by delay of each link",
            "characteristics",
            varied="delay_ns",
            values=(5_000_000, 20_000_000, 50_000_000, 100_000_000),
            settings=_SWEEP,
        ),
        Figure(
            13,
            "Throughput of TCP by packet size",
            "characteristics",
            varied="packet_bytes",
            values=(500, 1000, 1500),
            settings=_SWEEP,
        ),
        Figure(
            14,
            "Throughput of TCP by buffer size",
            "characteristics",
            varied="buffer_packets",
            values=(10, 20, 40, 80, 160, 320),
            settings=_SWEEP,
        ),
        Figure(
            15,
            "Throughput of TCP by maximum retransmission timeout",
            "characteristics",
            varied="rto_max_ns",
            values=(250_000_000, 500_000_000, 1_000_000_000, 60_000_000_000),
            settings=_SWEEP,
        ),
    )
}

_VERSIONS = {"reno": "Reno", "newreno": "NewReno", "sack": "SACK", "tahoe": "Tahoe", "rack": "RACK"}

SERIES: Mapping[str, Callable[[Any], str]] = {
    "recovery": lambda name: _VERSIONS.get(name, str(name)),
    "rate_bps": as_rate,
    "delay_ns": as_duration,
    "packet_bytes": as_bytes,
    "buffer_packets": "{} packets".format,
    "rto_max_ns": as_duration,
}
"""How a curve is called, by what is varied."""


def frequencies(points: int, low_hz: float = 0.05, high_hz: float = 10.0) -> list[float]:
    """Give frequencies with equal steps on a logarithmic scale."""
    steps = max(points - 1, 1)
    return [low_hz * (high_hz / low_hz) ** (i / steps) for i in range(points)]


def cases(
    figure: Figure,
    settings: Mapping[str, Any],
    values: Sequence[Any],
    points: Sequence[float],
    phases: int,
) -> list[Case]:
    """List the cases of a figure.

    Args:
        figure: which.
        settings: what differs from the figure's own settings.
        values: the values of the setting that is varied, those of the figure when empty.
        points: the frequencies.
        phases: how many start phases, equally spread.

    """
    base = {**REFERENCE, **figure.settings, **settings, "figure": figure.number}
    if figure.is_over_time:
        return [{**base, "series": "TCP", "frequencies_hz": [f]} for f in points]
    if figure.kind == "plane":
        base["series"] = "TCP"
        pairs = [(one, two) for one in points for two in points if one <= two]
        return [{**base, "frequencies_hz": [one, two]} for one, two in pairs]
    assert figure.varied is not None
    return [
        {
            **base,
            **_set(figure.varied, value),
            "series": SERIES[figure.varied](value),
            "frequencies_hz": [f],
            "phase": base["phase"] + phase / phases,
        }
        for value in values or figure.values
        for f in points
        for phase in range(phases)
    ]


def _set(name: str, value: Any) -> dict[str, Any]:
    if name == "packet_bytes":
        return {"tcp_packet_bytes": value, "udp_packet_bytes": value}
    return {name: value}
