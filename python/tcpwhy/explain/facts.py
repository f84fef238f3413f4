"""What the tables have of one flow."""

from typing import NamedTuple

from tcpwhy._core import InputError
from tcpwhy.explain.choice import Candidate
from tcpwhy.terminal.overview import endpoint


class Half(NamedTuple):
    """A row of `flows`; the names are its columns."""

    flow_id: int
    direction: str
    src: str
    src_port: int
    dst: str
    dst_port: int
    community_id: str
    tunnel: str | None
    first_frame: int
    start_ns: int
    end_ns: int
    conn_state: str
    handshake_seen: bool
    packets: int
    data_packets: int
    payload_bytes: int
    unique_bytes: int
    retransmitted_bytes: int
    spurious_bytes: int
    reordered_packets: int
    duplicate_frames: int
    loss_events: int
    rto_events: int
    fast_retransmissions: int
    tlp_events: int
    zero_window_events: int
    zero_window_probes: int
    keep_alives: int
    duplicate_acks: int
    mss_option: int | None
    effective_mss: int | None
    window_scale: int | None
    window_scale_source: str | None
    position: float | None
    handshake_rtt_ns: int | None
    rtt_min_ns: int | None
    rtt_mean_ns: int | None
    rtt_max_ns: int | None
    rtt_samples: int
    flight_size_max: int | None
    rwnd_max: int | None
    throughput_bps: float | None
    goodput_bps: float | None
    capacity_bps: float | None
    capacity_method: str | None
    capacity_unknown: str | None
    capacity_lower_bps: float | None
    capacity_upper_bps: float | None
    offload_seen: bool
    missed_bytes: int
    dispersion_score: float | None
    retransmission_score: float | None
    rwnd_score: float | None
    rwnd_time_score: float | None
    burstiness_score: float | None
    limitation_siekkinen: str | None
    limitation: str | None
    cause: str | None
    confidence: str | None
    null_reason: str | None
    bufferbloat: bool | None
    share_application: float | None
    share_receiver_window: float | None
    share_network: float | None
    share_recovery: float | None
    headroom_bps: float | None
    gain_unknown: str | None
    next_limitation: str | None
    evidence: str | None
    remedy: str | None
    probability: float | None = None
    alternative: str | None = None
    alternative_probability: float | None = None
    speaks_for: str | None = None
    speaks_against: str | None = None

    @property
    def pair(self) -> str:
        """Who sends to whom."""
        return f"{endpoint(self.src, self.src_port)} → {endpoint(self.dst, self.dst_port)}"

    @property
    def data_span_ns(self) -> float | None:
        """From the first to the last data packet, in which throughput is counted."""
        if not self.throughput_bps:
            return None
        return self.payload_bytes * 8e9 / self.throughput_bps

    @property
    def exceeds_capacity(self) -> bool:
        """Whether more went through than the estimated capacity, which is then too low."""
        if self.goodput_bps is None or self.capacity_bps is None:
            return False
        return self.goodput_bps > EXCESS * self.capacity_bps


EXCESS = 1.05
"""Goodput over an estimate of the capacity from which the latter is more than inexact."""


class Interval(NamedTuple):
    """A row of `intervals`; the names are its columns."""

    start_ns: int
    end_ns: int
    data_packets: int
    unique_bytes: int
    retransmitted_bytes: int
    rtt_mean_ns: int | None
    flight_size_max: int | None
    rwnd_min: int | None
    limitation: str | None
    cause: str | None
    confidence: str | None
    evidence: str | None


class Period(NamedTuple):
    """A row of `periods`; the names are its columns."""

    kind: str
    start_ns: int
    end_ns: int
    limitation_siekkinen: str | None
    dispersion_score: float | None
    retransmission_score: float | None
    rwnd_score: float | None
    rwnd_time_score: float | None
    burstiness_score: float | None


class Stall(NamedTuple):
    """A row of `stalls`; the names are its columns."""

    rank: int
    start_ns: int
    end_ns: int
    frame_before: int
    frame_after: int
    flight_size: int | None
    ended_by: str
    owner: str | None
    stall_cause: str | None
    stall_events: int
    stall_total_ns: int


class Beside(NamedTuple):
    """The other connections with data from one host to another while a direction went on."""

    connections: int
    meanwhile_bytes: float
    """What they moved meanwhile, if each moved its data evenly."""
    biggest: Candidate
    """Of them the one that moved most meanwhile, with what it moved."""

    def share(self, half: Half) -> float:
        """Give their part of what went between the hosts that way, 0 to 1."""
        return self.meanwhile_bytes / (self.meanwhile_bytes + half.unique_bytes)

    def about(self, half: Half) -> str:
        """Write that part: it is no better known than to a per cent."""
        share = 100 * self.share(half)
        return f"about {share:.0f} %" if share >= 1 else "less than 1 %"


class Facts(NamedTuple):
    """What the tables have of one flow."""

    source: str
    in_store: bool
    halves: list[Half]
    """Both directions, the one that moved more bytes first."""
    intervals: dict[str, list[Interval]]
    """By direction, in the order of time."""
    periods: dict[str, list[Period]]
    stalls: dict[str, list[Stall]]
    """By direction, the longest first."""
    beside: dict[str, Beside]
    """By direction, where others pass the same path; not looked for in a pipe."""
    chosen: str
    """How this flow was chosen among those of the source."""
    others: list[Candidate]
    """Other flows that one may want: the biggest, or those that are named too."""
    is_named: bool
    """Whether this flow was asked for by a name, which may be that of several."""
    damage: list[InputError]
    """What was wrong with the capture; the rows are those found before."""
