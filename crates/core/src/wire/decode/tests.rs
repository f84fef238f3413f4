use super::*;
use crate::units::{Nanos, Seq};
use crate::wire::forge::{ethernet, ipv4, ipv6, join, tcp, udp};
use crate::wire::{NO_WINDOW_SCALE, marks};
use proptest::prelude::*;

fn frame(linktype: u16, bytes: &[u8]) -> Frame<'_> {
    Frame { number: 1, ts: Nanos(0), linktype, wire_len: bytes.len() as u32, bytes }
}

/// What the decoder says of a frame, in a line: the flow's smaller endpoint, the IP length, the
/// payload, and the tunnel.
fn line(linktype: u16, bytes: &[u8]) -> String {
    let mut decoder = Decoder::new();
    match decoder.decode(&frame(linktype, bytes)) {
        Ok(segment) => {
            let low = segment.key.low;
            let marks = segment.marks;
            let tunnel = decoder.tunnels().name(segment.key.tunnel).unwrap_or_default();
            let text = format!(
                "{}:{} ip {} payload {} marks {marks:02x} {tunnel}",
                low.ip(),
                low.port,
                segment.ip_len,
                segment.payload_len
            );
            text.trim_end().to_owned()
        }
        Err(counter) => counter.name().to_owned(),
    }
}

#[test]
fn every_way_to_carry_a_packet() {
    let packet = ipv4(6, &tcp(&[], 8));
    let packet6 = ipv6(6, &tcp(&[], 8));
    let plain = "10.0.0.1:40000 ip 48 payload 8 marks 00";
    let plain6 = "2001:db8::1:40000 ip 68 payload 8 marks 00";
    let tagged = ethernet(0x88a8, &join(&[&[0, 1, 0x81, 0, 0, 2, 8, 0], &packet]));
    let llc_len = (packet.len() + 8) as u16;
    let snap = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0];
    let pppoe_len = (packet.len() + 2) as u16;
    let pppoe = join(&[&[0x11, 0, 0, 7], &pppoe_len.to_be_bytes(), &[0, 0x21], &packet]);
    let wifi = [0x08, 0x01].into_iter().chain([0; 22]).collect::<Vec<u8>>();
    let radiotap = [0, 0, 9, 0, 2, 0, 0, 0, 0x20];
    let qos: Vec<u8> = [0x88, 0x01].into_iter().chain([0; 26]).collect();
    let rows: &[(&str, u16, Vec<u8>, &str)] = &[
        ("Ethernet, padded", 1, ethernet(0x0800, &join(&[&packet, &[0; 6]])), plain),
        ("Ethernet IPv6", 1, ethernet(0x86dd, &packet6), plain6),
        ("QinQ", 1, tagged, plain),
        ("LLC/SNAP", 1, ethernet(llc_len, &join(&[&snap, &packet, &[0; 9]])), plain),
        ("MPLS", 1, ethernet(0x8847, &join(&[&[0, 1, 0, 9, 0, 2, 1, 9], &packet])), plain),
        ("PPPoE", 1, ethernet(0x8864, &join(&[&pppoe, &[0; 4]])), plain),
        ("raw IP", 101, packet.clone(), plain),
        ("raw IPv6", 12, packet6.clone(), plain6),
        ("NULL little endian", 0, join(&[&[2, 0, 0, 0], &packet]), plain),
        ("NULL big endian", 0, join(&[&[0, 0, 0, 30], &packet6]), plain6),
        ("SLL", 113, join(&[&[0; 14], &[8, 0], &packet]), plain),
        ("SLL2", 276, join(&[&[8, 0], &[0; 18], &packet]), plain),
        ("PPP", 9, join(&[&[0xff, 3, 0, 0x21], &packet]), plain),
        ("PPP compressed", 9, join(&[&[0x57], &packet6]), plain6),
        ("Cisco HDLC", 104, join(&[&[0x0f, 0, 8, 0], &packet]), plain),
        ("Frame Relay", 107, join(&[&[0x18, 0x41, 3, 0xcc], &packet]), plain),
        ("802.11", 105, join(&[&wifi, &snap, &packet]), plain),
        ("radiotap, padded QoS", 127, join(&[&radiotap, &qos, &snap, &packet]), plain),
        ("unknown", 147, packet, "undecodable_linktype"),
    ];
    for (name, linktype, bytes, expected) in rows {
        assert_eq!(line(*linktype, bytes), *expected, "{name}");
    }
}

#[test]
fn tunnels_are_peeled_and_named() {
    let inner = ipv4(6, &tcp(&[], 8));
    let inner_frame = ethernet(0x0800, &inner);
    let plain = "10.0.0.1:40000 ip 48 payload 8 marks 00";
    let outer = "10.0.0.1-10.0.0.2";
    let gpdu = |flags: u8, extra: &[u8]| {
        let len = (inner.len() + extra.len()) as u16;
        join(&[&[flags, 255], &len.to_be_bytes(), &[0, 0, 0, 1], extra, &inner])
    };
    let vxlan = join(&[&[8, 0, 0, 0, 0, 0, 42, 0], &inner_frame]);
    let geneve = join(&[&[1, 0, 8, 0, 0, 0, 7, 0, 0, 0, 0, 0], &inner]);
    let erspan = join(&[&[0x10, 0, 0x88, 0xbe, 0, 0, 0, 1], &[0; 8], &inner_frame]);
    let gtp_extension = gpdu(0x34, &[0, 0, 0, 0x85, 1, 0, 0, 0]);
    let nested = ipv4(47, &join(&[&[0, 0, 8, 0], &ipv4(17, &udp(9, 4789, &vxlan))]));
    let rows: &[(&str, Vec<u8>, String)] = &[
        ("IP in IP", ipv4(4, &inner), format!("{plain} ipip {outer}")),
        (
            "GRE",
            ipv4(47, &join(&[&[0x20, 0, 8, 0, 0, 0, 0, 5], &inner])),
            format!("{plain} gre {outer}"),
        ),
        (
            "NVGRE",
            ipv4(47, &join(&[&[0, 0, 0x65, 0x58], &inner_frame])),
            format!("{plain} gre {outer}"),
        ),
        ("ERSPAN II", ipv4(47, &erspan), format!("{plain} erspan {outer}")),
        ("VXLAN", ipv4(17, &udp(9, 4789, &vxlan)), format!("{plain} vxlan {outer} vni 42")),
        (
            "VXLAN over IPv6",
            ipv6(17, &udp(9, 4789, &vxlan)),
            format!("{plain} vxlan 2001:db8::1-2001:db8::2 vni 42"),
        ),
        (
            "Geneve with option",
            ipv4(17, &udp(9, 6081, &geneve)),
            format!("{plain} geneve {outer} vni 7"),
        ),
        ("GTP-U", ipv4(17, &udp(2152, 9, &gpdu(0x30, &[]))), format!("{plain} gtp-u {outer}")),
        (
            "GTP-U with extension",
            ipv4(17, &udp(9, 2152, &gtp_extension)),
            format!("{plain} gtp-u {outer}"),
        ),
        ("nested", nested, format!("{plain} gre {outer} > vxlan {outer} vni 42")),
        ("not VXLAN", ipv4(17, &udp(9, 4789, &[0; 40])), "packets_not_tcp".to_owned()),
        (
            "too deep",
            (0..5).fold(inner, |packet, _| ipv4(4, &packet)),
            "undecodable_nesting".to_owned(),
        ),
    ];
    for (name, packet, expected) in rows {
        assert_eq!(line(101, packet), *expected, "{name}");
    }
}

#[test]
fn lengths_fragments_and_cuts() {
    let packet = ipv4(6, &tcp(&[], 8));
    let patched = |at: usize, value: &[u8]| {
        let mut bytes = packet.clone();
        bytes[at..at + value.len()].copy_from_slice(value);
        line(101, &bytes)
    };
    assert_eq!(patched(2, &[0, 0]), "10.0.0.1:40000 ip 48 payload 8 marks 08");
    assert_eq!(patched(6, &[0x20, 0]), "10.0.0.1:40000 ip 48 payload 0 marks 04");
    assert_eq!(patched(6, &[0x00, 1]), "packets_fragment");
    assert_eq!(patched(2, &[0, 30]), "undecodable_malformed");
    assert_eq!(patched(0, &[0x44]), "undecodable_malformed");
    assert_eq!(patched(32, &[0x40]), "undecodable_malformed");
    let cut = |kept: usize| {
        let frame = Frame { wire_len: packet.len() as u32, ..frame(101, &packet[..kept]) };
        Decoder::new().decode(&frame).map(|segment| segment.payload_len).map_err(Counter::name)
    };
    assert_eq!(cut(40), Ok(8));
    assert_eq!(cut(39), Err("undecodable_truncated"));

    let destination = join(&[&[6, 0, 1, 4, 0, 0, 0, 0], &tcp(&[], 8)]);
    assert_eq!(line(101, &ipv6(60, &destination)), "2001:db8::1:40000 ip 76 payload 8 marks 00");
    let jumbo = join(&[&[6, 0, 0xc2, 4, 0, 1, 0x17, 0x70], &tcp(&[], 8)]);
    let mut jumbogram = ipv6(0, &jumbo);
    jumbogram[4..6].fill(0);
    let expected = "2001:db8::1:40000 ip 71576 payload 71508 marks 00";
    assert_eq!(line(101, &jumbogram), expected);
    let fragment = |offset: u8| ipv6(44, &join(&[&[6, 0, 0, offset, 0, 0, 0, 1], &tcp(&[], 8)]));
    assert_eq!(line(101, &fragment(1)), "2001:db8::1:40000 ip 76 payload 0 marks 04");
    assert_eq!(line(101, &fragment(9)), "packets_fragment");
}

#[test]
fn tcp_options_are_read_in_any_layout() {
    let decode = |options: &[u8], keep: usize| {
        let packet = ipv4(6, &tcp(options, 0));
        let bytes = &packet[..packet.len() - keep];
        let frame = Frame { wire_len: packet.len() as u32, ..frame(101, bytes) };
        Decoder::new().decode(&frame).unwrap()
    };
    let syn = decode(&[2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0, 0, 9, 0, 0, 0, 8, 1, 3, 3, 15], 0);
    assert_eq!((syn.mss_option, syn.window_scale, syn.tsval, syn.tsecr), (1460, 14, 9, 8));
    assert_eq!(syn.marks, marks::SACK_PERMITTED | marks::TIMESTAMPS);
    let sack = decode(&[1, 1, 5, 18, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4], 0);
    assert_eq!(sack.sack[..2], [(Seq(1), Seq(2)), (Seq(3), Seq(4))]);
    assert_eq!((sack.sack_count, sack.window_scale), (2, NO_WINDOW_SCALE));
    let cut = decode(&[2, 4, 5, 0xb4, 3, 3, 7, 0], 2);
    assert_eq!((cut.mss_option, cut.window_scale), (1460, NO_WINDOW_SCALE));
    assert_eq!(cut.marks, marks::OPTIONS_CUT);
    assert_eq!(decode(&[2, 0, 5, 0xb4], 0).mss_option, 0);
}

#[test]
fn a_datagram_ends_where_its_length_says() {
    let vxlan = join(&[&[8, 0, 0, 0, 0, 0, 0, 0], &ethernet(0x0800, &ipv4(6, &tcp(&[], 0)))]);
    let mut packet = ipv4(17, &udp(9, 4789, &vxlan));
    let mut decode = |len: u16| {
        packet[24..26].copy_from_slice(&len.to_be_bytes());
        Decoder::new().decode(&frame(101, &packet)).err()
    };
    let whole = vxlan.len() as u16 + 8;
    assert_eq!(decode(whole), None);
    assert_eq!(decode(0), None, "longer than the field can say");
    assert_eq!(decode(16), Some(Counter::UndecodableMalformed), "no room for the TCP header");
}

#[test]
fn a_full_table_of_tunnels_is_counted() {
    let mut decoder = Decoder::new();
    let vxlan = join(&[&[8, 0, 0, 0, 0, 0, 0, 0], &ethernet(0x0800, &ipv4(6, &tcp(&[], 0)))]);
    let mut packet = ipv4(17, &udp(9, 4789, &vxlan));
    let mut last = 0;
    for vni in 0..u32::from(u16::MAX) {
        packet[32..35].copy_from_slice(&vni.to_be_bytes()[1..]);
        last = decoder.decode(&frame(101, &packet)).unwrap().key.tunnel;
    }
    assert_eq!((last, decoder.tunnels().overflow()), (Tunnels::OTHERS, 1));
    assert_eq!(decoder.tunnels().name(last).as_deref(), Some("others"));
}

proptest! {
    #[test]
    fn any_bytes_decode_or_give_a_reason(
        row in 0..linktype::LINKTYPES.len(),
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        wire_len in 0u32..300,
    ) {
        let frame = Frame { wire_len, ..frame(linktype::LINKTYPES[row].id, &bytes) };
        let _ = Decoder::new().decode(&frame);
    }

    /// Frames that are right but for a few bytes reach further than random ones.
    #[test]
    fn the_short_way_and_the_walk_agree(
        options in prop::collection::vec(any::<u8>(), 0..40),
        payload in 0usize..40,
        damage in prop::collection::vec((12usize..60, any::<u8>()), 0..3),
        kept in 0usize..140,
    ) {
        let mut bytes = ethernet(0x0800, &ipv4(6, &tcp(&options, payload)));
        for (at, value) in damage {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = value;
            }
        }
        let wire_len = bytes.len() as u32;
        bytes.truncate(kept);
        let frame = Frame { wire_len, ..frame(1, &bytes) };
        let (mut segment, mut walked) = (Segment::default(), Segment::default());
        if plain(&frame, &mut segment).is_some() {
            Decoder::new().decode_any(&frame, &mut walked).unwrap();
            prop_assert_eq!(format!("{segment:?}"), format!("{walked:?}"));
        }
    }

    /// What is passed over at once is no TCP for the walk either.
    #[test]
    fn datagrams_that_are_passed_over_carry_no_segment(
        (src, dst) in (0..PORTS.len(), 0..PORTS.len()),
        inner in prop::collection::vec(any::<u8>(), 0..60),
        damage in prop::collection::vec((12usize..42, any::<u8>()), 0..3),
        (kept, cut) in (0usize..110, any::<bool>()),
    ) {
        let [src, dst] = [src, dst].map(|at| PORTS[at].to_be_bytes());
        let len = (inner.len() as u16 + 8).to_be_bytes();
        let mut bytes = ethernet(0x0800, &ipv4(17, &join(&[&src, &dst, &len, &[0; 2], &inner])));
        for (at, value) in damage {
            bytes[at] = value;
        }
        let wire_len = if cut { bytes.len() } else { kept } as u32;
        bytes.truncate(kept);
        let frame = Frame { wire_len, ..frame(1, &bytes) };
        if is_plain_udp(&frame) {
            let walked = Decoder::new().decode_any(&frame, &mut Segment::default());
            prop_assert_eq!(walked, Err(Counter::PacketsNotTcp));
        }
    }
}

/// Some of tunnels, and some that are not.
const PORTS: [u16; 9] = [53, 443, 4789, 8472, 4790, 6081, 6635, 2152, 3544];
