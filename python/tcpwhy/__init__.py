"""Says what limits each TCP connection, how sure that is, and what to change.

import tcpwhy
flows = tcpwhy.analyze("slow.pcap").to_polars()
"""

import importlib
import typing

from tcpwhy._core import (
    InputError,
    PrivilegeError,
    TcpwhyError,
    UsageError,
    __version__,
)

if typing.TYPE_CHECKING:
    from tcpwhy.active.api import Measurement, measure
    from tcpwhy.analysis import DamagedInputWarning, Result, analyze
    from tcpwhy.live import Monitor, monitor
    from tcpwhy.simulation import Simulation, simulate
    from tcpwhy.store import Store

__all__ = [
    "DamagedInputWarning",
    "InputError",
    "Measurement",
    "Monitor",
    "PrivilegeError",
    "Result",
    "Simulation",
    "Store",
    "TcpwhyError",
    "UsageError",
    "__version__",
    "analyze",
    "measure",
    "monitor",
    "simulate",
]

_HOMES = {
    "tcpwhy.active.api": ("Measurement", "measure"),
    "tcpwhy.analysis": ("DamagedInputWarning", "Result", "analyze"),
    "tcpwhy.live": ("Monitor", "monitor"),
    "tcpwhy.simulation": ("Simulation", "simulate"),
    "tcpwhy.store": ("Store",),
}
"""Modules of public names: they are imported when a name is used, so that commands start fast."""


def __getattr__(name: str) -> object:
    """Import what is used (PEP 562)."""
    for module, names in _HOMES.items():
        if name in names:
            value = getattr(importlib.import_module(module), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Name the public names, imported or not."""
    return sorted({*globals(), *__all__})
