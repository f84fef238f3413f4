//! Marking above a queue length.

use super::{Discipline, Fifo, Limit, Queue, Waiting};
use crate::link::Body;
use crate::link::event::{Action, Events};
use crate::packet::{Ecn, Packet};
use crate::parameter::Count;
use crate::random::Random;
use serde::Deserialize;
use tcpwhy_core::units::Nanos;

/// Drop-tail that sets CE on the ECN-capable packets that find `mark_packets` or more waiting
/// (RFC 8257 section 3.1: marking by the instantaneous queue length above K).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EcnThreshold {
    /// Waiting packets from which on packets are marked: the K of RFC 8257.
    pub mark_packets: Count,
    /// Packets that may wait; 1000 when neither limit is given.
    #[serde(default)]
    pub limit_packets: Option<Count>,
    /// Bytes that may wait.
    #[serde(default)]
    pub limit_bytes: Option<Count>,
}

impl Discipline for EcnThreshold {
    const EXAMPLES: &'static [&'static str] = &["mark_packets = 3\nlimit_packets = 10"];

    fn build<B: Body>(&self, _rate_bps: Option<u64>, _random: Random) -> Box<dyn Queue<B>> {
        let limit = Limit::of(self.limit_packets, self.limit_bytes);
        Box::new(Threshold { mark_packets: self.mark_packets.0, limit, fifo: Fifo::new() })
    }
}

struct Threshold<B> {
    mark_packets: u64,
    limit: Limit,
    fifo: Fifo<B>,
}

impl<B: Body> Queue<B> for Threshold<B> {
    fn enqueue(&mut self, now: Nanos, mut packet: Packet<B>, events: &mut Events) {
        if !self.limit.admits(&self.fifo, packet.wire_bytes) {
            events.note(now, &packet, Action::Drop, "queue_full");
            return;
        }
        let above = self.fifo.packets() as u64 >= self.mark_packets;
        if above && packet.ecn != Ecn::NotEct {
            events.note(now, &packet, Action::Mark, "ecn_threshold");
            packet.ecn = Ecn::Ce;
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
