//! Forges small capture files.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A folder of its own that is removed at the end of a test.
pub struct Folder(PathBuf);

impl Folder {
    /// An empty folder.
    pub fn new() -> Folder {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!("tcpwhy-io-{}-{}", std::process::id(), NEXT.fetch_add(1, Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    /// Writes a file into it.
    pub fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// A path in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A frame of one of several transfers, as bytes.
#[derive(Clone)]
pub struct Packet {
    pub ts_us: u64,
    pub bytes: Vec<u8>,
}

/// `rounds` data segments and acknowledgements of each of `flows` transfers, interleaved, a
/// millisecond apart; no two packets at the same time.
pub fn transfers(flows: u16, rounds: u32) -> Vec<Packet> {
    let mut packets = Vec::new();
    for round in 0..rounds {
        for flow in 0..flows {
            let ts_us = 1_000_000 + u64::from(round) * 1000 + u64::from(flow);
            let data = tcp(40_000 + flow, 80, 1 + round * 100, 1, 100);
            packets.push(Packet { ts_us, bytes: frame([10, 0, 0, 1], [10, 0, 0, 2], &data) });
            let ts_us = ts_us + 400;
            let ack = tcp(80, 40_000 + flow, 1, 101 + round * 100, 0);
            packets.push(Packet { ts_us, bytes: frame([10, 0, 0, 2], [10, 0, 0, 1], &ack) });
        }
    }
    packets.sort_by_key(|packet| packet.ts_us);
    packets
}

/// The SYNs of so many connections, a millisecond apart, each from an address of its own.
pub fn connections(count: u32) -> Vec<Packet> {
    let of = |number: u32| {
        let mut syn = tcp(40_000, 80, number, 0, 0);
        syn[13] = 0x02;
        let [_, a, b, c] = number.to_be_bytes();
        let ts_us = 1_000_000 + u64::from(number) * 1000;
        Packet { ts_us, bytes: frame([10, a, b, c], [192, 0, 2, 1], &syn) }
    };
    (0..count).map(of).collect()
}

fn tcp(src: u16, dst: u16, seq: u32, ack: u32, payload: usize) -> Vec<u8> {
    let mut bytes = [src.to_be_bytes(), dst.to_be_bytes()].concat();
    bytes.extend(seq.to_be_bytes());
    bytes.extend(ack.to_be_bytes());
    bytes.extend([0x50, 0x10, 0xff, 0xff, 0, 0, 0, 0]);
    bytes.resize(20 + payload, 0x55);
    bytes
}

fn frame(src: [u8; 4], dst: [u8; 4], segment: &[u8]) -> Vec<u8> {
    let mut bytes = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0];
    bytes.extend((20 + segment.len() as u16).to_be_bytes());
    bytes.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
    bytes.extend(src);
    bytes.extend(dst);
    bytes.extend(segment);
    bytes
}

/// A pcap file of Ethernet frames.
pub fn pcap(packets: &[Packet]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65535, 1u32] {
        file.extend(word.to_le_bytes());
    }
    for packet in packets {
        let len = packet.bytes.len() as u32;
        let (s, us) = (packet.ts_us / 1_000_000, packet.ts_us % 1_000_000);
        for word in [s as u32, us as u32, len, len] {
            file.extend(word.to_le_bytes());
        }
        file.extend(&packet.bytes);
    }
    file
}

/// Where the record with this index starts in a file of [`pcap`].
pub fn record_offset(packets: &[Packet], index: usize) -> usize {
    24 + packets[..index].iter().map(|packet| 16 + packet.bytes.len()).sum::<usize>()
}
