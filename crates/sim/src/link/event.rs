//! What elements do to packets, as it is logged.

use crate::packet::Packet;
use tcpwhy_core::units::Nanos;

/// Something that an element did to a packet other than delaying it as it always does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub at: Nanos,
    /// [`Packet::id`].
    pub packet: u64,
    /// [`Packet::flow`].
    pub flow: u32,
    /// [`Packet::wire_bytes`].
    pub wire_bytes: u32,
    /// What.
    pub action: Action,
    /// Why, as the element names it.
    pub reason: &'static str,
    /// Position of the element on its path, from 0.
    pub element: u16,
}

/// What an element did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// It dropped the packet.
    Drop,
    /// It set the packet's ECN field to CE.
    Mark,
    /// It held the packet back so that later ones could overtake.
    Hold,
    /// It made a second copy.
    Duplicate,
}

impl Action {
    /// The name in the `events` table.
    pub fn name(self) -> &'static str {
        match self {
            Action::Drop => "drop",
            Action::Mark => "mark",
            Action::Hold => "hold",
            Action::Duplicate => "duplicate",
        }
    }
}

/// The events of one element until they are drained. Bounded: what does not fit is counted.
#[derive(Debug, Default)]
pub struct Events {
    waiting: Vec<Event>,
    lost: u64,
}

impl Events {
    /// Notes that `action` was done to `packet`.
    pub fn note<B>(&mut self, at: Nanos, packet: &Packet<B>, action: Action, reason: &'static str) {
        if self.waiting.len() == WAITING_MAX {
            self.lost += 1;
            return;
        }
        let Packet { id, flow, wire_bytes, .. } = *packet;
        self.waiting.push(Event { at, packet: id, flow, wire_bytes, action, reason, element: 0 });
    }

    /// Moves the events to the end of `into`.
    pub fn drain(&mut self, into: &mut Vec<Event>) {
        into.append(&mut self.waiting);
    }

    /// How many events were not kept since nobody drained them.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}

/// Events that wait in one element: far more than happen between two pushes, and 2.6 MB at most.
const WAITING_MAX: usize = 65_536;

/// What waits in a queue. The packet in transmission is not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Packets waiting now.
    pub packets: u64,
    /// Bytes waiting now.
    pub bytes: u64,
    /// The largest number of packets that waited since the start.
    pub packets_max: u64,
    /// The integral of waiting packets over time since the start, in packets times ns.
    pub packet_ns: u128,
    /// Time since the start in which a packet was being sent.
    pub busy_ns: Nanos,
    /// Packets sent since the start.
    pub sent_packets: u64,
    /// Bytes sent since the start.
    pub sent_bytes: u64,
    /// Until when this holds.
    pub as_of: Nanos,
}

impl Backlog {
    /// Time passes until `now`, and then this many packets and bytes wait.
    pub(super) fn becomes(&mut self, now: Nanos, packets: usize, bytes: u64) {
        self.packet_ns += u128::from(self.packets) * now.since(self.as_of).0 as u128;
        self.as_of = now;
        self.packets = packets as u64;
        self.bytes = bytes;
        self.packets_max = self.packets_max.max(self.packets);
    }

    /// Time passes until `now`.
    pub(super) fn at(mut self, now: Nanos) -> Backlog {
        self.becomes(now, self.packets as usize, self.bytes);
        self
    }
}
