"""A scenario's network from what the kernel has: routers joined by veth pairs with disciplines.

Each link is two namespaces, one for each end, and a pair of interfaces between them: what goes
forward queues where it leaves the one, what comes back where it leaves the other. So flows from
several hosts meet in one queue. Frames are routed by destination, with neighbours that are set.
"""

import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tcpwhy.lab.namespace import Namespace, NamespaceError
from tcpwhy.lab.qdisc import NoQdiscError, Place, kinds, translate
from tcpwhy.lab.scenario import Scenario

Station = str | tuple[str, str]
"""A host by its name, or an end of a link: its name, and the direction that leaves there."""

FORWARD, BACKWARD = "forward", "backward"
OFFLOADS = "tx off sg off tso off gso off gro off"
PERIOD_S = 0.1

COLUMNS = {
    "events": {
        "at_ns": "BIGINT",
        "link": "VARCHAR",
        "action": "VARCHAR",
        "reason": "VARCHAR",
        "half": "INTEGER",
    },
    "queues": {
        "at_ns": "BIGINT",
        "link": "VARCHAR",
        "element": "INTEGER",
        "queue_packets": "BIGINT",
        "queue_bytes": "BIGINT",
        "sent_packets": "BIGINT",
        "sent_bytes": "BIGINT",
        "busy_ns": "BIGINT",
        "kind": "VARCHAR",
        "drops": "BIGINT",
        "marks": "BIGINT",
    },
}
"""Columns of the tables of a run: no log of single drops, but what each discipline counted."""

ROUTER = {
    "net.ipv4.ip_forward": "1",
    "net.ipv4.conf.all.rp_filter": "0",
    "net.ipv4.conf.default.rp_filter": "0",
    "net.ipv6.conf.all.accept_dad": "0",
    "net.ipv6.conf.default.accept_dad": "0",
    "net.ipv6.conf.all.forwarding": "1",
}

# What each kind needs to be created at all, for the look whether the kernel has it.
_LEAST = {
    "tbf": "rate 1mbit burst 2000 limit 10000",
    "red": "limit 60000 min 5000 max 25000 avpkt 1000 burst 12",
}
KINDS = ("netem", "tbf", "pfifo", "bfifo", "pfifo_head_drop", "codel", "pie", "red", "police")


def missing(wanted: set[str], host: Namespace) -> list[str]:
    """Name the disciplines that this kernel has not, by trying each in a namespace."""
    lacks = []
    host.call("ip", lines=["link add name try0 type veth peer name try1", "link set try0 up"])
    for kind in sorted(wanted):
        line = f"qdisc add dev try0 root handle 1: {kind} {_LEAST.get(kind, '')}"
        if kind == "police":
            line = "qdisc add dev try0 clsact\nfilter add dev try0 egress matchall "
            line += "action police rate 1mbit burst 10k"
        try:
            host.call("run", command=["tc", "-batch", "-"], text=line)
            if kind != "police":
                host.call("run", command=["tc", "qdisc", "del", "dev", "try0", "root"])
        except NamespaceError:
            lacks.append(kind)
    host.call("ip", lines=["link del try0"])
    return lacks


def remedy(lacks: list[str]) -> str:
    """Say what to do about missing disciplines."""
    modules = [{"police": "cls_matchall act_police"}.get(kind, f"sch_{kind}") for kind in lacks]
    return (
        f"modprobe {' '.join(modules)}; or run without `--emulator kernel`: the lab's own emulator "
        "needs none of them"
    )


@dataclass
class _Edge:
    """A pair of interfaces: at either end the station, the device and its address."""

    stations: tuple[Station, Station]
    devices: tuple[str, str]
    macs: tuple[str, str]

    def end(self, station: Station) -> int:
        return self.stations.index(station)


@dataclass
class KernelPath:
    """Routers, interfaces and disciplines of a scenario."""

    scenario: Scenario
    device: str
    """The interface of every host."""
    routers: dict[tuple[str, str], Namespace] = field(default_factory=dict)
    _places: dict[tuple[str, str], Place] = field(default_factory=dict)
    _edges: dict[tuple[Station, Station], _Edge] = field(default_factory=dict)
    _next: dict[Station, dict[str, Station]] = field(default_factory=dict)

    def plan(self) -> None:
        """Lay out stations, edges and routes; an error names what the kernel cannot do."""
        if self.scenario.offload:
            raise NoQdiscError("super-packets pass a queue whole: run without `--emulator kernel`")
        for tool, package in (("tc", "iproute2"), ("ethtool", "ethtool")):
            if not shutil.which(tool):
                raise NoQdiscError(f"`--emulator kernel` needs {tool}: apt install {package}")
        for one in (*self.scenario.raw["flows"], *self.scenario.raw.get("udp", ())):
            ends = [(link, way) for link in one["path"] for way in (FORWARD, BACKWARD)]
            stations = [one["from"], *ends, one["to"]]
            for i, station in enumerate(stations):
                if i + 1 < len(stations):
                    self._join(station, stations[i + 1])
                    self._route(station, one["to"], stations[i + 1])
                if i:
                    self._route(station, one["from"], stations[i - 1])
        for link, settings in self.scenario.raw["links"].items():
            forward = settings["forward"]
            self._places[link, FORWARD] = translate(forward)
            self._places[link, BACKWARD] = translate(settings.get("backward", forward))

    def build(self, hosts: Mapping[str, Namespace], start: Callable[[str], Namespace]) -> None:
        """Start the routers, join everything, and set the disciplines."""
        for station in self._next:
            if isinstance(station, tuple):
                self.routers[station] = start("/".join(station))
        first = next(iter(self.routers.values()))
        used = [place for key, place in self._places.items() if key in self.routers]
        wanted = kinds(used) | {"police" for place in used if place.policer}
        if lacks := missing(wanted, first):
            raise NoQdiscError(f"this kernel has no {', '.join(lacks)}: {remedy(lacks)}")
        place: dict[Station, Namespace] = dict(hosts.items())
        place.update(self.routers.items())
        for edge in self._edges.values():
            a, b = edge.stations if isinstance(edge.stations[0], tuple) else edge.stations[::-1]
            (one, mac), (other, far_mac) = (
                (edge.devices[i], edge.macs[i]) for i in (edge.end(a), edge.end(b))
            )
            line = f"link add name {one} address {mac} type veth peer name {other} "
            line += f"address {far_mac} netns {place[b].pid()}"
            place[a].call("ip", lines=[line])
        for key, router in self.routers.items():
            self._configure(key, router)
        for name in {*hosts} & {*self._next}:
            hosts[name].call("run", command=["ethtool", "-K", self.device, *OFFLOADS.split()])

    def gateway(self, host: str, destination: str) -> str:
        """Give the address of the neighbour through which a host reaches another."""
        return self._neighbour(host, self._next[host][destination])[1]

    def reaches(self, host: str, destination: str) -> bool:
        """Say whether any flow goes from the one to the other or back."""
        return destination in self._next.get(host, {})

    def middle(self) -> tuple[Namespace, str] | None:
        """Give where a capture in front of the last link of the first flow stands."""
        path = self.scenario.raw["flows"][0]["path"]
        if len(path) < 2:
            return None
        near, far = (path[-2], BACKWARD), (path[-1], FORWARD)
        return self.routers[far], self._neighbour(far, near)[0]

    def go(self) -> None:
        """Start to read the counters of all queues."""
        for key, router in self.routers.items():
            router.call("watch_queues", device=self._across(key), period_s=PERIOD_S)

    def stop(self) -> dict[str, Any]:
        """End it; what the queues counted, in the words of the lab's own emulator."""
        queues: list[dict[str, Any]] = []
        for key, router in self.routers.items():
            for at_ns, listed in router.call("queues"):
                queues += _rows("/".join(key), at_ns, listed)
        unknown = ("sent", "delivered", "dropped", "marked", "unroutable", "overflow", "refused")
        return {
            "kind": "kernel",
            **dict.fromkeys((*unknown, "unsplit", "read_errors", "failure")),
            "lost_rows": 0,
            "is_real_time": None,
            "lateness": {"p50_ns": None, "p99_ns": None, "p999_ns": None, "histogram": []},
            "disciplines": self._described(),
            "events": [],
            "queues": queues,
        }

    def _described(self) -> dict[str, list[str]]:
        return {
            "/".join(key): list(self._places[key].lines(self._across(key))) for key in self.routers
        }

    def _join(self, a: Station, b: Station) -> None:
        if (a, b) in self._edges or (b, a) in self._edges:
            return
        number = len(self._edges)
        names = []
        for station in (a, b):
            at = sum(station in edge.stations for edge in self._edges.values())
            if isinstance(station, str) and at:
                raise NoQdiscError(
                    f"host {station} is at two links: run without `--emulator kernel`"
                )
            names.append(f"to{at}" if isinstance(station, tuple) else self.device)
        macs = (f"02:00:00:01:{number:02x}:00", f"02:00:00:01:{number:02x}:01")
        self._edges[a, b] = _Edge((a, b), (names[0], names[1]), macs)

    def _route(self, station: Station, host: str, to: Station) -> None:
        known = self._next.setdefault(station, {})
        if known.setdefault(host, to) != to:
            raise NoQdiscError(f"two ways to {host} from {station}: routes need one")

    def _neighbour(self, station: Station, other: Station) -> tuple[str, str]:
        """Give the device there that leads to another station, and the address at its far end."""
        edge = self._edges.get((station, other)) or self._edges[other, station]
        near = edge.end(station)
        return edge.devices[near], edge.macs[1 - near]

    def _across(self, key: tuple[str, str]) -> str:
        """Give the interface at which a direction of a link queues."""
        link, way = key
        return self._neighbour(key, (link, BACKWARD if way == FORWARD else FORWARD))[0]

    def _configure(self, key: tuple[str, str], router: Namespace) -> None:
        devices = sorted({self._neighbour(key, to)[0] for to in self._next[key].values()})
        router.call("sysctl", values=ROUTER)
        lines = [f"link set {name} up" for name in ("lo", *devices)]
        for host, to in self._next[key].items():
            address = self.scenario.hosts[host]
            device, mac = self._neighbour(key, to)
            lines += [
                f"route add {address} dev {device}",
                f"neighbour replace {address} lladdr {mac} dev {device} nud permanent",
            ]
        router.call("ip", lines=lines)
        for device in devices:
            router.call("run", command=["ethtool", "-K", device, *OFFLOADS.split()])
        text = "\n".join(self._places[key].lines(self._across(key)))
        router.call("run", command=["tc", "-batch", "-"], text=text)


def _rows(link: str, at_ns: int, listed: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Rows like those of the table `queues`, with the drops that a discipline counts."""
    for element, one in enumerate(listed):
        rate = one.get("options", {}).get("rate")
        rate_bytes = rate if isinstance(rate, int | float) else 0
        yield {
            "at_ns": at_ns,
            "link": link,
            "element": element,
            "queue_packets": one["qlen"],
            "queue_bytes": one["backlog"],
            "sent_packets": one["packets"],
            "sent_bytes": one["bytes"],
            "busy_ns": round(one["bytes"] / rate_bytes * 1e9) if rate_bytes else 0,
            "kind": one["kind"],
            "drops": one["drops"],
            "marks": one.get("marked", one.get("ecn_mark", 0)),
        }
