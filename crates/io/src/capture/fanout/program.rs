//! The program by which the kernel shares packets out ([`Fanout::Hosts`], [`Fanout::Cbpf`]).

use tcpwhy_core::wire::bpf::Instruction;

use super::Fanout;
use super::assembler::Line::{self, Do, Go, Here, If};
use super::assembler::assemble;

/// The program of a way to share packets out. The kernel takes its result modulo the number of
/// workers. It may load from the network header on. That is the IP header, labels, or, with a
/// second tag, what is behind the EtherType of a tag. Both ends are hashed and the hashes added, so
/// that both directions give the same. Ports count only where every packet of a flow has them: in
/// TCP that is no fragment. Too short a packet gives 0, and so does one without an IP header.
pub(in crate::capture) fn program(fanout: Fanout) -> Vec<Instruction> {
    let with_ports = fanout == Fanout::Cbpf;
    let mut lines = ip_header();
    lines.extend([Here(Ip), Do(STX, HEADER), Do(LD_IMM, 0), Do(ST, SUM)]);
    lines.extend([Do(LDB_IND, NET), Do(RSH, 4), If(JEQ, 4, Ipv4), If(JEQ, 6, Ipv6), Do(RET_K, 0)]);
    lines.push(Here(Ipv4));
    if with_ports {
        // A fragment: not the first, or more follow (RFC 791 section 3.1).
        lines.extend([Do(LDH_IND, NET + 6), If(JSET, 0x3fff, Addresses4)]);
        lines.extend([Do(LDB_IND, NET + 9), If(JEQ, TCP, Ports4), Go(Addresses4), Here(Ports4)]);
        let to_the_end = [Do(LDB_IND, NET), Do(AND, 0x0f), Do(LSH, 2), Do(ADD_X, 0), Do(TAX, 0)];
        lines.extend(to_the_end.into_iter().chain(ports()));
    }
    lines.push(Here(Addresses4));
    lines.extend([12, 16].into_iter().flat_map(|at| address(&[at])));
    lines.extend([Go(End), Here(Ipv6)]);
    if with_ports {
        // Without extension headers.
        lines.extend([Do(LDB_IND, NET + 6), If(JEQ, TCP, Ports6), Go(Addresses6), Here(Ports6)]);
        lines.extend([Do(TXA, 0), Do(ADD, 40), Do(TAX, 0)].into_iter().chain(ports()));
    }
    lines.push(Here(Addresses6));
    lines.extend([[8, 12, 16, 20], [24, 28, 32, 36]].iter().flat_map(|words| address(words)));
    // Fibonacci hashing: the high bits of a product with 2^32 over the golden ratio (Knuth, The Art
    // of Computer Programming, volume 3, section 6.4).
    lines.extend([Here(End), Do(LD_MEM, SUM), Do(MUL, GOLDEN), Do(RSH, 16), Do(RET_A, 0)]);
    assemble(&lines)
}

/// Places in the program.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Tag,
    SecondTag,
    Labels,
    Session,
    Ip,
    Ipv4,
    Ports4,
    Addresses4,
    Ipv6,
    Ports6,
    Addresses6,
    End,
}
use Place::{Addresses4, Addresses6, Ip, Ipv4, Ipv6, Ports4, Ports6};
use Place::{End, Labels, SecondTag, Session, Tag};

/// Where the IP header begins, behind the network header: this leads there with it in the index
/// register. Up to two tags, four labels (RFC 3032) or a PPPoE header (RFC 2516) may be before it.
fn ip_header() -> Vec<Line<Place>> {
    let is_ip = |place| [If(JEQ, ETHERTYPE_IPV4, place), If(JEQ, ETHERTYPE_IPV6, place)];
    let mut lines = vec![Do(LDX_IMM, 0), Do(LDW_ABS, PROTOCOL)];
    lines.extend(is_ip(Ip));
    lines.extend([If(JEQ, ETHERTYPE_MPLS, Labels), If(JEQ, ETHERTYPE_PPPOE, Session)]);
    lines.push(Do(LDH_ABS, NET + 2));
    lines.extend(is_ip(Tag));
    lines.push(Do(LDH_ABS, NET + 6));
    lines.extend(is_ip(SecondTag));
    lines.push(Go(Ip));
    // A frame that leaves with its tag has the IP header as network header. What looks like a tag
    // there may be the length of a packet: 2,048 bytes are 0x0800.
    for (place, len) in [(SecondTag, 2 * TAG_LEN), (Tag, TAG_LEN)] {
        lines.extend([Here(place), Do(LDX_IMM, len), Do(LDB_IND, NET), Do(RSH, 4)]);
        lines.extend([If(JEQ, 4, Ip), If(JEQ, 6, Ip), Do(LDX_IMM, 0), Go(Ip)]);
    }
    lines.push(Here(Labels));
    for label in 0..MOST_LABELS {
        let bottom_of_stack = NET + label * LABEL_LEN + 2;
        lines.push(Do(LDX_IMM, (label + 1) * LABEL_LEN));
        lines.extend([Do(LDB_ABS, bottom_of_stack), If(JSET, 1, Ip)]);
    }
    lines.extend([Do(RET_K, 0), Here(Session), Do(LDX_IMM, SESSION_LEN)]);
    lines
}

/// Adds both ports, which are where the index register is, to the sum.
fn ports() -> [Line<Place>; 6] {
    let [add, keep] = [Do(ADD_X, 0), Do(ST, SUM)];
    [Do(LDH_IND, NET), keep, Do(LDH_IND, NET + 2), Do(LDX_MEM, SUM), add, keep]
}

/// Adds the hash of an address, whose words are so far behind the IP header, to the sum.
fn address(words: &[u32]) -> Vec<Line<Place>> {
    let mut lines = vec![Do(LD_IMM, 0), Do(ST, HASH)];
    for word in words {
        lines.extend([Do(LDX_MEM, HEADER), Do(LDW_IND, NET + word), Do(LDX_MEM, HASH)]);
        lines.extend([Do(XOR_X, 0), Do(MUL, GOLDEN), Do(TAX, 0), Do(RSH, 15), Do(XOR_X, 0)]);
        lines.push(Do(ST, HASH));
    }
    lines.extend([Do(LDX_MEM, SUM), Do(ADD_X, 0), Do(ST, SUM)]);
    lines
}

/// SKF_NET_OFF: loads from here are relative to the network header.
const NET: u32 = libc::SKF_NET_OFF as u32;
/// SKF_AD_PROTOCOL: the EtherType as the kernel sees it.
const PROTOCOL: u32 = libc::SKF_AD_OFF as u32;
const ETHERTYPE_IPV4: u32 = 0x0800;
const ETHERTYPE_IPV6: u32 = 0x86dd;
const ETHERTYPE_MPLS: u32 = 0x8847;
const ETHERTYPE_PPPOE: u32 = 0x8864;
const TAG_LEN: u32 = 4;
const LABEL_LEN: u32 = 4;
const MOST_LABELS: u32 = 4;
/// The header of the session and the protocol field of PPP.
const SESSION_LEN: u32 = 8;
/// IANA protocol number.
const TCP: u32 = 6;
/// 2^32 over the golden ratio.
const GOLDEN: u32 = 0x9e37_79b1;
// Words of scratch memory: where the IP header begins, the hash of an address, the sum.
const HEADER: u32 = 0;
const HASH: u32 = 1;
const SUM: u32 = 2;
// Operations of classic BPF, by their names in bpf(4).
const LD_IMM: u16 = 0x00;
const LDX_IMM: u16 = 0x01;
const ST: u16 = 0x02;
const STX: u16 = 0x03;
const ADD: u16 = 0x04;
const RET_K: u16 = 0x06;
const TAX: u16 = 0x07;
const ADD_X: u16 = 0x0c;
const JEQ: u16 = 0x15;
const RET_A: u16 = 0x16;
const LDW_ABS: u16 = 0x20;
const MUL: u16 = 0x24;
const LDH_ABS: u16 = 0x28;
const LDB_ABS: u16 = 0x30;
const LDW_IND: u16 = 0x40;
const JSET: u16 = 0x45;
const LDH_IND: u16 = 0x48;
const LDB_IND: u16 = 0x50;
const AND: u16 = 0x54;
const LD_MEM: u16 = 0x60;
const LDX_MEM: u16 = 0x61;
const LSH: u16 = 0x64;
const RSH: u16 = 0x74;
const TXA: u16 = 0x87;
const XOR_X: u16 = 0xac;

#[cfg(test)]
mod tests {
    use super::*;
    use tcpwhy_core::wire::bpf::Program;

    /// The program as it is for a packet that starts with its network header, with every return
    /// made a question: is it this value?
    fn gives(fanout: Fanout, value: u32, ethertype: u32) -> Program {
        let here = |instruction: &Instruction| match *instruction {
            Instruction { code: LDW_ABS, k: PROTOCOL, .. } => {
                Instruction { code: LD_IMM, k: ethertype, ..*instruction }
            }
            Instruction { code: LDH_ABS | LDB_ABS | LDW_IND | LDH_IND | LDB_IND, k, .. } => {
                Instruction { k: k.wrapping_sub(NET), ..*instruction }
            }
            _ => *instruction,
        };
        let mut program: Vec<Instruction> = program(fanout).iter().map(here).collect();
        // The one way out that gives more than 0 is the last instruction.
        assert_eq!(program.pop().map(|last| last.code), Some(RET_A));
        let do_this = |code, k, jf| Instruction { code, jt: 0, jf, k };
        program.extend([do_this(JEQ, value, 1), do_this(RET_K, 1, 0), do_this(RET_K, 0, 0)]);
        Program::new(program).expect("a valid program")
    }

    /// A packet of TCP over IPv4 from and to ports of hosts 10.0.x.y, behind something else.
    fn packet(before: &[u8], from: ([u8; 2], u16), to: ([u8; 2], u16), fragment: u8) -> Vec<u8> {
        let mut packet = before.to_vec();
        packet.extend([0x45, 0, 0, 40, 0, 0, fragment, 0, 64, 6, 0, 0]);
        packet.extend([10, 0, from.0[0], from.0[1], 10, 0, to.0[0], to.0[1]]);
        packet.extend([from.1.to_be_bytes(), to.1.to_be_bytes()].concat());
        packet.extend([0; 16]);
        packet
    }

    /// What the program is to give for these addresses and ports, computed another way.
    fn hash(addresses: [&[u8]; 2], ports: [u16; 2]) -> u32 {
        let address = |address: &[u8]| {
            address.chunks(4).fold(0u32, |hash, word| {
                let word = u32::from_be_bytes(word.try_into().expect("whole words"));
                let product = (hash ^ word).wrapping_mul(GOLDEN);
                product ^ product >> 15
            })
        };
        let ports = ports.map(u32::from);
        let sum = addresses.map(address).into_iter().chain(ports).fold(0, u32::wrapping_add);
        sum.wrapping_mul(GOLDEN) >> 16
    }

    fn expected(from: ([u8; 2], u16), to: ([u8; 2], u16), ports: bool) -> u32 {
        let [near, far] = [from.0, to.0].map(|[x, y]| [10, 0, x, y]);
        hash([&near, &far], if ports { [from.1, to.1] } else { [0, 0] })
    }

    const CLIENT: ([u8; 2], u16) = ([0, 1], 40_000);
    const SERVER: ([u8; 2], u16) = ([3, 7], 443);

    #[test]
    fn a_length_that_looks_like_a_tag_is_none() {
        // Its own tag stands before the network header, as on the way out.
        let program = gives(Fanout::Cbpf, expected(CLIENT, SERVER, true), 0x8100);
        for length in [0x0800u16, 0x86dd, 1500] {
            let mut packet = packet(&[], CLIENT, SERVER, 0);
            packet[2..4].copy_from_slice(&length.to_be_bytes());
            assert!(program.matches(&packet, 60), "{length} bytes");
        }
    }

    /// What may stand before the IP header, with the EtherType that the kernel names.
    const BEFORE: [(u32, &[u8]); 6] = [
        (ETHERTYPE_IPV4, &[]),
        (0x8100, &[0, 5, 8, 0]),
        (0x88a8, &[0, 5, 0x81, 0, 0, 6, 8, 0]),
        (ETHERTYPE_MPLS, &[0, 1, 1, 64]),
        (ETHERTYPE_MPLS, &[0, 1, 0, 64, 0, 2, 0, 64, 0, 3, 1, 64]),
        (ETHERTYPE_PPPOE, &[0x11, 0, 0, 9, 0, 42, 0, 0x21]),
    ];

    #[test]
    fn both_directions_give_the_same_whatever_stands_before_the_ip_header() {
        for (ethertype, before) in BEFORE {
            for (from, to) in [(CLIENT, SERVER), (SERVER, CLIENT)] {
                let program = gives(Fanout::Cbpf, expected(CLIENT, SERVER, true), ethertype);
                assert!(program.matches(&packet(before, from, to, 0), 60), "{before:x?}");
                let program = gives(Fanout::Cbpf, expected(CLIENT, SERVER, false), ethertype);
                assert!(program.matches(&packet(before, from, to, 0x20), 60), "a fragment");
            }
        }
    }

    #[test]
    fn all_between_two_hosts_gives_the_same() {
        for (ethertype, before) in BEFORE {
            let program = gives(Fanout::Hosts, expected(CLIENT, SERVER, false), ethertype);
            for port in [40_000, 40_001, 443] {
                let (from, to) = ((CLIENT.0, port), (SERVER.0, 80));
                assert!(program.matches(&packet(before, from, to, 0), 60), "{before:x?}");
                assert!(program.matches(&packet(before, to, from, 0x20), 60), "{before:x?}");
            }
        }
    }

    #[test]
    fn addresses_of_ipv6_count_whole() {
        let packet = |source: [u8; 16], destination: [u8; 16], port: u16| {
            let head = [0x60, 0, 0, 0, 0, 20, 6, 64];
            let ports = [port.to_be_bytes(), 443u16.to_be_bytes()].concat();
            [head.as_slice(), &source, &destination, &ports, &[0; 16]].concat()
        };
        let near = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
        let mut results = std::collections::BTreeSet::new();
        for changed in 0..17 {
            let mut far = [0xfd; 16];
            if let Some(byte) = far.get_mut(changed) {
                *byte = 0;
            }
            for (fanout, ports) in [(Fanout::Hosts, [0, 0]), (Fanout::Cbpf, [40_000, 443])] {
                let result = hash([&near, &far], ports);
                let program = gives(fanout, result, ETHERTYPE_IPV6);
                assert!(program.matches(&packet(near, far, 40_000), 60), "{fanout:?}");
                assert!(program.matches(&packet(far, near, 40_000), 60), "{fanout:?}");
                results.insert(result);
            }
        }
        assert_eq!(results.len(), 34, "each byte counts");
    }

    #[test]
    fn neighbouring_hosts_are_shared_out() {
        // With the addresses XORed all of these pairs would be one.
        let worker = |last: u8| expected(([1, last], 0), ([2, last], 0), false) % 4;
        let mut pairs = [0; 4];
        (0..64).for_each(|last| pairs[worker(last) as usize] += 1);
        assert!(pairs.iter().all(|&pairs| (8..=24).contains(&pairs)), "{pairs:?}");
    }
}
