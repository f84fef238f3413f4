//! How packets are shared out: both directions of a flow to the same worker.

use tcpwhy_core::wire::bpf::Instruction;

/// Which worker gets a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fanout {
    /// By the kernel's symmetric hash of addresses and ports; it looks into tunnels.
    #[default]
    Hash,
    /// By a program of ours: addresses and ports of the outer packet, XORed.
    Cbpf,
    /// By the receive queue of the card; right only where the card's own hash is symmetric.
    QueueMapping,
}

impl Fanout {
    /// Every way, with its name on the command line.
    pub const ALL: [(&'static str, Fanout); 3] =
        [("hash", Fanout::Hash), ("cbpf", Fanout::Cbpf), ("qm", Fanout::QueueMapping)];

    /// The way of this name.
    pub fn from_name(name: &str) -> Option<Fanout> {
        Fanout::ALL.into_iter().find(|(known, _)| *known == name).map(|(_, fanout)| fanout)
    }

    /// The kernel's number for it.
    pub(super) fn kind(self) -> u32 {
        match self {
            Fanout::Hash => libc::PACKET_FANOUT_HASH,
            Fanout::Cbpf => libc::PACKET_FANOUT_CBPF,
            Fanout::QueueMapping => libc::PACKET_FANOUT_QM,
        }
    }
}

/// The program of [`Fanout::Cbpf`]. The kernel takes its result modulo the number of workers. It
/// may load from the network header on. That is the IP header or, with a second tag, what is behind
/// the EtherType of a tag. Ports count only where every packet of a flow has them: in TCP that is
/// no fragment. Too short a packet gives 0.
pub(super) fn symmetric_program() -> Vec<Instruction> {
    let plain = ip_header(0, &[op(RET_K, 0)]);
    // A frame that leaves with its tag has the IP header as network header. What looks like a tag
    // there may be the length of a packet: 2,048 bytes are 0x0800.
    let tagged = ip_header(TAG_LEN, &[]);
    let twice = ip_header(2 * TAG_LEN, &[op(JA, tagged.len() as u32)]);
    let blocks = [twice, tagged, plain];
    let [twice, tagged, _] = blocks.each_ref().map(|block| block.len() as u32);
    let mut program = vec![
        op(LDW_ABS, PROTOCOL),
        jump(JEQ, ETHERTYPE_IPV4, 8, 0),
        jump(JEQ, ETHERTYPE_IPV6, 7, 0),
        op(LDH_ABS, NET + 2),
        jump(JEQ, ETHERTYPE_IPV4, 4, 0),
        jump(JEQ, ETHERTYPE_IPV6, 3, 0),
        op(LDH_ABS, NET + 6),
        jump(JEQ, ETHERTYPE_IPV4, 3, 0),
        jump(JEQ, ETHERTYPE_IPV6, 2, 1),
        op(JA, 1 + twice),
        op(JA, twice + tagged),
    ];
    program.extend(blocks.concat());
    program
}

/// Goes on with the IP header at this place, or `otherwise` if there is none.
fn ip_header(at: u32, otherwise: &[Instruction]) -> Vec<Instruction> {
    let ipv4 = family(&ipv4_ports(NET + at), NET + at, &[12, 16]);
    let ipv6 = family(&ipv6_ports(NET + at), NET + at, &[8, 12, 16, 20, 24, 28, 32, 36]);
    let mut program = vec![op(LDB_ABS, NET + at), op(RSH, 4), jump(JEQ, 4, 0, ipv4.len() as u8)];
    program.extend(ipv4);
    program.push(jump(JEQ, 6, 0, ipv6.len() as u8));
    program.extend(ipv6);
    program.extend_from_slice(otherwise);
    program
}

/// XORs what `ports` leaves in the accumulator with the addresses at these offsets, and returns
/// well-mixed bits of it: client ports of Linux are all even.
fn family(ports: &[Instruction], at: u32, addresses: &[u32]) -> Vec<Instruction> {
    let mut code = ports.to_vec();
    for offset in addresses {
        code.extend([op(TAX, 0), op(LDW_ABS, at + offset), op(XOR_X, 0)]);
    }
    // Fibonacci hashing: the high bits of a product with 2^32 over the golden ratio (Knuth, The Art
    // of Computer Programming, volume 3, section 6.4).
    code.extend([op(MUL, 0x9e37_79b1), op(RSH, 16), op(RET_A, 0)]);
    code
}

fn ipv4_ports(at: u32) -> Vec<Instruction> {
    let mut ports = vec![op(LDX_MSH, at)];
    ports.extend(xor_ports([op(LDH_IND, at), op(LDH_IND, at + 2)]));
    let mut code = vec![
        op(LDH_ABS, at + 6),
        // A fragment: not the first, or more follow (RFC 791 section 3.1).
        jump(JSET, 0x3fff, 2, 0),
        op(LDB_ABS, at + 9),
        jump(JEQ, TCP, 2, 0),
    ];
    code.extend([op(LD_IMM, 0), op(JA, ports.len() as u32)]);
    code.extend(ports);
    code
}

/// The ports behind an IPv6 header without extension headers.
fn ipv6_ports(at: u32) -> Vec<Instruction> {
    let ports = xor_ports([op(LDH_ABS, at + 40), op(LDH_ABS, at + 42)]);
    let mut code = vec![op(LDB_ABS, at + 6), jump(JEQ, TCP, 2, 0)];
    code.extend([op(LD_IMM, 0), op(JA, ports.len() as u32)]);
    code.extend(ports);
    code
}

/// XORs two loads, of which the first may use the index register.
fn xor_ports([source, destination]: [Instruction; 2]) -> Vec<Instruction> {
    vec![source, op(ST, 0), destination, op(LDX_MEM, 0), op(XOR_X, 0)]
}

const fn op(code: u16, k: u32) -> Instruction {
    Instruction { code, jt: 0, jf: 0, k }
}

const fn jump(code: u16, k: u32, jt: u8, jf: u8) -> Instruction {
    Instruction { code, jt, jf, k }
}

/// SKF_NET_OFF: loads from here are relative to the network header.
const NET: u32 = libc::SKF_NET_OFF as u32;
/// SKF_AD_PROTOCOL: the EtherType as the kernel sees it.
const PROTOCOL: u32 = libc::SKF_AD_OFF as u32;
const ETHERTYPE_IPV4: u32 = 0x0800;
const ETHERTYPE_IPV6: u32 = 0x86dd;
const TAG_LEN: u32 = 4;
/// IANA protocol number.
const TCP: u32 = 6;
// Operations of classic BPF, by their names in bpf(4).
const LDW_ABS: u16 = 0x20;
const LDH_ABS: u16 = 0x28;
const LDB_ABS: u16 = 0x30;
const LDH_IND: u16 = 0x48;
const LD_IMM: u16 = 0x00;
const LDX_MEM: u16 = 0x61;
const LDX_MSH: u16 = 0xb1;
const ST: u16 = 0x02;
const MUL: u16 = 0x24;
const RSH: u16 = 0x74;
const XOR_X: u16 = 0xac;
const JA: u16 = 0x05;
const JEQ: u16 = 0x15;
const JSET: u16 = 0x45;
const TAX: u16 = 0x07;
const RET_K: u16 = 0x06;
const RET_A: u16 = 0x16;

#[cfg(test)]
mod tests {
    use super::*;
    use tcpwhy_core::wire::bpf::Program;

    /// The program as it is for a packet that starts with its network header, with every return
    /// made a question: is it this value?
    fn gives(value: u32, ethertype: u32) -> Program {
        let here = |instruction: &Instruction| match *instruction {
            Instruction { code: LDW_ABS, k: PROTOCOL, .. } => op(LD_IMM, ethertype),
            Instruction { code: LDX_MSH | LDH_IND | LDW_ABS | LDH_ABS | LDB_ABS, k, .. } => {
                Instruction { k: k.wrapping_sub(NET), ..*instruction }
            }
            _ => *instruction,
        };
        let mut program: Vec<Instruction> = symmetric_program().iter().map(here).collect();
        // Every way out leads over RET_A or RET_K at the end of a block.
        let end = program.len() as u32;
        for (at, instruction) in program.iter_mut().enumerate() {
            if instruction.code == RET_A {
                *instruction = op(JA, end - at as u32 - 1);
            }
        }
        program.extend([jump(JEQ, value, 0, 1), op(RET_K, 1), op(RET_K, 0)]);
        Program::new(program).expect("a valid program")
    }

    fn packet(tags: usize, from: (u8, u16), to: (u8, u16), fragment: u8) -> Vec<u8> {
        let mut packet = match tags {
            0 => Vec::new(),
            1 => vec![0, 5, 8, 0],
            _ => vec![0, 5, 0x81, 0, 0, 6, 8, 0],
        };
        packet.extend([0x45, 0, 0, 40, 0, 0, fragment, 0, 64, 6, 0, 0]);
        packet.extend([10, 0, 0, from.0, 10, 0, 0, to.0]);
        packet.extend([from.1.to_be_bytes(), to.1.to_be_bytes()].concat());
        packet.extend([0; 16]);
        packet
    }

    #[test]
    fn a_length_that_looks_like_a_tag_is_none() {
        // Its own tag stands before the network header, as on the way out.
        let (client, server) = ((1, 40_000), (7, 443));
        let program = gives(expected(client, server, true), 0x8100);
        for length in [0x0800u16, 0x86dd, 1500] {
            let mut packet = packet(0, client, server, 0);
            packet[2..4].copy_from_slice(&length.to_be_bytes());
            assert!(program.matches(&packet, 60), "{length} bytes");
        }
    }

    /// What the program is to give, computed another way.
    fn expected(from: (u8, u16), to: (u8, u16), ports: bool) -> u32 {
        let addresses = u32::from(from.0 ^ to.0);
        let ports = if ports { u32::from(from.1 ^ to.1) } else { 0 };
        (addresses ^ ports).wrapping_mul(0x9e37_79b1) >> 16
    }

    #[test]
    fn both_directions_give_the_same_with_and_without_a_tag() {
        let (client, server) = ((1, 40_000), (7, 443));
        for (tags, ethertype) in [(0, ETHERTYPE_IPV4), (1, 0x8100), (2, 0x88a8)] {
            for (from, to) in [(client, server), (server, client)] {
                let program = gives(expected(from, to, true), ethertype);
                assert!(program.matches(&packet(tags, from, to, 0), 60), "{tags} tags");
                let program = gives(expected(from, to, false), ethertype);
                assert!(program.matches(&packet(tags, from, to, 0x20), 60), "a fragment");
            }
        }
    }
}
