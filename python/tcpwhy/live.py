"""Live links in, a stream of (table, batch) out, for as long as one wants to watch."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from tcpwhy import _core
from tcpwhy._core import UsageError
from tcpwhy.analysis import Result, check, timeouts_ns
from tcpwhy.units import Duration, as_bytes, nanoseconds

TABLES = tuple(name for name in dict(_core.tables_by_maker())["analyze"] if name != "segments")

FANOUTS = ("hash", "cbpf", "qm")
"""Ways in which workers share packets."""

TIMESTAMPS = ("kernel", "hardware")
"""Who takes the times of packets."""

INTERVAL_NS = 3 * 10**9
"""Length of a periodic calculation unless another is chosen."""

MAX_FLOWS = 2_000_000
"""Flows that a worker holds at the same time: some 200 bytes each while they are short."""

RING_BYTES = 64 * 2**20
"""Memory of a ring unless told otherwise, as the core has it; all of it is resident."""

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


def monitor(
    interfaces: str | Iterable[str],
    *,
    table: str | Iterable[str] = ("flows", "intervals"),
    interval: Duration | None = None,
    idle_timeout: Duration | None = None,
    half_open_timeout: Duration | None = None,
    closed_timeout: Duration | None = None,
    min_packets: int | None = None,
    filter: str | None = None,
    flow: int | str | None = None,
    workers: int | None = None,
    compat: Literal["seed"] | None = None,
    fanout: Literal["hash", "cbpf", "qm"] = "hash",
    snaplen: int | None = None,
    promiscuous: bool = True,
    ring_bytes: int | None = None,
    max_flows: int | None = None,
    timestamps: Literal["kernel", "hardware"] = "kernel",
    drop_privileges: bool = False,
) -> Monitor:
    """Say for every TCP connection on a link what limits it, while it lasts.

    Args:
        interfaces: one interface or several; a flow may have one direction on each of two.
        table: the table or tables to produce, of flows, intervals, periods, counters.
        interval: length of a periodic calculation, 3 s unless given; rows come as often.
        idle_timeout: a flow without a packet for this long has ended; 180 s unless given.
        half_open_timeout: one of which only SYNs were seen; 60 s unless given.
        closed_timeout: one that both sides have closed, or one has reset; 10 s unless given.
        min_packets: data packets below which capacity-based scores are not computed, 300
            unless given.
        filter: a capture filter in the syntax of tcpdump, applied by the kernel.
        flow: only this flow, by flow_id or Community ID.
        workers: threads, each with its ring; as many as there are cores unless given.
        compat: "seed" also computes the formulas of the published prototype.
        fanout: how workers share packets: the kernel's symmetric hash, a program of ours, or the
            queue of the card.
        snaplen: bytes of a frame that are kept, 256 unless given; headers are enough.
        promiscuous: also packets to other hosts.
        ring_bytes: memory of each ring, 64 MiB unless given.
        max_flows: flows that a worker holds at the same time, two million unless given; beyond,
            closed and half-open ones go first, then short ones; long ones never for a flood.
        timestamps: who takes the times of packets: the kernel, or the card where it can, which
            takes CAP_NET_ADMIN and changes the card's state for all.
        drop_privileges: give up every capability of this thread once the sockets are open.

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
    if timestamps not in TIMESTAMPS:
        raise UsageError(f"no timestamps {timestamps!r}: there are {', '.join(TIMESTAMPS)}")
    numbers = {"min_packets": min_packets, "workers": workers, "max_flows": max_flows}
    numbers |= {"snaplen": snaplen, "ring_bytes": ring_bytes}
    check(compat, flow, numbers, least={"snaplen": 64, "ring_bytes": 2**22})
    _check_rings(len(names) * (workers or 1), ring_bytes or RING_BYTES)
    stream = _core.monitor(
        names,
        tables=tables,
        interval_ns=None if interval is None else nanoseconds(interval),
        timeouts_ns=timeouts_ns(idle_timeout, half_open_timeout, closed_timeout),
        min_packets=min_packets,
        filter=filter,
        flow=None if flow is None else str(flow),
        workers=workers,
        compat_seed=compat == "seed",
        fanout=fanout,
        snaplen=snaplen,
        promiscuous=promiscuous,
        ring_bytes=ring_bytes,
        max_flows=max_flows or MAX_FLOWS,
        hardware_times=timestamps == "hardware",
        drop_privileges=drop_privileges,
    )
    return Monitor(stream, tables)
