"""TCP_INFO: what Linux tells about a connection, decoded by name from its bytes.

The layout is that of struct tcp_info in linux/tcp.h, which only ever grows at its end. An older
kernel gives fewer bytes: what is not there is None. A newer one gives more: they stay in the raw
bytes. Times are in microseconds except `last_*` (milliseconds), rates in bytes per second.
"""

import socket
import struct
from typing import Any, NamedTuple

# Name less tcpi_, and format. Bit fields are taken apart below.
_LAYOUT = (
    "state:B ca_state:B retransmits:B probes:B backoff:B options:B wscale:B flags:B "
    "rto:I ato:I snd_mss:I rcv_mss:I unacked:I sacked:I lost:I retrans:I fackets:I "
    "last_data_sent:I last_ack_sent:I last_data_recv:I last_ack_recv:I pmtu:I rcv_ssthresh:I "
    "rtt:I rttvar:I snd_ssthresh:I snd_cwnd:I advmss:I reordering:I rcv_rtt:I rcv_space:I "
    "total_retrans:I pacing_rate:Q max_pacing_rate:Q bytes_acked:Q bytes_received:Q segs_out:I "
    "segs_in:I notsent_bytes:I min_rtt:I data_segs_in:I data_segs_out:I delivery_rate:Q "
    "busy_time:Q rwnd_limited:Q sndbuf_limited:Q delivered:I delivered_ce:I bytes_sent:Q "
    "bytes_retrans:Q dsack_dups:I reord_seen:I rcv_ooopack:I snd_wnd:I rcv_wnd:I rehash:I "
    "total_rto:H total_rto_recoveries:H total_rto_time:I received_ce:I delivered_e1_bytes:I "
    "delivered_e0_bytes:I delivered_ce_bytes:I received_e1_bytes:I received_e0_bytes:I "
    "received_ce_bytes:I accecn_fail_mode:H accecn_opt_seen:H"
)


class Field(NamedTuple):
    """Where a field stands."""

    name: str
    offset: int
    format: str


def _fields() -> tuple[Field, ...]:
    fields, offset = [], 0
    for entry in _LAYOUT.split():
        name, format = entry.split(":")
        fields.append(Field(name, offset, "=" + format))
        offset += struct.calcsize("=" + format)
    return tuple(fields)


FIELDS = _fields()
SIZE_MAX = 1024
"""Bytes to ask for: far more than any kernel has."""

STATES = (
    "? ESTABLISHED SYN-SENT SYN-RECEIVED FIN-WAIT-1 FIN-WAIT-2 TIME-WAIT CLOSED CLOSE-WAIT "
    "LAST-ACK LISTEN CLOSING SYN-RECEIVED"
).split()
"""Names of `state`, spelled as RFC 9293 does."""

CA_STATES = ("open", "disorder", "cwr", "recovery", "loss")
"""Names of `ca_state`."""

OPTION_WSCALE = 4
"""Bit of `options`: both ends offered window scaling (RFC 7323). The shift may still be 0."""

OPTION_SYN_DATA = 32
"""Bit of `options`: the peer acknowledged data of the SYN (RFC 7413)."""

INFINITE_SSTHRESH = 0x7FFFFFFF
"""`snd_ssthresh` before the first loss."""

Info = dict[str, Any]


def decode(raw: bytes) -> Info:
    """Decode as many fields as there are bytes; those behind the end are None."""
    info: Info = {}
    for name, offset, format in FIELDS:
        there = len(raw) >= offset + struct.calcsize(format)
        info[name] = struct.unpack_from(format, raw, offset)[0] if there else None
    wscale, flags = info.pop("wscale"), info.pop("flags")
    info["snd_wscale"] = None if wscale is None else wscale & 0xF
    info["rcv_wscale"] = None if wscale is None else wscale >> 4
    info["delivery_rate_app_limited"] = None if flags is None else bool(flags & 1)
    return info


def read(connection: socket.socket) -> bytes:
    """Read the bytes of a connection's TCP_INFO."""
    return connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, SIZE_MAX)
