"""Numbers with units, as options of a test have them."""

from tcpwhy._core import UsageError
from tcpwhy.units import quantity


def prefixed(text: str | int, unit: str = "bytes") -> int:
    """Convert "10M", "64K", "64KiB", "10Mbit/s" or a number; `unit` is bytes or bps."""
    result = round(quantity(str(text), unit))
    if not 0 < result < 2**63:
        raise UsageError(f"{text!r} must be above 0 and below 2^63")
    return result
