"""The active test from Python."""

import socket
from dataclasses import dataclass
from typing import Any

from tcpwhy._core import InputError, UsageError
from tcpwhy.active import report
from tcpwhy.active.advice import Advice
from tcpwhy.active.client import Outcome, run_test
from tcpwhy.active.protocol import PORT
from tcpwhy.active.rows import Row
from tcpwhy.active.session import INTERVAL_MIN_S, Parameters
from tcpwhy.active.stream import BLOCK_BYTES, Options
from tcpwhy.units import Duration, nanoseconds


@dataclass(frozen=True)
class Measurement:
    """What an active test found."""

    outcome: Outcome
    """Streams, raw samples of both ends where both are ours, and what the server said."""

    @property
    def throughput_bps(self) -> float:
        """Bits per second that arrived, of all streams in both directions."""
        moved = sum(report.moved_bytes(self.outcome, one) for one in self.outcome.streams)
        return moved * 8 / (self.outcome.seconds - self.outcome.parameters.omit_s)

    def rows(self) -> list[Row]:
        """Give what the kernel said of each stream, second by second, and what limited it."""
        return [row for one in self.outcome.streams for row in report.rows(self.outcome, one)]

    def advice(self) -> list[Advice]:
        """Say for each stream what limited it, what to change, and what that would gain."""
        return [report.advice(self.outcome, one) for one in self.outcome.streams]

    def to_json(self) -> list[dict[str, Any]]:
        """Give rows and answers as `tcpwhy measure --json` prints them."""
        return list(report.as_json(self.outcome))


def measure(
    host: str,
    *,
    port: int = PORT,
    duration: Duration = "10s",
    bytes: int | None = None,
    omit: Duration | None = None,
    interval: Duration = "1s",
    parallel: int = 1,
    reverse: bool = False,
    bidir: bool = False,
    bitrate_bps: float | None = None,
    pace_bps: int | None = None,
    cc: str | None = None,
    sndbuf_bytes: int | None = None,
    rcvbuf_bytes: int | None = None,
    window_clamp_bytes: int | None = None,
    read_bps: float | None = None,
    mss_bytes: int | None = None,
    length_bytes: int = BLOCK_BYTES,
    family: socket.AddressFamily = socket.AF_UNSPEC,
) -> Measurement:
    """Test a path, and say what limits the transfer.

    Args:
        host: runs `tcpwhy measure --server` or `iperf3 -s`.
        port: where it listens.
        duration: how long.
        bytes: how many bytes instead; they count once they are acknowledged.
        omit: run so much longer, and leave it out.
        interval: of a row, 200 ms at least.
        parallel: streams.
        reverse: the server sends.
        bidir: both send.
        bitrate_bps: what the program writes in each stream.
        pace_bps: what the kernel paces each stream to.
        cc: congestion controller.
        sndbuf_bytes: send buffer, fixed.
        rcvbuf_bytes: receive buffer, fixed.
        window_clamp_bytes: largest window of the receiver.
        read_bps: how fast the receiver reads; only our own server can.
        mss_bytes: largest segment.
        length_bytes: of one write.
        family: AF_INET or AF_INET6 for one of them only.

    Raises:
        UsageError: for options that exclude each other.
        InputError: when nobody answers, or not in iperf3's protocol.

    """
    if reverse and bidir:
        raise UsageError("reverse and bidir exclude each other")
    if not 1 <= parallel <= 128:
        raise UsageError(f"parallel must be from 1 to 128, not {parallel}")
    interval_s = nanoseconds(interval) / 1e9
    if interval_s < INTERVAL_MIN_S:
        raise UsageError(f"an interval is of 200 ms at least, not {interval}")
    parameters = Parameters(
        seconds=None if bytes else nanoseconds(duration) / 1e9,
        bytes=bytes,
        omit_s=nanoseconds(omit) / 1e9 if omit else 0.0,
        interval_s=interval_s,
        parallel=parallel,
        reverse=reverse,
        bidir=bidir,
        bitrate_bps=bitrate_bps,
        block_bytes=length_bytes,
        read_bps=read_bps,
        options=Options(
            controller=cc,
            sndbuf_bytes=sndbuf_bytes,
            rcvbuf_bytes=rcvbuf_bytes,
            window_clamp_bytes=window_clamp_bytes,
            pace_bps=pace_bps,
            mss=mss_bytes,
        ),
    )
    outcome = run_test(host, port, parameters, family=family)
    if outcome.failure:
        raise InputError(f"{host}:{port}: {outcome.failure}")
    return Measurement(outcome)
