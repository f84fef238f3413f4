//! Queue disciplines: what waits in front of a link, and what is dropped or marked there.
//!
//! A discipline is one file here and one line in the registry below.

mod hosts;

use super::Body;
use super::event::{Action, Events};
use crate::packet::{Ecn, Packet};
use crate::random::Random;
use crate::registry::registry;
use std::collections::VecDeque;
use tcpwhy_core::units::Nanos;

/// Packets that wait for a link. Called at the times at which packets arrive and the link becomes
/// free, in the order of time.
pub trait Queue<B>: Send {
    /// A packet arrives: it waits, or it or another one is dropped.
    fn enqueue(&mut self, now: Nanos, packet: Packet<B>, events: &mut Events);

    /// The link is free and takes the next packet.
    fn dequeue(&mut self, now: Nanos, events: &mut Events) -> Option<Packet<B>>;

    /// How much waits.
    fn waiting(&self) -> Waiting;

    /// How many packets of a flow wait.
    fn packets_of(&self, flow: u32) -> usize;
}

/// How much waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// Packets.
    pub packets: usize,
    /// Their bytes.
    pub bytes: u64,
}

/// The settings of a discipline, as scenario files give them.
pub trait Discipline: Clone + serde::de::DeserializeOwned {
    /// Settings in TOML that show what the discipline can do, as for elements.
    const EXAMPLES: &'static [&'static str];

    /// A queue with these settings in front of a link of this mean rate.
    fn build<B: Body>(&self, rate_bps: Option<u64>, random: Random) -> Box<dyn Queue<B>>;
}

registry! {
    /// The settings of any queue discipline: a table with one key, its name.
    Queues, Discipline {
        "drop_tail", drop_tail::DropTail, "Drops the packet that finds the queue full.";
        "drop_head", drop_head::DropHead, "Drops the packet that waited longest when full.";
        "codel", codel::Codel, "Controlled delay: drops by sojourn time (RFC 8289).";
        "fq_codel", fq_codel::FqCodel, "CoDel for each flow, served in turn (RFC 8290).";
        "cake", cake::Cake, "Fair to hosts, and to the flows of each (tc-cake).";
        "pie", pie::Pie, "Drops at random to hold a reference delay (RFC 8033).";
        "red", red::Red, "Random early detection by mean queue length (Floyd, Jacobson 1993).";
        "ecn_threshold", ecn_threshold::EcnThreshold, "Marks above a queue length (RFC 8257).";
    }
}

impl Queues {
    /// A queue with these settings in front of a link of this mean rate.
    pub fn build<B: Body>(&self, rate_bps: Option<u64>, random: Random) -> Box<dyn Queue<B>> {
        with_settings!(self, settings => settings.build(rate_bps, random))
    }
}

impl Default for Queues {
    fn default() -> Queues {
        Queues::DropTail(DropTail::default())
    }
}

/// First in, first out, with the time of arrival of each packet.
pub struct Fifo<B> {
    waiting: VecDeque<(Nanos, Packet<B>)>,
    bytes: u64,
}

impl<B> Fifo<B> {
    fn new() -> Fifo<B> {
        Fifo { waiting: VecDeque::new(), bytes: 0 }
    }

    fn push(&mut self, now: Nanos, packet: Packet<B>) {
        self.bytes += u64::from(packet.wire_bytes);
        self.waiting.push_back((now, packet));
    }

    fn pop(&mut self) -> Option<(Nanos, Packet<B>)> {
        let (arrived, packet) = self.waiting.pop_front()?;
        self.bytes -= u64::from(packet.wire_bytes);
        Some((arrived, packet))
    }

    /// How many packets wait.
    pub fn packets(&self) -> usize {
        self.waiting.len()
    }

    /// How many bytes wait.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How much waits.
    pub fn waiting(&self) -> Waiting {
        Waiting { packets: self.packets(), bytes: self.bytes }
    }

    /// How many packets of a flow wait.
    pub fn packets_of(&self, flow: u32) -> usize {
        self.waiting.iter().filter(|(_, packet)| packet.flow == flow).count()
    }
}

/// How much may wait.
#[derive(Clone, Copy, Debug)]
struct Limit {
    packets: u64,
    bytes: u64,
}

impl Limit {
    /// From settings; without any, [`PACKETS_DEFAULT`].
    fn of(
        packets: Option<crate::parameter::Count>,
        bytes: Option<crate::parameter::Count>,
    ) -> Limit {
        let unlimited = bytes.map_or(PACKETS_DEFAULT, |_| u64::MAX);
        Limit {
            packets: packets.map_or(unlimited, |count| count.0),
            bytes: bytes.map_or(u64::MAX, |count| count.0),
        }
    }

    /// Whether one more packet of `wire_bytes` fits behind what waits.
    fn admits<B>(&self, waiting: &Fifo<B>, wire_bytes: u32) -> bool {
        (waiting.packets() as u64) < self.packets
            && waiting.bytes + u64::from(wire_bytes) <= self.bytes
    }
}

/// Marks the packet if its transport understands ECN (RFC 3168 section 5); else drops it by giving
/// nothing back.
fn mark_or_drop<B>(
    now: Nanos,
    mut packet: Packet<B>,
    ecn: bool,
    reason: &'static str,
    events: &mut Events,
) -> Option<Packet<B>> {
    if ecn && packet.ecn != Ecn::NotEct {
        events.note(now, &packet, Action::Mark, reason);
        packet.ecn = Ecn::Ce;
        return Some(packet);
    }
    events.note(now, &packet, Action::Drop, reason);
    None
}

/// Linux's default length of a device queue (`txqueuelen`).
const PACKETS_DEFAULT: u64 = 1000;

#[cfg(test)]
mod tests;
