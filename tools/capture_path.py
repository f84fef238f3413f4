"""A sender, a middle and a receiver in network namespaces, with a path whose limits are known.

    sender ns            middle ns (router or bridge)            receiver ns
    s0 ====== near ====== m0    [drop rule]    m1 [tbf] ====== far ====== r0

A link with a delay is a pair of TAP interfaces joined by `capture_link.py`; one without is a veth
pair, whose offloads stay on only where the path says so. Needs root. Everything is removed again,
also after a failure.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path as FilePath

TOOLS = FilePath(__file__).parent
# Networks reserved for documentation (RFC 5737): no real host is ever in these captures.
SENDER, RECEIVER_ROUTED, RECEIVER_BRIDGED = "192.0.2.10", "198.51.100.20", "192.0.2.20"
ROUTER_NEAR, ROUTER_FAR = "192.0.2.1", "198.51.100.1"
MAC = {name: f"02:00:00:00:00:{n:02x}" for n, name in enumerate(("s0", "m0", "m1", "r0"), 1)}
OFFLOADS = ("tso", "gso", "gro")
# Pinned so that recordings compare. Congestion control is pinned per socket: a namespace may not
# choose one that the kernel restricts.
SYSCTLS = {
    "net.ipv4.tcp_no_metrics_save": "1",
    "net.ipv4.ip_forward": "1",
    "net.ipv6.conf.all.disable_ipv6": "1",
    "net.ipv6.conf.default.disable_ipv6": "1",
}


@dataclass(frozen=True)
class Limits:
    """What the path does to packets."""

    near_delay_ms: float = 0.0
    far_delay_ms: float = 0.0
    bridge: bool = False
    mirror: bool = False
    offload: bool = False
    rate_bps: int | None = None
    queue_bytes: int = 0
    drop_percent: int | None = None

    @property
    def receiver(self) -> str:
        """The receiver's address."""
        return RECEIVER_BRIDGED if self.bridge else RECEIVER_ROUTED


def run(command: Sequence[str]) -> str:
    """Runs a command; its output, or an error that shows what it said."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


class Path:
    """The three namespaces with the path between them; use it in a `with` statement."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        tag = f"tcpwhy-rec-{os.getpid()}"
        self.ns = {role: f"{tag}-{role}" for role in ("sender", "middle", "receiver")}
        self.links: list[subprocess.Popen[str]] = []
        self._undo = ExitStack()

    def __enter__(self) -> Path:
        try:
            self._build()
        except BaseException:
            self._undo.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._undo.close()

    def command(self, role: str, *command: str) -> list[str]:
        """A command line that runs in a namespace."""
        return ["ip", "netns", "exec", self.ns[role], *command]

    def inside(self, role: str, *command: str) -> str:
        """Runs a command in a namespace."""
        return run(self.command(role, *command))

    def start(self, role: str, *command: str) -> subprocess.Popen[str]:
        """Starts a command in a namespace; it is ended with the path at the latest."""
        process = subprocess.Popen(
            self.command(role, *command),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._undo.callback(stop, process)
        return process

    def facts(self) -> dict[str, object]:
        """What the shaper, the drop rule and the delay links did."""
        facts: dict[str, object] = {}
        if self.limits.rate_bps:
            shown = json.loads(
                self.inside("middle", "tc", "-s", "-j", "qdisc", "show", "dev", "m1")
            )
            facts["tbf"] = {key: shown[0][key] for key in ("packets", "drops", "overlimits")}
        if self.limits.drop_percent is not None:
            rules = json.loads(self.inside("middle", "nft", "-j", "list", "ruleset"))["nftables"]
            facts["dropped_by_rule"] = sum(
                item["counter"]["packets"]
                for rule in rules
                for item in rule.get("rule", {}).get("expr", ())
                if "counter" in item
            )
        facts["links"] = [json.loads(stop(link).splitlines()[-1]) for link in self.links]
        self.links.clear()
        return facts

    def _build(self) -> None:
        for name in self.ns.values():
            run(["ip", "netns", "add", name])
            self._undo.callback(run, ["ip", "netns", "del", name])
        for role in self.ns:
            for key, value in SYSCTLS.items():
                self.inside(role, "sysctl", "-qw", f"{key}={value}")
        self._join("sender", "s0", "m0", self.limits.near_delay_ms)
        self._join("receiver", "r0", "m1", self.limits.far_delay_ms)
        self._address()
        if self.limits.rate_bps:
            self._shape(self.limits.rate_bps, self.limits.queue_bytes)
        if self.limits.drop_percent is not None:
            self._drop(self.limits.drop_percent)
        if self.limits.mirror:
            self._mirror()

    def _join(self, role: str, end: str, middle: str, delay_ms: float) -> None:
        """A link between an end host and the middle."""
        if delay_ms:
            link = self.start(
                "middle",
                sys.executable,
                str(TOOLS / "capture_link.py"),
                end,
                middle,
                f"--delay-ms={delay_ms}",
            )
            assert link.stdout is not None
            if link.stdout.readline().strip() != "ready":
                raise RuntimeError(f"delay link {end}-{middle}: {stop(link)}")
            self.links.append(link)
        else:
            self.inside(
                "middle", "ip", "link", "add", "name", end, "type", "veth", "peer", "name", middle
            )
        self.inside("middle", "ip", "link", "set", end, "netns", self.ns[role])
        for owner, name in ((role, end), ("middle", middle)):
            self.inside(owner, "ip", "link", "set", name, "address", MAC[name], "up")
            state = "on" if self.limits.offload and not delay_ms else "off"
            settings = [word for offload in OFFLOADS for word in (offload, state)]
            self.inside(owner, "ethtool", "-K", name, *settings)
            if state == "off" and not delay_ms:
                # Else a forwarded or captured packet carries no valid checksum.
                self.inside(owner, "ethtool", "-K", name, "tx", "off")

    def _address(self) -> None:
        """Addresses, routes and fixed neighbours, so that no ARP delays the first SYN."""
        far = self.limits.receiver
        self.inside("sender", "ip", "address", "add", f"{SENDER}/24", "dev", "s0")
        self.inside("receiver", "ip", "address", "add", f"{far}/24", "dev", "r0")
        if self.limits.bridge:
            self.inside("middle", "ip", "link", "add", "name", "br0", "type", "bridge")
            self.inside("middle", "ip", "link", "set", "br0", "up")
            for port in ("m0", "m1"):
                self.inside("middle", "ip", "link", "set", port, "master", "br0")
            self._neighbour("sender", far, "s0", "r0")
            self._neighbour("receiver", SENDER, "r0", "s0")
            return
        self.inside("middle", "ip", "address", "add", f"{ROUTER_NEAR}/24", "dev", "m0")
        self.inside("middle", "ip", "address", "add", f"{ROUTER_FAR}/24", "dev", "m1")
        self.inside("sender", "ip", "route", "add", "default", "via", ROUTER_NEAR)
        self.inside("receiver", "ip", "route", "add", "default", "via", ROUTER_FAR)
        self._neighbour("sender", ROUTER_NEAR, "s0", "m0")
        self._neighbour("receiver", ROUTER_FAR, "r0", "m1")
        self._neighbour("middle", SENDER, "m0", "s0")
        self._neighbour("middle", far, "m1", "r0")

    def _neighbour(self, role: str, address: str, device: str, owner: str) -> None:
        self.inside(
            role,
            "ip",
            "neighbour",
            "replace",
            address,
            "lladdr",
            MAC[owner],
            "dev",
            device,
            "nud",
            "permanent",
        )

    def _shape(self, rate_bps: int, queue_bytes: int) -> None:
        self.inside(
            "middle",
            "tc",
            "qdisc",
            "replace",
            "dev",
            "m1",
            "root",
            "tbf",
            "rate",
            f"{rate_bps}bit",
            "burst",
            "1600",
            "limit",
            str(queue_bytes),
        )

    def _drop(self, percent: int) -> None:
        """Drops data packets at random on their way to the receiver; pure ACKs pass."""
        family = "bridge" if self.limits.bridge else "ip"
        rules = f"""
            table {family} loss {{
                chain forward {{
                    type filter hook forward priority 0;
                    ip daddr {self.limits.receiver} ip length > 100 \
                        numgen random mod 100 < {percent} counter drop
                }}
            }}"""
        self.inside("middle", "nft", rules)

    def _mirror(self) -> None:
        """Copies what enters and what leaves every port to `mon`, as a SPAN session does."""
        self.inside(
            "middle", "ip", "link", "add", "name", "span", "type", "veth", "peer", "name", "mon"
        )
        for name in ("span", "mon"):
            self.inside("middle", "ip", "link", "set", name, "up")
        chains = "".join(
            f"chain {hook}_{port} {{ type filter hook {hook} device {port} priority 0; "
            'dup to "span"; }\n'
            for hook in ("ingress", "egress")
            for port in ("m0", "m1")
        )
        self.inside("middle", "nft", f"table netdev mirror {{\n{chains}}}")


def stop(process: subprocess.Popen[str]) -> str:
    """Ends a process that this program started, by its own handle; gives what it printed last."""
    if process.poll() is None:
        process.terminate()
    try:
        output, _ = process.communicate(timeout=5)
    except subprocess.TimeoutExpired:
        process.kill()
        output, _ = process.communicate()
    except ValueError:
        # Its pipes were read to the end and closed before.
        output = ""
    return output
