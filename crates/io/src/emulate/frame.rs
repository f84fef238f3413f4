//! Frames as a network of TAP interfaces carries them: Ethernet II with IPv4 or IPv6, no VLAN.

use std::net::IpAddr;
use std::ops::Range;
use tcpwhy_sim::link::{Body, TcpOptions};
use tcpwhy_sim::packet::Ecn;

use super::offload::Checksum;

/// A frame on its way through the network.
#[derive(Clone, Debug)]
pub struct Frame {
    /// From the Ethernet header on, without a frame check sequence.
    pub bytes: Box<[u8]>,
    /// The route that it follows.
    pub route: u32,
    /// Links of the route that are behind it.
    pub hop: u8,
    /// Whether its checksum is still to be completed, and where.
    pub checksum: Checksum,
}

impl Frame {
    /// Where the TCP header is; `None` for what is not TCP, is cut short, or is a fragment other
    /// than the first.
    pub(super) fn tcp_header(&self) -> Option<Range<usize>> {
        let ip = self.bytes.get(ETHERNET_BYTES..)?;
        let (protocol, length) = match ip.first()? >> 4 {
            4 if u16::from_be_bytes([*ip.get(6)?, *ip.get(7)?]) & 0x1fff == 0 => {
                (*ip.get(9)?, usize::from(ip[0] & 0x0f) * 4)
            }
            6 => (*ip.get(6)?, 40),
            _ => return None,
        };
        let begin = ETHERNET_BYTES + length;
        let end = begin + usize::from(self.bytes.get(begin + 12)? >> 4) * 4;
        (protocol == PROTOCOL_TCP && end >= begin + 20 && end <= self.bytes.len())
            .then_some(begin..end)
    }
}

impl Body for Frame {
    fn hosts(&self) -> [u32; 2] {
        let name = |address: [u8; 16]| {
            address
                .iter()
                .fold(0u32, |mixed, byte| (mixed ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
        };
        Headers::read(&self.bytes)
            .map_or([0, 0], |headers| [headers.tuple.src, headers.tuple.dst].map(name))
    }

    fn tcp_options(&mut self) -> Option<&mut dyn TcpOptions> {
        self.tcp_header().is_some().then_some(self)
    }
}

/// Who talks to whom. Ports are 0 where the protocol has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tuple {
    /// Source address; IPv4 as IPv4-mapped IPv6 (RFC 4291 section 2.5.5.2).
    pub src: [u8; 16],
    /// Destination address.
    pub dst: [u8; 16],
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
}

/// What the log tells of a packet besides its addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers {
    /// Addresses and ports.
    pub tuple: Tuple,
    /// IP protocol number.
    pub protocol: u8,
    /// ECN field.
    pub ecn: Ecn,
    /// TCP sequence number.
    pub seq: Option<u32>,
}

impl Headers {
    /// Reads the headers of a frame; `None` for what is not IP or is cut short.
    pub fn read(frame: &[u8]) -> Option<Headers> {
        let ethertype = u16::from_be_bytes(*frame.get(12..)?.first_chunk()?);
        let ip = frame.get(ETHERNET_BYTES..)?;
        let (src, dst, protocol, ecn, transport) = match ethertype {
            ETHERTYPE_IPV4 => read_ipv4(ip)?,
            ETHERTYPE_IPV6 => read_ipv6(ip)?,
            _ => return None,
        };
        let mut tuple = Tuple { src, dst, src_port: 0, dst_port: 0 };
        if matches!(protocol, PROTOCOL_TCP | PROTOCOL_UDP) {
            tuple.src_port = u16::from_be_bytes(*transport.first_chunk()?);
            tuple.dst_port = u16::from_be_bytes(*transport.get(2..)?.first_chunk()?);
        }
        let seq = match protocol {
            PROTOCOL_TCP => Some(u32::from_be_bytes(*transport.get(4..)?.first_chunk()?)),
            _ => None,
        };
        Some(Headers { tuple, protocol, ecn, seq })
    }
}

type Parts<'a> = ([u8; 16], [u8; 16], u8, Ecn, &'a [u8]);

/// RFC 791 section 3.1.
fn read_ipv4(ip: &[u8]) -> Option<Parts<'_>> {
    let header = ip.get(..20)?;
    let length = usize::from(header[0] & 0x0f) * 4;
    let address = |at: usize| {
        let mut mapped = [0; 16];
        mapped[10..12].fill(0xff);
        mapped[12..].copy_from_slice(&header[at..at + 4]);
        mapped
    };
    Some((address(12), address(16), header[9], ecn_of(header[1]), ip.get(length..)?))
}

/// RFC 8200 section 3; a packet with extension headers has no ports here.
fn read_ipv6(ip: &[u8]) -> Option<Parts<'_>> {
    let header = ip.get(..40)?;
    let src = *header[8..].first_chunk()?;
    let dst = *header[24..].first_chunk()?;
    Some((src, dst, header[6], ecn_of(header[1] >> 4), &ip[40..]))
}

/// The two low bits of the traffic class (RFC 3168 section 5).
fn ecn_of(traffic_class: u8) -> Ecn {
    match traffic_class & 3 {
        0 => Ecn::NotEct,
        1 => Ecn::Ect1,
        2 => Ecn::Ect0,
        _ => Ecn::Ce,
    }
}

/// Sets the ECN field of a frame to CE, and mends the checksum of IPv4 (RFC 1624).
pub fn mark_ce(frame: &mut [u8]) {
    let Some(ip) = frame.get_mut(ETHERNET_BYTES..) else { return };
    match ip.first().map(|first| first >> 4) {
        Some(4) if ip.len() >= 20 => {
            let before = u16::from_be_bytes([ip[0], ip[1]]);
            ip[1] |= 3;
            let after = u16::from_be_bytes([ip[0], ip[1]]);
            let checksum = u16::from_be_bytes([ip[10], ip[11]]);
            let mut sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
            sum = (sum & 0xffff) + (sum >> 16);
            sum = (sum & 0xffff) + (sum >> 16);
            ip[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
        }
        Some(6) if ip.len() >= 40 => ip[1] |= 0x30,
        _ => {}
    }
}

/// An address as people write it.
pub fn shown(address: [u8; 16]) -> IpAddr {
    IpAddr::from(address).to_canonical()
}

/// An Ethernet header.
pub const ETHERNET_BYTES: usize = 14;
const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;

#[cfg(test)]
mod tests {
    use super::*;

    fn ipv4(traffic_class: u8) -> Vec<u8> {
        let mut frame = vec![0; ETHERNET_BYTES];
        frame[12..14].copy_from_slice(&[8, 0]);
        frame.extend([0x45, traffic_class, 0, 40, 0, 1, 0x40, 0, 64, 6, 0, 0]);
        frame.extend([10, 0, 0, 1, 10, 0, 0, 2]);
        let sum = sum(&frame[ETHERNET_BYTES..]);
        frame[24..26].copy_from_slice(&(!sum).to_be_bytes());
        frame.extend([0x9c, 0x40, 0x13, 0x89, 0, 0, 1, 2]);
        frame.resize(54, 0);
        frame
    }

    fn sum(header: &[u8]) -> u16 {
        let words = header.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
        let sum: u32 = words.sum();
        ((sum & 0xffff) + (sum >> 16)) as u16
    }

    #[test]
    fn headers_are_read() {
        let headers = Headers::read(&ipv4(2)).unwrap();
        assert_eq!(shown(headers.tuple.src).to_string(), "10.0.0.1");
        assert_eq!((headers.tuple.src_port, headers.tuple.dst_port), (40_000, 5001));
        assert_eq!((headers.ecn, headers.seq), (Ecn::Ect0, Some(258)));
    }

    #[test]
    fn cut_frames_have_no_headers() {
        let frame = ipv4(0);
        for length in 0..frame.len().min(42) {
            let _ = Headers::read(&frame[..length]);
        }
        assert_eq!(Headers::read(&frame[..20]), None);
    }

    #[test]
    fn a_mark_keeps_the_checksum_right() {
        for traffic_class in [0, 1, 2, 0xb8] {
            let mut frame = ipv4(traffic_class);
            mark_ce(&mut frame);
            assert_eq!(Headers::read(&frame).unwrap().ecn, Ecn::Ce);
            assert_eq!(sum(&frame[ETHERNET_BYTES..ETHERNET_BYTES + 20]), 0xffff);
        }
    }

    #[test]
    fn a_mark_on_ipv6_touches_only_the_field() {
        let mut frame = vec![0; ETHERNET_BYTES + 40];
        frame[12..14].copy_from_slice(&[0x86, 0xdd]);
        frame[14] = 0x60;
        frame[20] = PROTOCOL_UDP + 200;
        mark_ce(&mut frame);
        assert_eq!(Headers::read(&frame).unwrap().ecn, Ecn::Ce);
        assert_eq!(frame[14..16], [0x60, 0x30]);
    }
}
