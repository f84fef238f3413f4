//! Taps: what a capture at some point of the network shows of the simulated traffic.

pub mod frame;

use crate::endpoint::Kind;
use crate::packet::{Ecn, TcpHeader};
use crate::random::Random;
use std::collections::VecDeque;
use tcpwhy_core::units::Nanos;
use tcpwhy_core::wire::flags;

/// What a tap saw pass.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// When.
    pub ts: Nanos,
    /// Which half it belongs to: `2 * flow` along the path of the flow, `2 * flow + 1` back; UDP
    /// sources follow behind the last flow.
    pub half: usize,
    /// What it was.
    pub content: Content,
    /// IPv4 identification.
    pub ip_id: u16,
    /// ECN field.
    pub ecn: Ecn,
}

/// What an IP packet carries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Content {
    /// A TCP segment, and why its sender sent it. As a tap with offload sees it, it may be a
    /// super-segment.
    Tcp(TcpHeader, Kind),
    /// A UDP datagram with so many payload bytes.
    Udp(u32),
}

/// How a tap captures.
#[derive(Clone, Debug, Default)]
pub struct Manner {
    /// Bytes kept of each frame in pcap files; 0 keeps all headers and no payload.
    pub snaplen: u32,
    /// Every packet is seen twice, the copy this much later: a mirror port that mirrors both the
    /// ingress and the egress of a switch.
    pub duplicate_after: Option<Nanos>,
    /// The capture of each flow starts with its first segment with payload.
    pub without_handshake: bool,
    /// Nothing is recorded before this time.
    pub from: Nanos,
    /// The probability that the capture misses a packet that passed.
    pub missed: f64,
    /// Only this direction of the flows is seen, 0 along their path or 1 against it: a one-way
    /// capture.
    pub only: Option<usize>,
}

/// A point of the network at which packets are recorded, in the order of time.
pub struct Tap {
    manner: Manner,
    random: Random,
    /// Per flow: whether a segment with payload has passed.
    begun: Vec<bool>,
    /// Copies that are still to come.
    copies: VecDeque<Record>,
    records: Vec<Record>,
    missed: u64,
}

impl Tap {
    /// A tap that has seen nothing.
    pub fn new(manner: Manner, random: Random) -> Tap {
        Tap {
            manner,
            random,
            begun: Vec::new(),
            copies: VecDeque::new(),
            records: Vec::new(),
            missed: 0,
        }
    }

    /// How it captures.
    pub fn manner(&self) -> &Manner {
        &self.manner
    }

    /// Frames keep their payload from now on.
    pub fn keep_payload(&mut self) {
        self.manner.snaplen = SNAPLEN_MAX;
    }

    /// A packet passes.
    pub fn observe(&mut self, record: Record) {
        self.release_copies(record.ts);
        if !self.wants(&record) {
            return;
        }
        if self.manner.missed > 0.0 && self.random.chance(self.manner.missed) {
            self.missed += 1;
            return;
        }
        if let Some(after) = self.manner.duplicate_after {
            self.copies.push_back(Record { ts: record.ts + after, ..record.clone() });
        }
        self.records.push(record);
    }

    /// What was recorded since the last call, up to `now`.
    pub fn take(&mut self, now: Nanos) -> Vec<Record> {
        self.release_copies(now);
        std::mem::take(&mut self.records)
    }

    /// Packets that passed and that the capture missed.
    pub fn missed(&self) -> u64 {
        self.missed
    }

    fn wants(&mut self, record: &Record) -> bool {
        if record.ts < self.manner.from {
            return false;
        }
        if self.manner.only.is_some_and(|direction| direction != record.half % 2) {
            return false;
        }
        match record.content {
            Content::Tcp(header, _) if self.manner.without_handshake => {
                let flow = record.half / 2;
                if self.begun.len() <= flow {
                    self.begun.resize(flow + 1, false);
                }
                self.begun[flow] |= header.payload_bytes > 0;
                self.begun[flow] && header.flags & flags::SYN == 0
            }
            _ => true,
        }
    }

    fn release_copies(&mut self, now: Nanos) {
        while self.copies.front().is_some_and(|copy| copy.ts <= now) {
            self.records.extend(self.copies.pop_front());
        }
    }
}

/// Joins segments that continue each other: what segmentation offload hands to the card as one
/// (TSO), or what receive offload makes of many (GRO). The capturing hook of the host sees the
/// result.
#[derive(Debug, Default)]
pub struct Joiner {
    joined: Option<Record>,
}

impl Joiner {
    /// Adds a segment; gives the one before it when the two cannot be joined.
    pub fn add(&mut self, next: Record) -> Option<Record> {
        if let Some(joined) = &mut self.joined
            && join(joined, &next)
        {
            return None;
        }
        self.joined.replace(next)
    }

    /// Gives what was joined last.
    pub fn finish(&mut self) -> Option<Record> {
        self.joined.take()
    }

    /// Whether something waits to be joined.
    pub fn is_empty(&self) -> bool {
        self.joined.is_none()
    }
}

/// Appends `next` to `first` if the kernel would: same flow, next in sequence, both with payload,
/// same acknowledgement, window and timestamps, and the whole fits into an IP packet. A PSH ends
/// it.
fn join(first: &mut Record, next: &Record) -> bool {
    let (Content::Tcp(head, _), Content::Tcp(tail, _)) = (&mut first.content, &next.content) else {
        return false;
    };
    let mutable = flags::PSH | flags::FIN;
    let continues = first.half == next.half
        && first.ecn == next.ecn
        && head.payload_bytes > 0
        && tail.payload_bytes > 0
        && tail.seq == head.seq + head.payload_bytes
        && (tail.ack, tail.window_raw) == (head.ack, head.window_raw)
        && tail.timestamps == head.timestamps
        && head.flags & (mutable | flags::SYN) == 0
        && (head.flags ^ tail.flags) & !mutable == 0
        && head.payload_bytes + tail.payload_bytes <= SUPER_PAYLOAD_BYTES_MAX;
    if continues {
        head.payload_bytes += tail.payload_bytes;
        head.flags |= tail.flags;
    }
    continues
}

/// The longest snapshot that libpcap takes.
pub const SNAPLEN_MAX: u32 = 262_144;

/// An IP packet of 65,535 bytes less the longest headers (40 of IPv6, 60 of TCP).
const SUPER_PAYLOAD_BYTES_MAX: u32 = 65_535 - 100;

#[cfg(test)]
mod tests;
