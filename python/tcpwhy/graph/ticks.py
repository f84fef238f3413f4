"""Where an axis has its ticks, and what they say. `static/ticks.js` is the same in JavaScript."""

import math
from typing import NamedTuple

UNITS = {
    "bytes": ((0, "B"), (3, "kB"), (6, "MB"), (9, "GB"), (12, "TB")),
    "bps": ((0, "bit/s"), (3, "kbit/s"), (6, "Mbit/s"), (9, "Gbit/s")),
    "ns": ((0, "ns"), (3, "µs"), (6, "ms"), (9, "s")),
}
"""Units by the power of ten of the base unit."""

MINUTE_NS = 60_000_000_000
LONG_STEPS = (1, 2, 5, 10, 20, 30, 60, 120, 240, 480, 1440, 2880, 7200, 14400)
"""Steps of a time axis from a minute on, in minutes."""

MOST_DIGITS = 5
"""Powers of ten from step to value beyond which labels count from a base."""


class Tick(NamedTuple):
    """A tick and its label."""

    at: float
    label: str


class Axis(NamedTuple):
    """The ticks of an axis, the unit of their labels, and what the labels count from."""

    ticks: list[Tick]
    unit: str
    base: str


def axis(lo: float, hi: float, count: float, unit: str) -> Axis:
    """Give about `count` ticks from `lo` to `hi`, which are in the base unit."""
    raw = (hi - lo) / max(1.0, count)
    if unit == "ns" and raw > 50e9:
        return _minutes(lo, hi, raw)
    factor, exponent = _nice(raw)
    step = factor * 10.0**exponent
    largest = max(abs(lo), abs(hi))
    is_deep = largest >= step * 10.0**MOST_DIGITS
    power, name = _unit(unit, step * 1000 if is_deep else largest, exponent)
    decimals = max(0, power - exponent)
    block = 1000 * step
    base = math.floor(lo / block) * block if is_deep else 0.0
    ticks = []
    for index in range(math.ceil((lo - base) / step), math.floor((hi - base) / step) + 1):
        value = base + index * step
        text = grouped(_scaled(index * factor, exponent - power), decimals)
        ticks.append(Tick(value, f"+{text}" if is_deep else text))
    if not is_deep:
        return Axis(ticks, name, "")
    base_power, base_name = _unit(unit, largest, exponent + 3)
    text = grouped(base / 10.0**base_power, max(0, base_power - exponent - 3))
    return Axis(ticks, name, f"{text} {base_name}")


def _nice(raw: float) -> tuple[int, int]:
    """Give the least 1, 2 or 5 times a power of ten that is at least `raw`, and at least 1."""
    exponent = max(0, math.floor(math.log10(max(raw, 1.0))))
    for factor in (1, 2, 5):
        if factor * 10.0**exponent >= raw:
            return factor, exponent
    return 1, exponent + 1


def _unit(unit: str, value: float, exponent: int) -> tuple[int, str]:
    """Choose the largest unit that leaves a number of at least 1 and at most three decimals."""
    fitting = [
        found for found in UNITS[unit] if 10.0 ** found[0] <= value and found[0] - exponent <= 3
    ]
    return fitting[-1] if fitting else UNITS[unit][0]


def _minutes(lo: float, hi: float, raw: float) -> Axis:
    step = next((s for s in LONG_STEPS if s * MINUTE_NS >= raw), LONG_STEPS[-1]) * MINUTE_NS
    first, last = math.ceil(lo / step), math.floor(hi / step)
    ticks = [
        Tick(index * step, grouped(index * step / MINUTE_NS, 0)) for index in range(first, last + 1)
    ]
    return Axis(ticks, "min", "")


def _scaled(value: float, power: int) -> float:
    """Multiply by a power of ten, exactly where that can be."""
    return float(value * 10.0**power if power >= 0 else value / 10.0**-power)


def grouped(value: float, decimals: int) -> str:
    """Write a number with a comma between thousands."""
    return f"{value:,.{decimals}f}"
