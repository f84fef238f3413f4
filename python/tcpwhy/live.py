"""Live links in, a stream of (table, batch) out, for as long as one wants to watch."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Unpack

from tcpwhy import _core
from tcpwhy._core import UsageError
from tcpwhy.analysis import Result
from tcpwhy.options import options_of, settled, takes_options
from tcpwhy.options.flows import check_flow, is_number
from tcpwhy.options.keywords import MonitorOptions
from tcpwhy.units import as_bytes

TABLES = tuple(name for name in dict(_core.tables_by_maker())["analyze"] if name != "segments")

INTERVAL_NS = int(options_of("monitor")["interval"].default or 0)
"""Length of a periodic calculation unless another is chosen."""

BOUNDS = (
    "table_evictions",
    "evicted_long",
    "flows_forgotten",
    "outstanding_overflow",
    "unanswered_overflow",
    "tunnel_overflow",
)
"""Counters of what a bound cut; whoever ends a run is told of those that are not 0."""


def bounds_that_bit(counters: dict[str, int]) -> list[str]:
    """Name the bounds that a run met, how often, and what that means."""
    found = []
    for name, meaning in _core.counters():
        if name in BOUNDS and counters.get(name):
            found.append(f"{name} {counters[name]:,}: {meaning[0].lower()}{meaning[1:]}")
    return found


def _check_rings(rings: int, size: int) -> None:
    """Refuse rings that would take half of the memory of this machine, and all else with it."""
    most = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    if rings * size > most:
        raise UsageError(
            f"{rings:,} rings of {as_bytes(size)} take more than half of this machine's memory"
            f" ({as_bytes(2 * most)}): choose fewer workers"
        )


class Monitor(Result):
    """A link that is being watched: iterated over once, until it is stopped."""


@takes_options
def monitor(
    interfaces: str | Iterable[str],
    *,
    table: str | Iterable[str] = ("flows", "intervals"),
    **options: Unpack[MonitorOptions],
) -> Monitor:
    """Say for every TCP connection on a link what limits it, while it lasts.

    Args:
        interfaces: one interface or several; a flow may have one direction on each of two.
        table: the table or tables to produce, of flows, intervals, periods, stalls, counters.
        **options: as above.

    Raises:
        UsageError: for an option that makes no sense, an unknown interface, or a wrong filter.
        PrivilegeError: without CAP_NET_RAW.
        InputError: for an interface that cannot be captured. One that disappears later is raised
            by the iteration after the last row.

    """
    names = [interfaces] if isinstance(interfaces, str) else list(interfaces)
    tables = [table] if isinstance(table, str) else list(table)
    if len(set(names)) < len(names):
        raise UsageError("an interface is named twice")
    if "any" in names and not Path("/sys/class/net/any").exists():
        raise UsageError("no interface 'any': name each one to watch, such as eth0 eth1")
    if "segments" in tables:
        raise UsageError("the segments table is of captures only: analyze has it")
    given = settled("monitor", options)
    if "flow" in given:
        check_flow(given["flow"])
        if is_number(given["flow"]):
            raise UsageError("connections on a link have no numbers: choose by HOST:PORT")
    ring_bytes = given.get("ring_bytes") or int(options_of("monitor")["ring_bytes"].default or 0)
    _check_rings(len(names) * given.get("workers", 1), ring_bytes)
    return Monitor(_core.monitor(names, tables=tables, options=given), tables)
