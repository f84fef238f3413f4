//! Records as segments of the analysis, and as bytes of a pcap file.

use super::{Content, Manner, Record, SNAPLEN_MAX};
use crate::packet::{Cookie, TcpHeader};
use tcpwhy_core::units::{Nanos, Seq};
use tcpwhy_core::wire::{Endpoint, FlowKey, NO_WINDOW_SCALE, Segment, flags, marks};

/// Source and destination of a half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// Who sends.
    pub src: Endpoint,
    /// Who receives.
    pub dst: Endpoint,
}

impl Addresses {
    /// Whether both are IPv4.
    pub fn is_ipv4(&self) -> bool {
        self.src.ip().is_ipv4() && self.dst.ip().is_ipv4()
    }

    /// Bytes of the IP header.
    pub fn ip_header_bytes(&self) -> u32 {
        if self.is_ipv4() { 20 } else { 40 }
    }
}

impl Record {
    /// Length of the IP packet.
    pub fn ip_bytes(&self, addresses: &Addresses) -> u32 {
        let rest = match &self.content {
            Content::Tcp(header, _) => header.header_bytes() + header.payload_bytes,
            Content::Udp(payload_bytes) => UDP_HEADER_BYTES + payload_bytes,
        };
        addresses.ip_header_bytes() + rest
    }

    /// The record as the analysis sees it after decoding; `None` unless it is TCP. `frame` is its
    /// position in the capture, from 1.
    pub fn segment(&self, addresses: &Addresses, frame: u64) -> Option<Segment> {
        let Content::Tcp(header, _) = &self.content else { return None };
        let (key, forward) = FlowKey::of(addresses.src, addresses.dst, 0);
        let ip_len = self.ip_bytes(addresses);
        let (tsval, tsecr) = header.timestamps.unwrap_or_default();
        let mut sack = [(Seq(0), Seq(0)); 4];
        sack.iter_mut().zip(header.sack.iter()).for_each(|(to, from)| *to = *from);
        let timestamps = if header.timestamps.is_some() { marks::TIMESTAMPS } else { 0 };
        let permitted = if header.sack_permitted { marks::SACK_PERMITTED } else { 0 };
        Some(Segment {
            frame,
            ts: self.ts + EPOCH,
            key,
            forward,
            flags: header.flags,
            marks: timestamps | permitted,
            ecn: self.ecn as u8,
            ip_id: if addresses.is_ipv4() { self.ip_id } else { 0 },
            window_raw: header.window_raw,
            seq: header.seq,
            ack: header.ack,
            payload_len: header.payload_bytes,
            ip_len,
            wire_len: ETHERNET_BYTES + ip_len,
            tsval,
            tsecr,
            mss_option: header.mss.unwrap_or(0),
            window_scale: header.window_scale.unwrap_or(NO_WINDOW_SCALE),
            sack_count: header.sack.len() as u8,
            sack,
        })
    }

    /// Appends the record to a pcap file that began with [`pcap_header`].
    pub fn write_pcap(&self, addresses: &Addresses, manner: &Manner, out: &mut Vec<u8>) {
        let mut frame = Vec::with_capacity(128);
        let payload_bytes = self.write_headers(addresses, &mut frame);
        let wire_bytes = frame.len() + payload_bytes as usize;
        if manner.snaplen > 0 {
            frame.resize(wire_bytes.min(manner.snaplen as usize), 0);
        }
        let ts = (self.ts + EPOCH).0 as u64;
        for word in [ts / 1_000_000_000, ts % 1_000_000_000, frame.len() as u64, wire_bytes as u64]
        {
            out.extend((word as u32).to_le_bytes());
        }
        out.extend(frame);
    }

    /// Writes everything before the payload; gives the length of the payload.
    fn write_headers(&self, addresses: &Addresses, out: &mut Vec<u8>) -> u32 {
        let ipv4 = addresses.is_ipv4();
        out.extend(mac(&addresses.dst));
        out.extend(mac(&addresses.src));
        out.extend(if ipv4 { [0x08, 0x00] } else { [0x86, 0xdd] });
        let ip_start = out.len();
        let protocol = if matches!(self.content, Content::Tcp(..)) { 6 } else { 17 };
        if ipv4 {
            self.write_ipv4(addresses, protocol, out);
        } else {
            self.write_ipv6(addresses, protocol, out);
        }
        let transport_start = out.len();
        let (payload_bytes, checksum_at) = match &self.content {
            Content::Tcp(header, _) => {
                write_tcp(addresses, header, out);
                (header.payload_bytes, 16)
            }
            Content::Udp(payload_bytes) => {
                write_udp(addresses, *payload_bytes, out);
                (*payload_bytes, 6)
            }
        };
        let length = out.len() as u32 - transport_start as u32 + payload_bytes;
        // The payload is all zeros: it adds nothing to the sum but its length.
        let mut sum = pseudo_header_sum(addresses, protocol, length);
        sum += sum_words(&out[transport_start..]);
        let checksum = match fold(sum) {
            0 if protocol == 17 => 0xffff,
            checksum => checksum,
        };
        out[transport_start + checksum_at..][..2].copy_from_slice(&checksum.to_be_bytes());
        debug_assert_eq!((out.len() - ip_start) as u32 + payload_bytes, self.ip_bytes(addresses));
        payload_bytes
    }

    fn write_ipv4(&self, addresses: &Addresses, protocol: u8, out: &mut Vec<u8>) {
        let start = out.len();
        // A super-packet longer than the field has total length 0, as Linux captures show it.
        let total = u16::try_from(self.ip_bytes(addresses)).unwrap_or(0);
        out.extend([0x45, self.ecn as u8]);
        out.extend(total.to_be_bytes());
        out.extend(self.ip_id.to_be_bytes());
        out.extend([0x40, 0, TTL, protocol, 0, 0]);
        out.extend(&addresses.src.addr[12..]);
        out.extend(&addresses.dst.addr[12..]);
        let checksum = fold(sum_words(&out[start..]));
        out[start + 10..][..2].copy_from_slice(&checksum.to_be_bytes());
    }

    fn write_ipv6(&self, addresses: &Addresses, protocol: u8, out: &mut Vec<u8>) {
        let payload = u16::try_from(self.ip_bytes(addresses) - 40).unwrap_or(0);
        out.extend([0x60, (self.ecn as u8) << 4, 0, 0]);
        out.extend(payload.to_be_bytes());
        out.extend([protocol, TTL]);
        out.extend(addresses.src.addr);
        out.extend(addresses.dst.addr);
    }
}

/// The file header of a pcap file with nanosecond times and link type Ethernet
/// (draft-ietf-opsawg-pcap section 4).
pub fn pcap_header(manner: &Manner) -> Vec<u8> {
    let snaplen = if manner.snaplen == 0 { SNAPLEN_MAX } else { manner.snaplen };
    let mut out = Vec::with_capacity(24);
    out.extend(0xa1b2_3c4du32.to_le_bytes());
    out.extend(2u16.to_le_bytes());
    out.extend(4u16.to_le_bytes());
    out.extend([0; 8]);
    out.extend(snaplen.to_le_bytes());
    out.extend(1u32.to_le_bytes());
    out
}

/// RFC 9293 section 3.1, with options in the order and padding of Linux.
fn write_tcp(addresses: &Addresses, header: &TcpHeader, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend(addresses.src.port.to_be_bytes());
    out.extend(addresses.dst.port.to_be_bytes());
    out.extend(header.seq.0.to_be_bytes());
    out.extend(header.ack.0.to_be_bytes());
    let offset = (header.header_bytes() / 4) as u16;
    let all_flags = offset << 12 | header.flags & (flags::AE | 0xff);
    out.extend(all_flags.to_be_bytes());
    out.extend(header.window_raw.to_be_bytes());
    out.extend([0; 4]);
    if let Some(mss) = header.mss {
        out.extend([2, 4]);
        out.extend(mss.to_be_bytes());
    }
    if header.sack_permitted {
        out.extend([4, 2]);
    }
    if let Some((tsval, tsecr)) = header.timestamps {
        out.extend([8, 10]);
        out.extend(tsval.to_be_bytes());
        out.extend(tsecr.to_be_bytes());
    }
    if let Some(shift) = header.window_scale {
        out.extend([3, 3, shift]);
    }
    // RFC 7413 section 4.1.1: kind 34.
    match header.fast_open {
        None => {}
        Some(Cookie::Request) => out.extend([34, 2]),
        Some(Cookie::Value(cookie)) => {
            out.extend([34, 10, 0, 0, 0, 0]);
            out.extend(cookie.to_be_bytes());
        }
    }
    if !header.sack.is_empty() {
        out.extend([5, 2 + 8 * header.sack.len() as u8]);
        for (left, right) in &header.sack {
            out.extend(left.0.to_be_bytes());
            out.extend(right.0.to_be_bytes());
        }
    }
    // Padding: no-operation, so that nothing behind is cut off as after an end of options.
    out.resize(start + header.header_bytes() as usize, 1);
}

fn write_udp(addresses: &Addresses, payload_bytes: u32, out: &mut Vec<u8>) {
    out.extend(addresses.src.port.to_be_bytes());
    out.extend(addresses.dst.port.to_be_bytes());
    out.extend(((UDP_HEADER_BYTES + payload_bytes) as u16).to_be_bytes());
    out.extend([0; 2]);
}

/// A locally administered address that ends like the IP address.
fn mac(endpoint: &Endpoint) -> [u8; 6] {
    let a = endpoint.addr;
    [0x02, 0x00, a[12], a[13], a[14], a[15]]
}

/// RFC 9293 section 3.1 and RFC 8200 section 8.1. The sums agree for both families, since an
/// IPv4-mapped address adds the same to both ends only where it is used as IPv6.
fn pseudo_header_sum(addresses: &Addresses, protocol: u8, length: u32) -> u64 {
    let used = if addresses.is_ipv4() { 12.. } else { 0.. };
    sum_words(&addresses.src.addr[used.clone()])
        + sum_words(&addresses.dst.addr[used])
        + u64::from(protocol)
        + u64::from(length)
}

/// The sum of 16-bit words (RFC 1071).
fn sum_words(bytes: &[u8]) -> u64 {
    let word = |pair: &[u8]| u64::from(pair[0]) << 8 | u64::from(*pair.get(1).unwrap_or(&0));
    bytes.chunks(2).map(word).sum()
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Where time 0 of a simulation lies in a capture: 2026-01-01 00:00 UTC.
pub const EPOCH: Nanos = Nanos(1_767_225_600_000_000_000);
/// An Ethernet header without the frame check sequence, as captures show it.
pub const ETHERNET_BYTES: u32 = 14;
const UDP_HEADER_BYTES: u32 = 8;
const TTL: u8 = 64;
