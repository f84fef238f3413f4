//! A link of fixed rate.

use super::queue::Queues;
use super::server::{Server, Service};
use super::{Body, Element, Settings};
use crate::parameter::Rate;
use crate::random::Random;
use serde::Deserialize;
use tcpwhy_core::units::Nanos;

/// Sends one packet at a time at a fixed rate (RFC 5136 section 2.2: capacity of a link); the
/// others wait in the queue. The packet in transmission does not count as waiting.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FixedRate {
    /// Bits per second of whole packets as the path counts them.
    pub rate_bps: Rate,
    /// The queue in front.
    #[serde(default)]
    pub queue: Queues,
}

impl Settings for FixedRate {
    const EXAMPLES: &'static [&'static str] = &[
        "rate_bps = 1_000_000\nqueue = { drop_tail = { limit_packets = 40 } }",
        "rate_bps = 3_000_000",
    ];

    fn takes_time(&self) -> bool {
        true
    }

    fn build<B: Body>(&self, random: Random) -> Box<dyn Element<B>> {
        let queue = self.queue.build(Some(self.rate_bps.0), random);
        Server::boxed(Serializer { rate_bps: self.rate_bps.0, end: Nanos(0), fraction: 0 }, queue)
    }
}

/// Serialization times that are exact on average: what a division leaves over goes to the next
/// packet of the same busy period.
struct Serializer {
    rate_bps: u64,
    end: Nanos,
    /// In units of 1/`rate_bps` ns, behind `end`.
    fraction: u64,
}

impl Service for Serializer {
    fn finish(&mut self, start: Nanos, bytes: u32) -> Nanos {
        if start > self.end {
            self.fraction = 0;
        }
        let work = u64::from(bytes) * 8_000_000_000 + self.fraction;
        self.fraction = work % self.rate_bps;
        self.end = start + Nanos((work / self.rate_bps) as i64);
        self.end
    }
}
