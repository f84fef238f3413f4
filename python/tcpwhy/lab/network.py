"""The hosts of a scenario as network namespaces, joined by the emulator."""

import os
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

from tcpwhy import _core
from tcpwhy._core import PrivilegeError
from tcpwhy.lab import settings
from tcpwhy.lab.namespace import Namespace
from tcpwhy.lab.scenario import Scenario

DEVICE = "link0"
"""The interface of every host."""
WARM_UP_PORT, WARM_UP_BYTES = 4999, 20_000


class Network:
    """Namespaces, interfaces, addresses and links of a scenario; use it in a `with` statement."""

    def __init__(self, scenario: Scenario, *, middle: Path | None = None) -> None:
        self.scenario = scenario
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

    def stop(self) -> dict[str, Any]:
        """End the emulation; what it came to."""
        assert self._emulation is not None
        facts = self._emulation.stop()
        assert facts is not None, "stopped once"
        return facts

    def _build(self) -> None:
        # Hosts are numbered in the order of their names, as the emulator numbers them.
        rootless = os.geteuid() != 0
        taps = []
        for name in self.scenario.hosts:
            host = self._undo.enter_context(_namespace(name, rootless=rootless))
            self.hosts[name] = host
            taps.append(host.open_tap(DEVICE, offload=self.scenario.offload))
            self._undo.callback(os.close, taps[-1])
        wanted = self._host_settings()
        for number, name in enumerate(self.scenario.hosts):
            self._configure(number, name, wanted[name])
        self._emulation = _core.emulate(
            self.scenario.path,
            taps=taps,
            offload=self.scenario.offload,
            seed=self.scenario.seed,
            middle=self._middle,
        )
        self._undo.callback(self._emulation.stop)
        for name, needs in wanted.items():
            if needs.warm_up:
                self._warm_up(name)

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
        lines = [
            "link set lo up",
            f"link set {DEVICE} address {_mac(number)} txqueuelen 10000 up",
            f"address add {own}/{_bits(own)} dev {DEVICE}{_instantly(own)}",
        ]
        for other, (peer, address) in enumerate(self.scenario.hosts.items()):
            if peer != name and (":" in address) == (":" in own):
                lines += [
                    f"route add {address}/{_bits(address)} dev {DEVICE} src {own} {metrics}",
                    f"neighbour replace {address} lladdr {_mac(other)} dev {DEVICE} nud permanent",
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


def _namespace(name: str, *, rootless: bool) -> Namespace:
    try:
        return Namespace(name, rootless=rootless)
    except PrivilegeError as error:
        raise PrivilegeError(
            f"the lab needs network namespaces: {error}; `tcpwhy doctor` says what is missing"
        ) from error


def _mac(number: int) -> str:
    """A locally administered address."""
    return f"02:00:00:00:00:{number + 1:02x}"


def _instantly(address: str) -> str:
    """Nobody else has the address: it need not be looked for (RFC 4862 section 5.4)."""
    return " nodad" if ":" in address else ""


def _bits(address: str) -> int:
    return 128 if ":" in address else 32
