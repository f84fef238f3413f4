"""Rows of whole seconds: what the kernel says of a stream, and what limited it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tcpwhy.active.limit import Limit, limit_of
from tcpwhy.host import tcpinfo

Sample = dict[str, Any]


@dataclass(frozen=True)
class Row:
    """One stream in one interval. Sizes in bytes, rates in bit/s, times as the names say."""

    stream: int
    sends: bool
    start_s: float
    end_s: float
    moved_bytes: int
    """Acknowledged for a sender, received for a receiver: never what was merely written."""
    throughput_bps: float
    cwnd_bytes: int | None
    rwnd_bytes: int | None
    sndbuf_bytes: int | None
    ssthresh_bytes: int | None
    """None while it is infinite."""
    rtt_us: int
    rttvar_us: int
    retransmits: int
    flight_bytes: int | None
    delivery_bps: float | None
    pacing_bps: float | None
    """None without pacing."""
    busy_share: float | None
    rwnd_limited_share: float | None
    sndbuf_limited_share: float | None
    app_limited: bool | None
    rcvbuf_bytes: int | None
    """Of the receiving end, as the rest; None when its kernel was not asked."""
    rcv_space_bytes: int | None
    rcv_rtt_us: int | None
    unread_bytes: int | None
    out_of_order_packets: int | None
    limit: Limit | None

    def to_json(self) -> dict[str, Any]:
        """Give the row as JSON has it."""
        row = {key: value for key, value in vars(self).items() if key != "limit"}
        verdict = self.limit
        return {
            **row,
            "limitation": verdict.limitation if verdict else None,
            "cause": verdict.cause if verdict else None,
            "confidence": verdict.confidence if verdict else None,
            "evidence": verdict.evidence if verdict else "the sender's kernel was not asked",
        }


def row_of(stream: int, samples: Sequence[Sample], peer: Sequence[Sample], *, sends: bool) -> Row:
    """Make a row of the samples of an interval, first and last included."""
    sender, receiver = (samples, peer) if sends else (peer, samples)
    limit = limit_of(_with_peer(sender, receiver)) if len(sender) >= 2 else None
    counted = sender if len(sender) >= 2 and sends else receiver
    name = "bytes_acked" if counted is sender else "bytes_received"
    first, last = samples[0], samples[-1]
    moved = counted[-1][name] - counted[0][name]
    seconds = max(counted[-1]["at_s"] - counted[0]["at_s"], 1e-9)
    return Row(
        stream=stream,
        sends=sends,
        start_s=first["at_s"],
        end_s=last["at_s"],
        moved_bytes=moved,
        throughput_bps=moved * 8 / seconds,
        rtt_us=last["rtt"],
        rttvar_us=last["rttvar"],
        limit=limit,
        **_sender_columns(sender),
        **_receiver_columns(receiver),
    )


def _sender_columns(samples: Sequence[Sample]) -> dict[str, Any]:
    if len(samples) < 2:
        names = "cwnd_bytes rwnd_bytes sndbuf_bytes ssthresh_bytes flight_bytes delivery_bps "
        names += "pacing_bps busy_share rwnd_limited_share sndbuf_limited_share app_limited"
        return {**dict.fromkeys(names.split()), "retransmits": 0}
    first, last = samples[0], samples[-1]
    seconds = max(last["at_s"] - first["at_s"], 1e-9)
    mss = last["snd_mss"]

    def share(name: str) -> float | None:
        if last[name] is None:
            return None
        return float(min(1.0, (last[name] - first[name]) / 1e6 / seconds))

    infinite = last["snd_ssthresh"] >= tcpinfo.INFINITE_SSTHRESH
    return {
        "cwnd_bytes": last["snd_cwnd"] * mss,
        "rwnd_bytes": last["snd_wnd"],
        "sndbuf_bytes": last["sndbuf_bytes"],
        "ssthresh_bytes": None if infinite else last["snd_ssthresh"] * mss,
        "retransmits": last["total_retrans"] - first["total_retrans"],
        "flight_bytes": last["unacked"] * mss,
        "delivery_bps": _bits(last["delivery_rate"]),
        "pacing_bps": _bits(last["pacing_rate"]),
        "busy_share": share("busy_time"),
        "rwnd_limited_share": share("rwnd_limited"),
        "sndbuf_limited_share": share("sndbuf_limited"),
        "app_limited": last["delivery_rate_app_limited"],
    }


def _receiver_columns(samples: Sequence[Sample]) -> dict[str, Any]:
    if len(samples) < 2:
        names = "rcvbuf_bytes rcv_space_bytes rcv_rtt_us unread_bytes out_of_order_packets"
        return dict.fromkeys(names.split())
    first, last = samples[0], samples[-1]
    ooo = last["rcv_ooopack"]
    return {
        "rcvbuf_bytes": last["rcvbuf_bytes"],
        "rcv_space_bytes": last["rcv_space"],
        "rcv_rtt_us": last["rcv_rtt"],
        "unread_bytes": last["unread_bytes"],
        "out_of_order_packets": None if ooo is None else ooo - first["rcv_ooopack"],
    }


def _with_peer(sender: Sequence[Sample], receiver: Sequence[Sample]) -> list[Sample]:
    """Give the sender's samples what the receiver had unread at about the same time."""
    if len(receiver) < 2:
        return list(sender)
    joined, at = [], 0
    for sample in sender:
        while at + 1 < len(receiver) and receiver[at + 1]["at_s"] <= sample["at_s"]:
            at += 1
        joined.append({**sample, "peer_unread_bytes": receiver[at]["unread_bytes"]})
    return joined


def _bits(rate: int | None) -> float | None:
    """Bits of a rate in bytes; the kernel gives all ones for no rate."""
    return None if rate is None or rate >= 1 << 60 else rate * 8.0


def rows_of(
    stream: int,
    samples: Sequence[Sample],
    peer: Sequence[Sample],
    *,
    sends: bool,
    interval_s: float = 1.0,
    omit_s: float = 0.0,
) -> list[Row]:
    """Cut the samples of a stream into intervals."""
    rows = []
    begin = 0
    for i, sample in enumerate(samples):
        is_last = i == len(samples) - 1
        over = sample["at_s"] - samples[begin]["at_s"] >= interval_s - SAMPLING_SLACK_S
        if i > begin and (over or (is_last and sample["at_s"] - samples[begin]["at_s"] >= 0.2)):
            span = samples[begin : i + 1]
            near = _between(peer, span[0]["at_s"], span[-1]["at_s"])
            if span[0]["at_s"] >= omit_s - SAMPLING_SLACK_S:
                rows.append(row_of(stream, span, near, sends=sends))
            begin = i
    return rows


def _between(samples: Sequence[Sample], begin_s: float, end_s: float) -> list[Sample]:
    slack = 2 * SAMPLING_SLACK_S
    return [one for one in samples if begin_s - slack <= one["at_s"] <= end_s + slack]


SAMPLING_SLACK_S = 0.05
"""Half the time between two samples."""
