"""Scenario files as the lab sees them: read by the simulator's own reader, then taken apart."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tcpwhy import _core
from tcpwhy.lab import settings
from tcpwhy.simulation import bundled

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Flow:
    """A TCP flow, with its settings laid over those of the hosts."""

    number: int
    hosts: tuple[str, str]
    """Who sends the data, and who receives it."""
    links: tuple[str, ...]
    """The links between them, in the order of the way there."""
    ports: tuple[int, int]
    opener: int
    """Which of the two sends the first SYN."""
    start_s: float
    workload: Settings
    reader: Settings
    tcp: tuple[Settings, Settings]


@dataclass(frozen=True)
class Udp:
    """A UDP source."""

    hosts: tuple[str, str]
    port: int
    wire_bytes: int
    source: Settings
    start_s: float
    stop_s: float | None


@dataclass(frozen=True)
class Expect:
    """What truly limits a half of a flow in a span of time."""

    flow: int
    backward: bool
    from_s: float
    to_s: float
    limitation: str
    cause: str | None
    accept: tuple[str, ...]

    def admits(self, limitation: str | None, cause: str | None) -> bool:
        """Say whether an answer is right: the limitation itself, or one that is as right."""
        names = {self.limitation, *self.accept, *(word.split("/")[0] for word in self.accept)}
        return limitation in names or cause in self.accept


@dataclass(frozen=True)
class Scenario:
    """A scenario file."""

    path: Path
    title: str
    seed: int
    duration_s: float
    overhead_bytes: int
    hosts: Mapping[str, str]
    """Addresses by name, in the order of the names."""
    flows: tuple[Flow, ...]
    udp: tuple[Udp, ...]
    expect: tuple[Expect, ...]
    raw: Settings = field(repr=False)

    @property
    def name(self) -> str:
        """The name of the file without its suffix."""
        return self.path.stem

    def obstacles(self) -> Iterator[str]:
        """Say why the kernel cannot run it; nothing when it can."""
        for flow in self.flows:
            # Both ends often have the same settings.
            names = (name for tcp in flow.tcp for name in settings.without_counterpart(tcp))
            yield from (f"no {name} in Linux" for name in dict.fromkeys(names))
            if flow.opener == 1 and flow.tcp[1].get("fast_open"):
                yield "with fast_open, Linux sends the SYN once the program writes: this one reads"
        for udp in self.udp:
            if "sine" in udp.source:
                yield "a sine needs the simulator's exact times"
        for tap in self.raw.get("taps", ()):
            if set(tap) - {"name", "host", "behind", "snaplen"}:
                yield f"the tap {tap['name']} spoils its capture, which the simulator does"
        elements = [e for link in self.raw["links"].values() for e in link["forward"]]
        is_reordering = any("reorder" in element for element in elements)
        if is_reordering and any(flow.tcp[0].get("sack") is False for flow in self.flows):
            yield "without SACK, Linux learns of reordering by rules of its own (tcp_reordering)"
        if any(host.get("gro_ms") for host in self.raw["hosts"].values()):
            yield "interfaces of the lab have no receive offload"
        if self._rate_bps > RATE_BPS_MAX:
            yield f"{self._rate_bps / 1e9:g} Gbit/s is more than the emulator carries"

    @property
    def offload(self) -> bool:
        """Whether hosts hand over super-packets: where asked for, and from 0.5 Gbit/s on.

        Captures at a sender then show them, as on any machine with segmentation offload.
        """
        asked = any(host.get("tso") for host in self.raw["hosts"].values())
        return asked or self._rate_bps >= OFFLOAD_BPS

    @property
    def round_trip_ms(self) -> float:
        """The shortest round trip of a flow over its empty path."""

        def delay_ms(link: str) -> float:
            forward = self.raw["links"][link]["forward"]
            backward = self.raw["links"][link].get("backward", forward)
            elements = [*forward, *backward]
            return float(sum(one["delay"]["delay_ms"] for one in elements if "delay" in one))

        return min(sum(delay_ms(link) for link in flow["path"]) for flow in self.raw["flows"])

    @property
    def _rate_bps(self) -> float:
        """The rate of the slowest link; 0 without any."""
        rates = [rate for link in self.raw["links"].values() for rate in _rates(link)]
        return min(rates, default=0.0)


OFFLOAD_BPS = 500_000_000
"""What one thread carries frame by frame on a machine that does other things as well."""
RATE_BPS_MAX = 2_000_000_000
"""What it carries when hosts hand over super-packets."""


def load(path: Path, *, seed: int | None = None) -> Scenario:
    """Read a scenario file; an error names the file, the line and the key."""
    names = _core.scenario_names(path)
    raw = tomllib.loads(path.read_text(encoding="utf-8"))
    duration_s = float(raw["duration_s"])
    flows = []
    for number, (entry, start_s, near, far) in enumerate(names["flows"]):
        flow = raw["flows"][entry]
        hosts = (flow["from"], flow["to"])
        tcp = tuple(
            {**raw["hosts"][host].get("tcp", {}), **flow.get(key, {})}
            for host, key in zip(hosts, ("tcp", "peer_tcp"), strict=True)
        )
        flows.append(
            Flow(
                number=number,
                hosts=hosts,
                links=tuple(flow["path"]),
                ports=(near, far),
                opener=1 if flow.get("opened_by") == "to" else 0,
                start_s=start_s,
                workload=flow["workload"],
                reader=flow.get("reader", {}),
                tcp=(tcp[0], tcp[1]),
            )
        )
    udp = [
        Udp(
            hosts=(source["from"], source["to"]),
            port=UDP_PORT + number,
            wire_bytes=source["wire_bytes"],
            source=source["source"],
            start_s=float(source.get("start_s", 0)),
            stop_s=source.get("stop_s"),
        )
        for number, source in enumerate(raw.get("udp", ()))
    ]
    return Scenario(
        path=path,
        title=raw["title"],
        seed=raw.get("seed", 1) if seed is None else seed,
        duration_s=duration_s,
        overhead_bytes=raw.get("overhead_bytes", 14),
        hosts=names["hosts"],
        flows=tuple(flows),
        udp=tuple(udp),
        expect=tuple(_expect(entry, duration_s) for entry in raw.get("expect", ())),
        raw=raw,
    )


def every() -> list[Path]:
    """Find all scenarios, sorted by name."""
    return sorted(bundled().glob("*.toml"))


def _expect(entry: Settings, duration_s: float) -> Expect:
    return Expect(
        flow=entry.get("flow", 0),
        backward=entry.get("backward", False),
        from_s=float(entry.get("from_s", 0)),
        to_s=float(entry.get("to_s", duration_s)),
        limitation=entry["limitation"],
        cause=entry.get("cause"),
        accept=tuple(entry.get("accept", ())),
    )


def _rates(link: Settings) -> Iterator[float]:
    for direction in ("forward", "backward"):
        for element in link.get(direction, ()):
            if "rate" in element:
                yield element["rate"]["rate_bps"]


UDP_PORT = 9000
"""Port of the first UDP source, as in the simulator."""
