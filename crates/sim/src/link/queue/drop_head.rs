//! Drop-head.

use super::{Discipline, Fifo, Limit, Queue, Waiting};
use crate::link::Body;
use crate::link::event::{Action, Events};
use crate::packet::Packet;
use crate::parameter::Count;
use crate::random::Random;
use serde::Deserialize;
use tcpwhy_core::units::Nanos;

/// First in, first out. A packet that finds the queue full takes the place of those that waited
/// longest: they are dropped, and the sender hears of the loss earlier (Lakshman, Neidhardt and
/// Ott, "The drop from front strategy in TCP and in TCP over ATM", INFOCOM 1996).
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DropHead {
    /// Packets that may wait; 1000 when neither limit is given.
    #[serde(default)]
    pub limit_packets: Option<Count>,
    /// Bytes that may wait.
    #[serde(default)]
    pub limit_bytes: Option<Count>,
}

impl Discipline for DropHead {
    const EXAMPLES: &'static [&'static str] = &["limit_packets = 5", "limit_bytes = 6000"];

    fn build<B: Body>(&self, _rate_bps: Option<u64>, _random: Random) -> Box<dyn Queue<B>> {
        let limit = Limit::of(self.limit_packets, self.limit_bytes);
        Box::new(Head { limit, fifo: Fifo::new() })
    }
}

struct Head<B> {
    limit: Limit,
    fifo: Fifo<B>,
}

impl<B: Body> Queue<B> for Head<B> {
    fn enqueue(&mut self, now: Nanos, packet: Packet<B>, events: &mut Events) {
        while !self.limit.admits(&self.fifo, packet.wire_bytes) {
            let Some((_, oldest)) = self.fifo.pop() else {
                // Larger than the whole queue.
                events.note(now, &packet, Action::Drop, "queue_full");
                return;
            };
            events.note(now, &oldest, Action::Drop, "queue_full");
        }
        self.fifo.push(now, packet);
    }

    fn dequeue(&mut self, _now: Nanos, _events: &mut Events) -> Option<Packet<B>> {
        self.fifo.pop().map(|(_, packet)| packet)
    }

    fn waiting(&self) -> Waiting {
        self.fifo.waiting()
    }

    fn packets_of(&self, flow: u32) -> usize {
        self.fifo.packets_of(flow)
    }
}
