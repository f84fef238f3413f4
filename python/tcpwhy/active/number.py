"""Numbers with prefixes, as options of a test have them."""

import re

from tcpwhy._core import UsageError

_PREFIXES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_PREFIXES |= {"K": 10**3, "m": 10**6, "g": 10**9, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}


def prefixed(text: str | int) -> int:
    """Convert "10M", "64Ki" or a number: decimal prefixes, binary ones with an i."""
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([kKmMgGT]?i?)\s*", str(text))
    factor = _PREFIXES.get(match[2]) if match else None
    if match is None or factor is None:
        raise UsageError(f"{text!r} is not a number: write 65536, 64Ki or 10M")
    result = round(float(match[1]) * factor)
    if not 0 < result < 2**63:
        raise UsageError(f"{text!r} must be above 0 and below 2^63")
    return result
