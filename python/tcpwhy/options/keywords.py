"""The keyword arguments of runs. Made by `make docs` of the registry of options."""

from os import PathLike
from typing import Literal, TypedDict

from tcpwhy.units import Duration


class AnalyzeOptions(TypedDict, total=False):
    """Options of `tcpwhy.analyze`."""

    filter: str | None
    flow: int | str | None
    frame: int | None
    interval: Duration | None
    min_packets: int | None
    compat: Literal["seed"] | None
    idle_timeout: Duration | None
    half_open_timeout: Duration | None
    closed_timeout: Duration | None
    clocks_ahead: str | None
    part: str | None
    workers: int | None
    max_flows: int | None
    pace: float | None


class MonitorOptions(TypedDict, total=False):
    """Options of `tcpwhy.monitor`."""

    filter: str | None
    flow: int | str | None
    interval: Duration | None
    min_packets: int | None
    compat: Literal["seed"] | None
    idle_timeout: Duration | None
    half_open_timeout: Duration | None
    closed_timeout: Duration | None
    workers: int | None
    max_flows: int | None
    fanout: Literal["hosts", "hash", "cbpf", "qm"] | None
    snaplen: int | str | None
    promiscuous: bool | None
    ring_bytes: int | str | None
    timestamps: Literal["kernel", "hardware"] | None
    drop_privileges: bool | None


class SimulateOptions(TypedDict, total=False):
    """Options of `tcpwhy.simulate`."""

    seed: int | None
    duration: Duration | None
    captures: str | PathLike[str] | None
    payload: bool | None
    sample: Duration | None
    tap: str | None
