//! Taps and what they write, down to the bytes.

use super::frame::{Addresses, pcap_header};
use super::*;
use std::net::{IpAddr, Ipv6Addr};
use tcpwhy_core::units::Seq;
use tcpwhy_core::wire::Endpoint;

fn endpoint(ip: &str, port: u16) -> Endpoint {
    let addr = match ip.parse().unwrap() {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    };
    Endpoint { addr: Ipv6Addr::octets(&addr), port }
}

fn ipv4() -> Addresses {
    Addresses { src: endpoint("10.0.0.1", 40000), dst: endpoint("10.0.0.2", 5001) }
}

fn data(ms: i64, seq: u32, payload_bytes: u32) -> Record {
    let header = TcpHeader {
        seq: Seq(seq),
        ack: Seq(1),
        flags: flags::ACK,
        window_raw: 1000,
        payload_bytes,
        ..TcpHeader::default()
    };
    let content = Content::Tcp(header, Kind::New);
    Record { ts: Nanos::from_millis(ms), half: 0, content, ip_id: 7, ecn: Ecn::NotEct }
}

/// Adds up what a receiver adds up: a right checksum makes the sum 0xffff.
fn ones_sum(parts: &[&[u8]]) -> u16 {
    let words = parts.iter().flat_map(|part| {
        part.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)))
    });
    let sum: u32 = words.sum();
    ((sum & 0xffff) + (sum >> 16)) as u16
}

#[test]
fn a_frame_has_the_lengths_and_checksums_of_a_real_one() {
    let mut record = data(1, 100, 1000);
    let Content::Tcp(header, _) = &mut record.content else { unreachable!() };
    header.timestamps = Some((5, 6));
    header.sack.push(Seq(1), Seq(2));
    let full = Manner { snaplen: 65_535, ..Manner::default() };
    let mut out = Vec::new();
    record.write_pcap(&ipv4(), &full, &mut out);
    let (packet_header, frame) = out.split_at(16);
    let word = |i: usize| u32::from_le_bytes(packet_header[i..][..4].try_into().unwrap());
    // 14 Ethernet, 20 IP, 20 TCP, 12 timestamps with padding, 10 SACK: 20 + 10 + 10 = 40.
    assert_eq!((word(8), word(12)), (14 + 20 + 40 + 1000, 14 + 20 + 40 + 1000));
    assert_eq!(word(4), 1_000_000);
    assert_eq!(&frame[12..14], [8, 0]);
    let (ip, tcp) = frame[14..].split_at(20);
    assert_eq!(u16::from_be_bytes([ip[2], ip[3]]), 1060);
    assert_eq!(ones_sum(&[ip]), 0xffff);
    let pseudo = [0, 6, (tcp.len() >> 8) as u8, tcp.len() as u8];
    assert_eq!(ones_sum(&[&ip[12..20], &pseudo, tcp]), 0xffff);
    assert_eq!(tcp[12] >> 4, 10);
}

#[test]
fn headers_only_keeps_the_length_of_the_wire() {
    let mut out = Vec::new();
    data(1, 100, 1000).write_pcap(&ipv4(), &Manner::default(), &mut out);
    assert_eq!(out[8..16], [54, 0, 0, 0, 0x1e, 4, 0, 0]);
    assert_eq!(out.len(), 16 + 54);
    let v6 = Addresses { src: endpoint("fd00::1", 1), dst: endpoint("fd00::2", 2) };
    let mut out = Vec::new();
    data(1, 100, 1000).write_pcap(&v6, &Manner::default(), &mut out);
    let frame = &out[16..];
    assert_eq!((frame.len(), &frame[12..14]), (14 + 40 + 20, &[0x86, 0xdd][..]));
    let length = [0, 0, 0x03, 0xfc, 0, 0, 0, 6];
    assert_eq!(ones_sum(&[&frame[22..54], &length, &frame[54..]]), 0xffff);
    assert_eq!(pcap_header(&Manner::default()).len(), 24);
}

#[test]
fn a_udp_frame_is_right_too() {
    let content = Content::Udp(972);
    let record = Record { content, half: 2, ..data(1, 0, 0) };
    let full = Manner { snaplen: 65_535, ..Manner::default() };
    let mut out = Vec::new();
    record.write_pcap(&ipv4(), &full, &mut out);
    let (ip, udp) = out[16 + 14..].split_at(20);
    assert_eq!((udp.len(), u16::from_be_bytes([udp[4], udp[5]])), (980, 980));
    let pseudo = [0, 17, udp[4], udp[5]];
    assert_eq!(ones_sum(&[&ip[12..20], &pseudo, udp]), 0xffff);
}

#[test]
fn segments_are_what_decoding_the_frame_would_give() {
    let segment = data(3, 100, 1000).segment(&ipv4(), 5).unwrap();
    assert_eq!((segment.frame, segment.payload_len), (5, 1000));
    assert_eq!((segment.ip_len, segment.wire_len), (1040, 1054));
    assert!(segment.forward);
    assert_eq!(segment.ts, frame::EPOCH + Nanos::from_millis(3));
}

#[test]
fn a_mirror_shows_every_packet_twice_in_the_order_of_time() {
    let after = Some(Nanos::from_millis(2));
    let manner = Manner { duplicate_after: after, ..Manner::default() };
    let mut tap = Tap::new(manner, Random::stream(1, 0));
    for ms in [0, 1, 2, 3] {
        tap.observe(data(ms, ms as u32, 1));
    }
    let times: Vec<i64> = tap.take(Nanos::MAX).iter().map(|r| r.ts.0 / 1_000_000).collect();
    assert_eq!(times, [0, 1, 2, 2, 3, 3, 4, 5]);
}

#[test]
fn a_late_capture_has_no_handshake() {
    let manner = Manner { without_handshake: true, ..Manner::default() };
    let mut tap = Tap::new(manner, Random::stream(1, 0));
    let mut syn = data(0, 99, 0);
    let Content::Tcp(header, _) = &mut syn.content else { unreachable!() };
    header.flags = flags::SYN;
    let back = Record { half: 1, ..data(1, 500, 0) };
    for record in [syn, back.clone(), data(2, 100, 0), data(3, 100, 10), back, data(5, 110, 0)] {
        tap.observe(record);
    }
    let seen: Vec<i64> = tap.take(Nanos::MAX).iter().map(|r| r.ts.0 / 1_000_000).collect();
    assert_eq!(seen, [3, 1, 5]);
}

#[test]
fn joining_makes_super_segments_of_what_continues() {
    let mut joiner = Joiner::default();
    let mut out = Vec::new();
    for seq in [0, 1000, 2000, 5000, 6000] {
        out.extend(joiner.add(data(0, seq, 1000)));
    }
    for i in 0..70 {
        out.extend(joiner.add(data(0, 7000 + i * 1000, 1000)));
    }
    out.extend(joiner.finish());
    let sizes: Vec<u32> = out
        .iter()
        .map(|record| match record.content {
            Content::Tcp(header, _) => header.payload_bytes,
            Content::Udp(_) => 0,
        })
        .collect();
    assert_eq!(sizes, [3000, 65_000, 7000]);
}
