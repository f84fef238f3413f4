//! Shaping: what exceeds a token bucket waits.

use super::bucket::Bucket;
use super::queue::Queues;
use super::server::{Server, Service};
use super::{Body, Element, Settings};
use crate::parameter::{Count, Rate};
use crate::random::Random;
use serde::Deserialize;
use tcpwhy_core::units::Nanos;

/// Delays what exceeds a token bucket (RFC 2475 section 2.3.3.3). A packet for which there are
/// tokens passes at once: bursts up to the bucket's size keep the speed of the link before. The
/// packet that waits for tokens does not count as waiting in the queue.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shaper {
    /// Rate at which tokens flow in.
    pub rate_bps: Rate,
    /// The size of the bucket.
    pub burst_bytes: Count,
    /// The queue in front.
    #[serde(default)]
    pub queue: Queues,
}

impl Settings for Shaper {
    const EXAMPLES: &'static [&'static str] = &["rate_bps = 1_000_000\nburst_bytes = 10_000\n\
         queue = { drop_tail = { limit_bytes = 50_000 } }"];

    fn takes_time(&self) -> bool {
        true
    }

    fn build<B: Body>(&self, random: Random) -> Box<dyn Element<B>> {
        let queue = self.queue.build(Some(self.rate_bps.0), random);
        Server::boxed(Shape(Bucket::new(self.rate_bps.0, self.burst_bytes.0)), queue)
    }
}

struct Shape(Bucket);

impl Service for Shape {
    fn finish(&mut self, start: Nanos, bytes: u32) -> Nanos {
        let ready = self.0.ready(start, bytes);
        let taken = self.0.take(ready, bytes);
        debug_assert!(taken, "the bucket said when it would have the tokens");
        ready
    }
}
