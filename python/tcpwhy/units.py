"""Quantities as people write and read them. Inside, everything is in base units."""

import re
from datetime import timedelta
from typing import TypeAlias

from tcpwhy._core import UsageError

Duration: TypeAlias = str | float | timedelta

_NANOSECONDS = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9}
_NANOSECONDS |= {"m": 60 * 10**9, "min": 60 * 10**9, "h": 3600 * 10**9, "d": 86400 * 10**9}


def nanoseconds(duration: Duration) -> int:
    """Convert "3s", "500ms", a number of seconds, or a timedelta; it must be positive."""
    if isinstance(duration, timedelta):
        duration = duration.total_seconds()
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+(?:e-?[0-9]+)?)\s*([a-zµ]*)\s*", str(duration))
    unit = _NANOSECONDS.get((match[2] or "s") if match else "")
    if match is None or unit is None:
        known = ", ".join(_NANOSECONDS)
        raise UsageError(f"{duration!r} is not a duration: write a number and one of {known}")
    result = round(float(match[1]) * unit)
    if not 0 < result < 2**63:
        raise UsageError(f"the duration {duration!r} must be at least 1 ns and below 292 years")
    return result


_PREFIXES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
_OTHERS = {"K": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
"""Prefixes as iperf3 has them."""

_QUANTITIES: dict[str, dict[str, float]] = {
    "ns": {unit: float(scale) for unit, scale in _NANOSECONDS.items()},
    "bytes": {f"{p}B": scale for p, scale in (_PREFIXES | _BINARY | {"K": 1e3}).items()},
    "bps": {
        f"{p}{unit}": scale
        for p, scale in (_PREFIXES | _BINARY | {"K": 1e3}).items()
        for unit in ("bit/s", "bit", "bps")
    },
    "": {"%": 0.01},
}
"""Units as people write them, by the unit that they are converted to: an end of a name."""


_EXAMPLES = {"bytes": ": 65536, 64K, 64Ki, 64KiB", "bps": ": 10M, 10Mbit/s, 2.5G"}
"""How numbers may be written, where the units are too many to list."""


def quantity(text: str, unit: str) -> float:
    """Convert "100ms" to ns, "64KiB" to bytes, "10Mbit/s" to bps, "0.1%" to a share.

    A number alone is in the unit itself, but for a time, where nobody would guess it; one with a
    prefix alone, as options of other commands have it (64Ki, 10M), too.
    """
    units = _QUANTITIES.get(unit, {})
    bare = {"bytes": _PREFIXES | _BINARY | _OTHERS, "bps": _PREFIXES | _BINARY | _OTHERS}.get(
        unit, {"": 1.0}
    )
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?|inf)\s*(\S*)\s*", text)
    scale = (units | ({} if unit == "ns" else bare)).get(match[2]) if match else None
    if match and unit == "ns" and not match[2] and float(match[1]) == 0:
        scale = 1.0
    if match is None or scale is None:
        known = f" and one of {', '.join(units)}" if units else ""
        known = ", 0 or more, or one with %" if list(units) == ["%"] else known
        known = _EXAMPLES.get(unit, known)
        raise UsageError(f"{text!r} is not understood: write a number{known}")
    return float(match[1]) * scale


def as_quantity(value: float, name: str) -> str:
    """Show a number in the unit that its name ends in, a share or loss as per cent."""
    shows = {"ns": as_duration, "bytes": as_bytes, "bps": as_rate}
    if name.endswith("_segs"):
        return f"{value:,.0f} segments" if value >= 1000 else f"{value:.3g} segments"
    show = shows.get(name.rpartition("_")[2])
    if show is not None:
        is_short = show is as_bytes and value == int(value) and value < 100_000
        return f"{value:,.0f} B" if is_short else show(value)
    if name.endswith(("share", "loss")):
        return f"{value * 100:.3g} %"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def as_duration(ns: float | None) -> str:
    """Show a span of time: 1.25 s, 102 ms, 35 µs."""
    if ns is None:
        return "?"
    if ns >= 3600e9:
        return f"{ns / 3600e9:.1f} h"
    if ns >= 600e9:
        return f"{ns / 60e9:.0f} min"
    return _scaled(ns / 1e9, [(1, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")])


def as_bytes(size: float | None) -> str:
    """Show a size with decimal prefixes: 1.46 kB, 23.1 MB."""
    units = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")]
    return "?" if size is None else _scaled(size, units)


def as_rate(bps: float | None) -> str:
    """Show a rate with decimal prefixes: 9.41 Mbit/s."""
    units = [(1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")]
    return "?" if bps is None else _scaled(bps, units)


def as_share(share: float | None) -> str:
    """Show a share as per cent, with a decimal where it matters: 98 %, 0.28 %."""
    if share is None:
        return "?"
    percent = share * 100
    if percent in (0, 100):
        return f"{percent:.0f} %"
    if percent >= 99.95:
        return "> 99.9 %"
    return f"{percent:.1f} %" if percent >= 1 else f"{percent:.2g} %"


def _scaled(value: float, units: list[tuple[float, str]]) -> str:
    """Show three significant digits in the largest unit that leaves a number of at least 1."""
    # 0.9995 so that what would be shown as 1000 moves up to the next unit.
    scale, unit = next((u for u in units if abs(value) >= u[0] * 0.9995), units[-1])
    number = value / scale
    whole = number == int(number) and scale <= 1 and unit in ("B", "bit/s", "ns")
    digits = 0 if whole or abs(number) >= 99.95 else 1 if abs(number) >= 9.995 else 2
    return f"{number:.{digits}f} {unit}"
