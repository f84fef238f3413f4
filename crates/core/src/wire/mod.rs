//! Frames to segments. Total: any bytes give a [`Segment`] or a named reason, never a panic.
//!
//! [`capture`] cuts a capture file into frames. [`Decoder`] takes the headers off a frame:
//! [`linktype`], then IP, tunnels and TCP. [`hash`] sends both directions of a flow to the same
//! place.

pub mod bpf;
pub mod capture;
pub(crate) mod community;
mod decode;
mod ethernet;
#[cfg(test)]
mod forge;
pub mod hash;
mod ip;
pub mod linktype;
pub(crate) mod pcap;
pub(crate) mod pcapng;
mod peel;
mod stored;
mod tcp;
pub mod tunnel;
mod walk;
mod wifi;

pub use decode::Decoder;

use crate::units::{Nanos, Seq};

/// One captured frame, borrowed from the input.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Position in the input, from 1 as Wireshark counts.
    pub number: u64,
    /// Capture time since the Unix epoch.
    pub ts: Nanos,
    /// LINKTYPE value of the registry at tcpdump.org.
    pub linktype: u16,
    /// Length on the wire in bytes; `bytes` may be shorter (snaplen).
    pub wire_len: u32,
    /// What was captured, from the first byte of the link-layer header.
    pub bytes: &'a [u8],
}

/// One side of a flow: an address and a port. IPv4 is held as IPv4-mapped IPv6 (RFC 4291 section
/// 2.5.5.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    /// IPv6 address, or IPv4-mapped.
    pub addr: [u8; 16],
    /// TCP port.
    pub port: u16,
}

impl Endpoint {
    /// The address in its own family.
    pub fn ip(&self) -> std::net::IpAddr {
        std::net::Ipv6Addr::from(self.addr).to_canonical()
    }
}

/// Both directions of a 4-tuple, in a tunnel or outside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FlowKey {
    /// The smaller endpoint.
    pub low: Endpoint,
    /// The larger endpoint.
    pub high: Endpoint,
    /// Which tunnel: an index into the decoder's table of tunnels; 0 outside any.
    pub tunnel: u16,
}

impl FlowKey {
    /// The key of a packet from `src` to `dst`, and whether it runs from low to high.
    #[inline]
    pub fn of(src: Endpoint, dst: Endpoint, tunnel: u16) -> (FlowKey, bool) {
        // As numbers: a call to compare memory would cost more than the rest.
        let (from, to) = (u128::from_be_bytes(src.addr), u128::from_be_bytes(dst.addr));
        let forward = (from, src.port) <= (to, dst.port);
        let (low, low_port) = if forward { (from, src.port) } else { (to, dst.port) };
        let (high, high_port) = if forward { (to, dst.port) } else { (from, src.port) };
        let endpoint = |addr: u128, port| Endpoint { addr: addr.to_be_bytes(), port };
        let key = FlowKey { low: endpoint(low, low_port), high: endpoint(high, high_port), tunnel };
        (key, forward)
    }

    /// The same for IPv4 addresses outside any tunnel, which compare with their ports as one
    /// number.
    #[inline(always)]
    fn of_ipv4(src: ([u8; 4], u16), dst: ([u8; 4], u16)) -> (FlowKey, bool) {
        let number = |(addr, port): ([u8; 4], u16)| {
            u64::from(u32::from_be_bytes(addr)) << 16 | u64::from(port)
        };
        let (from, to) = (number(src), number(dst));
        let endpoint = |number: u64| Endpoint {
            addr: ip::mapped(((number >> 16) as u32).to_be_bytes()),
            port: number as u16,
        };
        let (low, high) = (endpoint(from.min(to)), endpoint(from.max(to)));
        (FlowKey { low, high, tunnel: 0 }, from <= to)
    }
}

/// A TCP segment as the analysis needs it: headers only, no payload.
#[derive(Clone, Copy, Debug, Default)]
pub struct Segment {
    /// Position of its frame in the input, from 1.
    pub frame: u64,
    /// Capture time.
    pub ts: Nanos,
    /// The flow.
    pub key: FlowKey,
    /// Whether it runs from `key.low` to `key.high`.
    pub forward: bool,
    /// TCP flags, [`flags`].
    pub flags: u16,
    /// What else is known about the packet, [`marks`].
    pub marks: u8,
    /// ECN field of the IP header (RFC 3168): 0 not-ECT, 1 ECT(1), 2 ECT(0), 3 CE.
    pub ecn: u8,
    /// IPv4 identification, 0 for IPv6.
    pub ip_id: u16,
    /// The window field as sent, unscaled.
    pub window_raw: u16,
    /// Sequence number.
    pub seq: Seq,
    /// Acknowledgement number.
    pub ack: Seq,
    /// Payload bytes on the wire; a super-packet of segmentation offload has more than an MSS.
    pub payload_len: u32,
    /// IP packet length in bytes (the inner one of a tunnel): header, options and payload.
    pub ip_len: u32,
    /// Length of the whole frame on the wire in bytes; at least that of the packet.
    pub wire_len: u32,
    /// Timestamps option (RFC 7323), valid with [`marks::TIMESTAMPS`].
    pub tsval: u32,
    /// Echoed timestamp, valid with [`marks::TIMESTAMPS`] on segments with ACK.
    pub tsecr: u32,
    /// MSS option in bytes, 0 when absent. Meaningful on SYN.
    pub mss_option: u16,
    /// Window scale option, at most 14, [`NO_WINDOW_SCALE`] when absent. Meaningful on SYN.
    pub window_scale: u8,
    /// How many of `sack` are filled.
    pub sack_count: u8,
    /// SACK blocks (RFC 2018): left and right edge. What is beyond `sack_count` means nothing.
    pub sack: [(Seq, Seq); 4],
}

/// Value of [`Segment::window_scale`] when the option is absent.
pub const NO_WINDOW_SCALE: u8 = u8::MAX;

/// TCP flag bits (RFC 9293 section 3.1, RFC 3168, RFC 9768 for AE).
pub mod flags {
    #![expect(missing_docs, reason = "the names are the definition")]
    pub const FIN: u16 = 0x001;
    pub const SYN: u16 = 0x002;
    pub const RST: u16 = 0x004;
    pub const PSH: u16 = 0x008;
    pub const ACK: u16 = 0x010;
    pub const URG: u16 = 0x020;
    pub const ECE: u16 = 0x040;
    pub const CWR: u16 = 0x080;
    pub const AE: u16 = 0x100;
}

/// Bits of [`Segment::marks`].
pub mod marks {
    /// The segment carries a timestamps option.
    pub const TIMESTAMPS: u8 = 0x01;
    /// The SYN carries SACK-permitted.
    pub const SACK_PERMITTED: u8 = 0x02;
    /// First fragment of an IP packet: the payload length is not known.
    pub const FRAGMENT: u8 = 0x04;
    /// IP total length 0: the length was taken from the frame (offload at the capturing host).
    pub const LENGTH_FROM_FRAME: u8 = 0x08;
    /// The snaplen cut the TCP options, so that some may be missing.
    pub const OPTIONS_CUT: u8 = 0x10;
}
