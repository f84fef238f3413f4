//! The decoder against two independent ones on real captures: etherparse (lax) and tshark.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::shared;
use etherparse::{LaxNetSlice, LaxSlicedPacket, TransportSlice};
use tcpwhy_core::wire::{Decoder, Frame, Segment, linktype, marks};
use tcpwhy_io::read_frames;

/// A segment as all three see it: ports, sequence and acknowledgement number.
type Numbers = (u16, u16, u32, u32);

fn numbers(segment: &Segment) -> Numbers {
    let (src, dst) = match segment.forward {
        true => (segment.key.low, segment.key.high),
        false => (segment.key.high, segment.key.low),
    };
    (src.port, dst.port, segment.seq.0, segment.ack.0)
}

#[test]
fn agrees_with_etherparse() {
    let Some(captures) = shared::captures() else { return };
    let mut compared = 0;
    for path in files(&captures, &["bulk", "labelled"]) {
        let mut decoder = Decoder::new();
        read_frames(std::slice::from_ref(&path), |frame| {
            if frame.linktype != linktype::ETHERNET {
                return;
            }
            let Some((theirs, payload_len)) = etherparse(frame) else { return };
            let ours = decoder.decode(frame);
            let ours = ours.as_ref().map(|segment| (numbers(segment), segment.payload_len));
            compared += 1;
            match ours {
                Ok((numbers, ours_len)) => {
                    assert_eq!(numbers, theirs, "{} {}", path.display(), frame.number);
                    // etherparse knows only what was captured.
                    assert!(ours_len >= payload_len, "{} {}", path.display(), frame.number);
                }
                Err(counter) => panic!("{} {}: {counter:?}", path.display(), frame.number),
            }
        });
    }
    assert!(compared > 50_000, "only {compared} frames");
}

/// TCP over IP over Ethernet and VLANs, which is all that etherparse peels.
fn etherparse(frame: &Frame) -> Option<(Numbers, u32)> {
    let packet = LaxSlicedPacket::from_ethernet(frame.bytes).ok()?;
    let fragmented = match packet.net.as_ref()? {
        LaxNetSlice::Ipv4(ip) => ip.is_payload_fragmented(),
        LaxNetSlice::Ipv6(ip) => ip.is_payload_fragmented(),
        _ => return None,
    };
    match packet.transport? {
        TransportSlice::Tcp(tcp) if !fragmented => {
            let numbers = (
                tcp.source_port(),
                tcp.destination_port(),
                tcp.sequence_number(),
                tcp.acknowledgment_number(),
            );
            Some((numbers, tcp.payload().len() as u32))
        }
        _ => None,
    }
}

/// Frame by frame, on the captures whose trouble is known and on every tunnel in `formats`.
#[test]
fn agrees_with_tshark() {
    let Some(captures) = shared::captures() else { return };
    if Command::new("tshark").arg("--version").output().is_err() {
        println!("skipped: tshark is missing");
        return;
    }
    let mut compared = 0;
    let mut paths = files(&captures, &["labelled"]);
    paths.extend(TUNNELS.iter().map(|name| captures.join("formats").join(name)));
    for path in paths {
        let expected = tshark(&path);
        let mut decoder = Decoder::new();
        read_frames(std::slice::from_ref(&path), |frame| {
            let expected = expected[frame.number as usize - 1].as_ref();
            let ours = decoder.decode(frame).ok();
            let place = format!("{} frame {}", path.display(), frame.number);
            assert_eq!(ours.as_ref().map(numbers), expected.map(|line| line.numbers), "{place}");
            let (Some(ours), Some(expected)) = (ours, expected) else { return };
            compared += 1;
            let timestamps = ours.marks & marks::TIMESTAMPS != 0;
            assert_eq!(timestamps.then_some(ours.tsval), expected.tsval, "{place}");
            assert_eq!(ours.flags & 0xff, expected.flags & 0xff, "{place}");
            // Frames that are shorter than their IP packet says: tshark believes the frame, here
            // the packet is believed, since old tools cut frames without saying so.
            let cut_silently = frame.wire_len < ours.wire_len;
            if let Some(payload_len) = expected.payload_len
                && !cut_silently
            {
                assert_eq!(ours.payload_len, payload_len, "{place}");
            }
        });
    }
    assert!(compared > 20_000, "only {compared} segments");
}

struct Line {
    numbers: Numbers,
    /// Missing where tshark gives up on the options.
    payload_len: Option<u32>,
    flags: u16,
    tsval: Option<u32>,
}

/// The innermost TCP header of every frame, but for those that ICMP errors quote.
fn tshark(path: &Path) -> Vec<Option<Line>> {
    let mut command = Command::new("tshark");
    command.args(["-n", "-T", "fields", "-E", "occurrence=l", "-r"]).arg(path);
    for option in OPTIONS {
        command.args(["-o", option]);
    }
    for field in FIELDS {
        command.args(["-e", field]);
    }
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(line).collect()
}

fn line(text: &str) -> Option<Line> {
    let fields: Vec<&str> = text.split('\t').collect();
    if !fields[7].is_empty() || !fields[8].is_empty() {
        return None;
    }
    let number = |at: usize| fields[at].parse::<u32>().ok();
    Some(Line {
        numbers: (number(0)? as u16, number(1)? as u16, number(2)?, number(3)?),
        payload_len: number(4),
        flags: u16::from_str_radix(fields[5].trim_start_matches("0x"), 16).ok()?,
        tsval: number(6),
    })
}

const FIELDS: [&str; 9] = [
    "tcp.srcport",
    "tcp.dstport",
    "tcp.seq_raw",
    "tcp.ack_raw",
    "tcp.len",
    "tcp.flags",
    "tcp.options.timestamp.tsval",
    "icmp.type",
    "icmpv6.type",
];

const OPTIONS: [&str; 5] = [
    "ip.defragment:FALSE",
    "ipv6.defragment:FALSE",
    "tcp.desegment_tcp_streams:FALSE",
    "tcp.analyze_sequence_numbers:FALSE",
    "tcp.relative_sequence_numbers:FALSE",
];

const TUNNELS: &[&str] = &[
    "c0002__01_ipv4_ah_tcp.pcap",
    "c0060__05_ipv4_eoip_inner_qinq_ipv6_tcp.pcap",
    "c0122__17_geneve_with_options_inner_ipv4_tcp.pcap",
    "c0144__05_ipv6_outer_gre_ipv4_tcp.pcap",
    "c0198__35_gtpu_bidirectional_different_teids_same_inner_tcp.pcap",
    "c0244__10_outer_qinq_ipv6_in_ipv4_tcp.pcap",
    "c0300__06_vlan_llc_snap_ipv4_tcp.pcap",
    "c0402__03_pbb_ipv6_tcp.pcap",
    "c0591__23_vxlan_identity_outer_and_inner_vlan_splits.pcap",
    "c0870__80211http.pcap",
    "c0903__ppp_encap.dmp.gz",
    "c1112__test_loopback.pcap",
    "c1173__simple_http_sll2.pcap",
    "c2072__arcnet-rfc1051-arp-icmp-http.pcap",
    "c2081__http_PPI.pcap",
    "c2154__bigtcp-ipv4.pcap",
    "c2157__bigtcp-ipv6-hbh.pcap",
    "c2184__erspan-type-iii-ft-7.pcap",
    "c2206__gso-ipv4-vxlan-ipv4.pcap",
    "c2439__cisco-fabric-path.pcap",
    "c2490__nflog-http.pcap",
];

fn files(captures: &Path, folders: &[&str]) -> Vec<PathBuf> {
    let rows = shared::manifest(captures).into_iter().map(|row| row.file);
    let wanted = |file: &String| folders.iter().any(|folder| file.starts_with(folder));
    rows.filter(wanted).map(|file| captures.join(file)).collect()
}
