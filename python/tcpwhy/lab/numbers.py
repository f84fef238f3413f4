"""Numbers of the analysis beside those of kernel and links: time shares, RTT, losses, capacity.

Each has a tolerance that says what "the same" means, and is given only where the kernel's number is
the same thing. That a clock is blind to something is no error of the analysis:

- `busy_time` only says that something was in flight. What a slow program leaves unused over a long
  path is busy as well, so the time without data is sampled: no segment waits in the send buffer.
  That is also so while the program waits for room in it (`sndbuf_limited`).
- A controller or socket that paces keeps data back by itself, also below a window that is full on
  the average: then `rwnd_limited` counts only the moments between two paced segments.
- `rwnd_limited` runs on while a loss is repaired. That time is the repair's alone here, as it is in
  the analysis, whose shares sum to one.
- Elsewhere `rwnd_limited` is a proof.

Shares are those of the time from the first data to the last, as the analysis means them: a
handshake, and the round trip until the last data is acknowledged, are nobody's.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median
from typing import Any, NamedTuple

from tcpwhy.lab.run import Run
from tcpwhy.lab.scenario import Flow

SHARE_POINTS = 0.05
SEGMENT_BYTES = 1448
ETHERNET_BYTES = 14


class Tolerance(NamedTuple):
    """How far apart two numbers may be: the larger of both."""

    absolute: float
    relative: float


TOLERANCES = {
    "share_receiver_window": Tolerance(SHARE_POINTS, 0),
    "share_application": Tolerance(SHARE_POINTS, 0),
    "share_recovery": Tolerance(SHARE_POINTS, 0),
    "unique_bytes": Tolerance(2 * SEGMENT_BYTES, 0.01),
    "retransmitted_bytes": Tolerance(2 * SEGMENT_BYTES, 0.05),
    "flight_max_bytes": Tolerance(2 * SEGMENT_BYTES, 0.05),
    "rtt_min_ms": Tolerance(0.5, 0.05),
    "rtt_mean_ms": Tolerance(1, 0.1),
    "capacity_mbps": Tolerance(0, 0.05),
}
"""By what is compared, in the order in which it is shown."""


@dataclass
class Comparison:
    """A number of the analysis beside the true one."""

    point: str
    flow: int
    what: str
    found: float | None
    true: float

    @property
    def error(self) -> float | None:
        """In the number's own unit; None when the analysis does not say."""
        return None if self.found is None else self.found - self.true

    @property
    def is_within(self) -> bool | None:
        """Say whether the error is tolerable; None when the analysis does not say."""
        if self.error is None:
            return None
        absolute, relative = TOLERANCES[self.what]
        return abs(self.error) <= max(absolute, relative * abs(self.true))


class Summary(NamedTuple):
    """All comparisons of one number at one capture point."""

    point: str
    what: str
    within: int
    said: int
    unsaid: int
    """Comparisons in which the analysis has no number."""
    error_median: float | None
    """Of the absolute errors; as the next one in shares, or relative to the true number."""
    error_max: float | None


def summarize(comparisons: Sequence[Comparison]) -> Iterator[Summary]:
    """Sum comparisons up by capture point and number."""
    for what in TOLERANCES:
        for point in ("sender", "middle", "receiver"):
            mine = [c for c in comparisons if (c.point, c.what) == (point, what)]
            errors = [error for c in mine if (error := _scaled(c)) is not None]
            if mine:
                yield Summary(
                    point,
                    what,
                    sum(bool(c.is_within) for c in mine),
                    len(errors),
                    len(mine) - len(errors),
                    median(errors) if errors else None,
                    max(errors) if errors else None,
                )


def _scaled(comparison: Comparison) -> float | None:
    if comparison.error is None:
        return None
    if comparison.what.startswith("share_"):
        return abs(comparison.error)
    return abs(comparison.error) / max(abs(comparison.true), SEGMENT_BYTES * 1e-3)


def compare(run: Run, flow: Flow, point: str, row: dict[str, Any]) -> Iterator[Comparison]:
    """Set what the analysis says of a flow beside what kernel and links counted."""
    side = data_side(flow)
    samples = run.samples(flow.number, side)
    inside = [s for s in samples if row["start_ns"] <= s["wall_ns"] <= row["end_ns"]] or samples
    true = {**_counted(row, samples, inside), **_shares(run, flow, point, row, inside)}
    if (rate_bps := _capacity_bps(run, flow)) is not None:
        true["capacity_mbps"] = rate_bps / 1e6
    if (flight := _flight_max(run, flow.number, side)) is not None:
        true["flight_max_bytes"] = flight
    found = {
        **{what: row.get(what) for what in TOLERANCES},
        "flight_max_bytes": row["flight_size_max"],
        "rtt_min_ms": _scale(row["rtt_min_ns"], 1e-6),
        "rtt_mean_ms": _scale(row["rtt_mean_ns"], 1e-6),
        "capacity_mbps": _scale(row["capacity_bps"], 1e-6),
    }
    for what in TOLERANCES:
        if what in true:
            yield Comparison(point, flow.number, what, found[what], true[what])


def data_side(flow: Flow) -> str:
    """Give the side whose data is compared: the answers, where one asks and the other answers."""
    return "backward" if "request_response" in flow.workload else "forward"


def _counted(
    row: dict[str, Any], samples: Sequence[dict[str, Any]], inside: Sequence[dict[str, Any]]
) -> dict[str, float]:
    """What the sender's kernel counted and timed."""
    last = samples[-1]
    true = {
        "unique_bytes": last["bytes_sent"] - last["bytes_retrans"],
        "retransmitted_bytes": last["bytes_retrans"],
        "rtt_min_ms": last["min_rtt"] / 1e3,
    }
    # The kernel's smoothed time follows the acknowledgements, of which there are enough.
    if len(inside) >= 20 and row["rtt_samples"] >= 100:
        true["rtt_mean_ms"] = fmean(s["rtt"] for s in inside) / 1e3
    return true


def _shares(
    run: Run, flow: Flow, point: str, row: dict[str, Any], inside: Sequence[dict[str, Any]]
) -> dict[str, float]:
    """Shares of the time, where a clock of the kernel means the same."""
    inside = counted_with_data(inside)
    seconds = (inside[-1]["wall_ns"] - inside[0]["wall_ns"]) / 1e9 if inside else 0
    if seconds < 2 or len(inside) < 20 or row["share_application"] is None:
        return {}
    rwnd = grown(inside, "rwnd_limited") / 1e6 / seconds
    sndbuf = grown(inside, "sndbuf_limited") / 1e6 / seconds
    shares: dict[str, float] = {}
    if not _is_paced(flow):
        shares["share_receiver_window"] = rwnd
    if not _is_paced(flow) and not _has_small_buffer(flow):
        # Room in a growing send buffer that the program waits for is not its silence; a capture
        # calls both nothing to send. Where the buffer is small and fixed nothing in the kernel
        # tells them apart: nothing is unsent either way, and its clock of the send buffer stays
        # at 0 (measured on Linux 6.18).
        # Less than a segment may be kept back by Nagle's algorithm: there was no more.
        dry = fmean(s["unsent_bytes"] < s["snd_mss"] for s in inside)
        shares["share_application"] = max(dry, sndbuf)
    if point == "sender":
        # Behind the loss it is not seen when the sender entered recovery.
        shares["share_recovery"] = fmean(s["ca_state"] >= _RECOVERY for s in inside)
    return shares


def counted_with_data(samples: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those from the first data to the last."""
    last = samples[-1]["bytes_sent"] if samples else 0
    begun = [s for s in samples if s["bytes_sent"] > 0]
    still = sum(s["bytes_sent"] < last for s in begun)
    return begun[: still + 1]


def grown(samples: Sequence[dict[str, Any]], clock: str) -> float:
    """Say by how much a clock of the kernel went on while no loss was repaired, in microseconds."""
    pairs = pairwise(samples)
    return float(sum(b[clock] - a[clock] for a, b in pairs if a["ca_state"] < _RECOVERY))


def _has_small_buffer(flow: Flow) -> bool:
    return any("send_buffer_bytes" in tcp for tcp in flow.tcp)


def _is_paced(flow: Flow) -> bool:
    return any("pacing_rate_bps" in tcp or "bbr" in tcp.get("controller", "") for tcp in flow.tcp)


def _capacity_bps(run: Run, flow: Flow) -> float | None:
    """Rate of IP packets of the slowest link; None where a rate is not all that is on the path."""
    path = run.scenario.raw["flows"][flow.number]["path"] if _is_listed(run, flow) else None
    if path is None:
        return None
    rates = []
    for link in path:
        for element in run.scenario.raw["links"][link]["forward"]:
            if {"policer", "shaper", "trace"} & set(element):
                return None
            if "rate" in element:
                rates.append(element["rate"]["rate_bps"])
    if "request_response" in flow.workload or not rates:
        return None
    overhead = run.scenario.overhead_bytes
    return float(min(rates)) * 1500 / (1500 + overhead)


def _is_listed(run: Run, flow: Flow) -> bool:
    """Say whether each flow is an entry of its own in the file."""
    return len(run.scenario.raw["flows"]) == len(run.scenario.flows)


def _flight_max(run: Run, flow: int, side: str) -> float | None:
    """Most bytes that were ever in flight, by the tracepoint; None without it."""
    import duckdb

    if "failure" in run.traced:
        return None
    with duckdb.connect() as connection:
        row = connection.execute(
            "SELECT max(flight_bytes) FROM read_parquet($file) WHERE flow = $flow AND side = $side",
            {"file": str(run.folder / "cwnd.parquet"), "flow": flow, "side": side},
        ).fetchone()
    return row[0] if row else None


def _scale(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


_RECOVERY = 3
"""TCP_CA_Recovery of linux/tcp.h; 4 is Loss."""
