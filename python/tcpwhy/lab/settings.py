"""From the TCP settings of scenario files to what Linux calls them.

A setting without a counterpart in Linux makes a scenario one for the simulator alone; it is named,
never silently left out.
"""

import socket
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Settings = Mapping[str, Any]
Option = tuple[int, int, int | bytes]

SO_SNDBUFFORCE, SO_RCVBUFFORCE, SO_MAX_PACING_RATE = 32, 33, 47
TCP_WINDOW_CLAMP, TCP_FASTOPEN, TCP_FASTOPEN_CONNECT = 10, 23, 30
FAST_OPEN_PENDING_MAX = 16
"""Connections that a listener serves before their handshakes are complete (RFC 7413, 5.1)."""

PINNED = {
    # Metrics of one run must not reach into the next one.
    "net.ipv4.tcp_no_metrics_save": "1",
    "net.ipv4.tcp_ecn": "0",
    "net.ipv4.tcp_sack": "1",
    "net.ipv4.tcp_timestamps": "1",
    "net.ipv4.tcp_window_scaling": "1",
    "net.ipv4.tcp_frto": "2",
    "net.ipv4.tcp_early_retrans": "3",
    "net.ipv4.tcp_slow_start_after_idle": "1",
    "net.ipv4.tcp_moderate_rcvbuf": "1",
    "net.ipv4.tcp_rmem": "4096 131072 33554432",
    "net.ipv4.tcp_wmem": "4096 16384 4194304",
    "net.ipv6.conf.all.accept_dad": "0",
    "net.ipv6.conf.default.accept_dad": "0",
    "net.ipv6.conf.default.router_solicitations": "0",
}
"""What every host of the lab is set to, so that runs compare on any machine."""

WITHOUT_IPV6 = {"net.ipv6.conf.all.disable_ipv6": "1", "net.ipv6.conf.default.disable_ipv6": "1"}
"""For hosts without an IPv6 address: nothing but the scenario's packets is on the links."""

CONTROLLERS = {"reno": "reno", "newreno": "reno", "cubic": "cubic", "bbr1": "bbr"}
"""Names of congestion controllers: the simulator's, and the kernel's."""

_SYSCTL_FLAGS = {
    "sack": "net.ipv4.tcp_sack",
    "timestamps": "net.ipv4.tcp_timestamps",
    "window_scaling": "net.ipv4.tcp_window_scaling",
    "slow_start_after_idle": "net.ipv4.tcp_slow_start_after_idle",
}

FAST_OPEN = {
    # For clients and servers.
    "net.ipv4.tcp_fastopen": "3",
    # Linux would give it up for an hour after a SYN with data that got no answer.
    "net.ipv4.tcp_fastopen_blackhole_timeout_sec": "0",
}
"""What a host with `fast_open` is set to."""

DOUBLED = 2
"""What the kernel makes of the size of a buffer: its own bookkeeping counts as well (socket(7))."""
RECEIVE_MEMORY = 256 / 170
"""Memory for each byte of data in a receive buffer. Linux (since 6.6) advertises the share that its
last frame had of data: 170/256 for 1,448 bytes from a TAP interface."""

MSS_OPTION_BYTES = 12
"""Timestamps with padding (RFC 7323 section 3.2): what they take of each segment."""


@dataclass
class HostSettings:
    """What a host needs besides sockets."""

    sysctls: dict[str, str] = field(default_factory=dict)
    route: dict[str, str] = field(default_factory=dict)
    """Metrics of the route to every other host."""
    warm_up: bool = False
    """Whether the metrics take effect only once the kernel has talked to the destination."""


def options(tcp: Settings) -> list[Option]:
    """Give the socket options of an endpoint."""
    chosen: list[Option] = []
    controller = CONTROLLERS.get(tcp.get("controller", "cubic"))
    if controller:
        chosen.append((socket.IPPROTO_TCP, socket.TCP_CONGESTION, controller.encode()))
    if "mss" in tcp:
        chosen.append((socket.IPPROTO_TCP, socket.TCP_MAXSEG, tcp["mss"]))
    if "send_buffer_bytes" in tcp:
        size = round(send_memory_bytes(tcp["send_buffer_bytes"]) / DOUBLED)
        chosen.append((socket.SOL_SOCKET, SO_SNDBUFFORCE, size))
        # Linux looks at the buffer's size only when a write needs a new super-segment. Nagle's
        # algorithm keeps back a rest of less than a segment, which takes up every further write.
        # So the queue grows to cwnd, ten times the buffer: with it the buffer limits nothing.
        chosen.append((socket.IPPROTO_TCP, socket.TCP_NODELAY, 1))
    if "receive_buffer_bytes" in tcp:
        # Set before the SYN, so that the window scale fits the buffer.
        size = round(tcp["receive_buffer_bytes"] * RECEIVE_MEMORY / DOUBLED)
        chosen.append((socket.SOL_SOCKET, SO_RCVBUFFORCE, size))
    if "window_clamp_bytes" in tcp:
        size = int(tcp["window_clamp_bytes"])
        if "receive_buffer_bytes" not in tcp:
            # Autotuning would raise the clamp again: a fixed buffer ends autotuning. The clamp
            # itself goes up to what that buffer allows (`tcp_measure_rcv_mss`).
            memory = round(size * RECEIVE_MEMORY / DOUBLED)
            chosen.append((socket.SOL_SOCKET, SO_RCVBUFFORCE, memory))
        chosen.append((socket.IPPROTO_TCP, TCP_WINDOW_CLAMP, size))
    if "pacing_rate_bps" in tcp:
        rate = struct.pack("=Q", int(tcp["pacing_rate_bps"]) // 8)
        chosen.append((socket.SOL_SOCKET, SO_MAX_PACING_RATE, rate))
    if tcp.get("fast_open"):
        chosen.append((socket.IPPROTO_TCP, TCP_FASTOPEN, FAST_OPEN_PENDING_MAX))
        chosen.append((socket.IPPROTO_TCP, TCP_FASTOPEN_CONNECT, 1))
    if tcp.get("nagle") == "off" and "send_buffer_bytes" not in tcp:
        chosen.append((socket.IPPROTO_TCP, socket.TCP_NODELAY, 1))
    return chosen


def send_memory_bytes(send_buffer_bytes: float) -> float:
    """Give the memory for so much data: scenario files give bytes of data.

    Measured of super-segments: 30 % more than their data where the buffer holds a few segments per
    super-segment, 3 to 5 % where it holds hundreds of kilobytes.
    """
    return send_buffer_bytes * (1.3 if send_buffer_bytes < 131_072 else 1.05)


def host(tcp: Settings) -> HostSettings:
    """Give what the settings of an endpoint ask of its host."""
    wanted = HostSettings()
    for name, sysctl in _SYSCTL_FLAGS.items():
        if name in tcp:
            wanted.sysctls[sysctl] = str(int(tcp[name]))
    if "ecn" in tcp:
        wanted.sysctls["net.ipv4.tcp_ecn"] = str(int(tcp["ecn"]))
    if "frto" in tcp:
        wanted.sysctls["net.ipv4.tcp_frto"] = "2" if tcp["frto"] else "0"
    if "tlp" in tcp:
        wanted.sysctls["net.ipv4.tcp_early_retrans"] = "3" if tcp["tlp"] else "0"
    if tcp.get("fast_open"):
        wanted.sysctls |= FAST_OPEN
    if "rto_min_ms" in tcp:
        wanted.route["rto_min"] = f"lock {tcp['rto_min_ms']:.0f}ms"
    if "initial_window_segs" in tcp:
        wanted.route["initcwnd"] = str(tcp["initial_window_segs"])
    if "cwnd_clamp_bytes" in tcp:
        payload = tcp.get("mss", 1460) - (MSS_OPTION_BYTES if tcp.get("timestamps", True) else 0)
        wanted.route["cwnd"] = f"lock {max(1, round(tcp['cwnd_clamp_bytes'] / payload))}"
        wanted.warm_up = True
    if "initial_ssthresh_bytes" in tcp:
        payload = tcp.get("mss", 1460) - (MSS_OPTION_BYTES if tcp.get("timestamps", True) else 0)
        wanted.route["ssthresh"] = f"lock {max(2, round(tcp['initial_ssthresh_bytes'] / payload))}"
        wanted.sysctls["net.ipv4.tcp_no_ssthresh_metrics_save"] = "0"
        wanted.warm_up = True
    return wanted


def without_counterpart(tcp: Settings) -> Iterator[str]:
    """Name the settings that Linux has no counterpart for."""
    known = {
        *_SYSCTL_FLAGS,
        *("controller", "mss", "send_buffer_bytes", "receive_buffer_bytes", "window_clamp_bytes"),
        *("pacing_rate_bps", "nagle", "ecn", "frto", "tlp", "rto_min_ms", "initial_window_segs"),
        *("cwnd_clamp_bytes", "initial_ssthresh_bytes", "recovery", "fast_open"),
        # Linux always has limited transmit and chooses the burst of pacing by itself.
        *("limited_transmit", "tso_max_bytes", "prr"),
        # Programs of the lab are as late as the machine lets them.
        "writer_delay_ms",
    }
    yield from (name for name in tcp if name not in known)
    if tcp.get("controller", "cubic") not in CONTROLLERS:
        yield f"controller {tcp['controller']}"
    if tcp.get("recovery", "rack") not in ("rack", "sack") and tcp.get("sack", True):
        yield f"recovery {tcp['recovery']} with SACK"
    if tcp.get("nagle") == "on":
        yield "nagle on: Linux has Minshall's variant"
    if tcp.get("limited_transmit", True) is False:
        yield "limited_transmit off"
    if tcp.get("prr", True) is False:
        yield "prr off"
