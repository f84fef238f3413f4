"""Says for every TCP connection what keeps it from going faster, and how sure that is.

import tcpwhy
flows = tcpwhy.analyze("slow.pcap").to_polars()
"""

from tcpwhy._core import (
    InputError,
    PrivilegeError,
    TcpwhyError,
    UsageError,
    __version__,
)
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
