//! Frames of TCP over IPv4 that are made once and changed a little for each packet. Checksums stay
//! zero, which nothing on the way looks at.

/// Connections that send in both directions, one segment after the other.
pub struct Blast {
    flows: Vec<Flow>,
    next: usize,
    frame: Vec<u8>,
}

#[derive(Clone, Copy, Default)]
struct Flow {
    /// The next byte of either side.
    seq: [u32; 2],
    packets: u32,
}

impl Blast {
    /// So many connections, with frames of this length, its checksum included.
    pub fn new(flows: u32, len: usize) -> Blast {
        let frame = frame(len.max(HEADERS + CHECKSUM + 1) - CHECKSUM);
        Blast { flows: vec![Flow::default(); flows.max(1) as usize], next: 0, frame }
    }

    /// Fills the next frame in.
    pub fn next(&mut self, space: &mut Vec<u8>) {
        let index = self.next;
        self.next = (index + 1) % self.flows.len();
        let flow = &mut self.flows[index];
        space.extend_from_slice(&self.frame);
        let [client, server] = [[10, 0, 0, 0], [10, 128, 0, 1]];
        let client = (u32::from_be_bytes(client) + index as u32).to_be_bytes();
        let back = flow.packets & 1 == 1;
        let (from, to) = if back { (server, client) } else { (client, server) };
        let ports = if back { [443, 40_000] } else { [40_000, 443] };
        space[IP + 4..IP + 6].copy_from_slice(&(flow.packets as u16).to_be_bytes());
        address(space, from, to, ports);
        let (own, other) = (usize::from(back), usize::from(!back));
        space[TCP + 4..TCP + 8].copy_from_slice(&flow.seq[own].to_be_bytes());
        space[TCP + 8..TCP + 12].copy_from_slice(&flow.seq[other].to_be_bytes());
        flow.seq[own] = flow.seq[own].wrapping_add((space.len() - HEADERS) as u32);
        flow.packets = flow.packets.wrapping_add(1);
    }
}

/// SYNs from everywhere to one server.
pub struct Flood {
    state: u64,
    frame: Vec<u8>,
}

impl Default for Flood {
    fn default() -> Flood {
        let mut frame = frame(HEADERS + 6);
        frame[TCP + 13] = 0x02;
        frame[IP + 2..IP + 4].copy_from_slice(&40u16.to_be_bytes());
        Flood { state: 1, frame }
    }
}

impl Flood {
    /// Fills the next frame in.
    pub fn next(&mut self, space: &mut Vec<u8>) {
        // SplitMix64 (Steele, Lea, Flood 2014), whose values do not repeat.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.state ^ self.state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        let from = (z as u32).to_be_bytes();
        space.extend_from_slice(&self.frame);
        address(space, from, [192, 0, 2, 1], [(z >> 32) as u16, 80]);
        space[TCP + 4..TCP + 8].copy_from_slice(&((z >> 40) as u32).to_be_bytes());
    }
}

/// A data segment of so many bytes.
fn frame(len: usize) -> Vec<u8> {
    let mut frame = vec![0; len];
    frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2]);
    frame[12..14].copy_from_slice(&[8, 0]);
    frame[IP] = 0x45;
    frame[IP + 2..IP + 4].copy_from_slice(&((len - IP) as u16).to_be_bytes());
    frame[IP + 8..IP + 10].copy_from_slice(&[64, 6]);
    frame[TCP + 12..TCP + 16].copy_from_slice(&[0x50, 0x10, 0xff, 0xff]);
    frame
}

fn address(frame: &mut [u8], from: [u8; 4], to: [u8; 4], ports: [u16; 2]) {
    frame[IP + 12..IP + 16].copy_from_slice(&from);
    frame[IP + 16..IP + 20].copy_from_slice(&to);
    frame[TCP..TCP + 2].copy_from_slice(&ports[0].to_be_bytes());
    frame[TCP + 2..TCP + 4].copy_from_slice(&ports[1].to_be_bytes());
}

const IP: usize = 14;
const TCP: usize = IP + 20;
const HEADERS: usize = TCP + 20;
/// The frame check sequence, which the card adds.
const CHECKSUM: usize = 4;
