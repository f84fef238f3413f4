"""The hosts of a scenario as network namespaces, joined by the emulator."""

import os
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

from tcpwhy import _core
from tcpwhy._core import PrivilegeError
from tcpwhy.lab import settings
from tcpwhy.lab.kernelpath import KernelPath
from tcpwhy.lab.namespace import Namespace
from tcpwhy.lab.scenario import Scenario

DEVICE = "link0"
"""The interface of every host."""
OWN, KERNEL = "tcpwhy", "kernel"
"""Who emulates the path: the simulator's elements, or queueing disciplines of the kernel."""
WARM_UP_PORT, WARM_UP_BYTES = 4999, 20_000


class Network:
    """Namespaces, interfaces, addresses and links of a scenario; use it in a `with` statement."""

    def __init__(
        self, scenario: Scenario, *, middle: Path | None = None, emulator: str = OWN
    ) -> None:
        self.scenario = scenario
        self.path = KernelPath(scenario, DEVICE) if emulator == KERNEL else None
        """The kernel's path; None when the simulator's elements make it."""
        self.hosts: dict[str, Namespace] = {}
        self._middle = middle
        self._undo = ExitStack()
        self._emulation: _core.Emulation | None = None

    def __enter__(self) -> "Network":
        try:
            self._build()
        except BaseException:
            self._undo.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._undo.close()

    def begin(self, start: float) -> None:
        """Make a time of the monotonic clock time 0 of the links: of outages, steps and dice.

        The kernel's path knows no times.
        """
        if self._emulation is not None:
            self._emulation.begin(round(start * 1e9))

    def stop(self) -> dict[str, Any]:
        """End the emulation; what it came to."""
        if self.path:
            return self.path.stop()
        assert self._emulation is not None
        facts = self._emulation.stop()
        assert facts is not None, "stopped once"
        return facts

    def _build(self) -> None:
        if self.path:
            self.path.plan()
        for name in self.scenario.hosts:
            self.hosts[name] = self._namespace(name)
        if self.path:
            self.path.build(self.hosts, self._namespace)
            self._configure_all()
            self.path.go()
        else:
            self._emulate()
        for name, needs in self._host_settings().items():
            if needs.warm_up:
                self._warm_up(name)

    def _emulate(self) -> None:
        """Join the hosts by the simulator's elements."""
        # Hosts are numbered in the order of their names, as the emulator numbers them.
        taps = []
        for host in self.hosts.values():
            taps.append(host.open_tap(DEVICE, offload=self.scenario.offload))
            self._undo.callback(os.close, taps[-1])
        self._configure_all()
        self._emulation = _core.emulate(
            self.scenario.path,
            taps=taps,
            offload=self.scenario.offload,
            seed=self.scenario.seed,
            middle=self._middle,
        )
        self._undo.callback(self._emulation.stop)

    def _namespace(self, name: str) -> Namespace:
        rootless = os.geteuid() != 0
        if rootless and self.path:
            raise PrivilegeError("`--emulator kernel` needs root: its namespaces share interfaces")
        return self._undo.enter_context(Namespace(name, rootless=rootless))

    def _configure_all(self) -> None:
        wanted = self._host_settings()
        for number, name in enumerate(self.scenario.hosts):
            self._configure(number, name, wanted[name])

    def _host_settings(self) -> dict[str, settings.HostSettings]:
        wanted = {name: settings.HostSettings() for name in self.scenario.hosts}
        for flow in self.scenario.flows:
            for name, tcp in zip(flow.hosts, flow.tcp, strict=True):
                one = settings.host(tcp)
                wanted[name].sysctls.update(one.sysctls)
                wanted[name].route.update(one.route)
                wanted[name].warm_up |= one.warm_up
        return wanted

    def _configure(self, number: int, name: str, wanted: settings.HostSettings) -> None:
        """Give a host its address, and routes and neighbours, so that nobody has to ask."""
        host = self.hosts[name]
        family = {} if ":" in self.scenario.hosts[name] else settings.WITHOUT_IPV6
        host.call("sysctl", values={**settings.PINNED, **family, **wanted.sysctls})
        metrics = " ".join(f"{key} {value}" for key, value in wanted.route.items())
        own = self.scenario.hosts[name]
        # The kernel's path has given its interfaces addresses already.
        address = "" if self.path else f"address {_mac(number)} "
        lines = [
            "link set lo up",
            f"link set {DEVICE} {address}txqueuelen 10000 up",
            f"address add {own}/{_bits(own)} dev {DEVICE}{_instantly(own)}",
        ]
        for other, (peer, far) in enumerate(self.scenario.hosts.items()):
            if self.path and not self.path.reaches(name, peer):
                continue
            if peer != name and (":" in far) == (":" in own):
                mac = self.path.gateway(name, peer) if self.path else _mac(other)
                lines += [
                    f"route add {far}/{_bits(far)} dev {DEVICE} src {own} {metrics}",
                    f"neighbour replace {far} lladdr {mac} dev {DEVICE} nud permanent",
                ]
        host.call("ip", lines=lines)

    def _warm_up(self, name: str) -> None:
        """Make the kernel remember the destinations of a host: only then do metrics bind."""
        host = self.hosts[name]
        save = "net.ipv4.tcp_no_metrics_save"
        host.call("sysctl", values={save: "0"})
        for flow in self.scenario.flows:
            if flow.hosts[0] == name:
                address = self.scenario.hosts[flow.hosts[1]]
                self.hosts[flow.hosts[1]].call("listen_once", local=(address, WARM_UP_PORT))
                host.call("warm_up", remote=(address, WARM_UP_PORT), size=WARM_UP_BYTES)
        host.call("sysctl", values={save: "1"})


def _mac(number: int) -> str:
    """A locally administered address."""
    return f"02:00:00:00:00:{number + 1:02x}"


def _instantly(address: str) -> str:
    """Nobody else has the address: it need not be looked for (RFC 4862 section 5.4)."""
    return " nodad" if ":" in address else ""


def _bits(address: str) -> int:
    return 128 if ":" in address else 32
