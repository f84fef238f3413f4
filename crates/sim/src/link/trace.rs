//! A link that follows a recorded trace of delivery opportunities.

use super::queue::Queues;
use super::server::{Server, Service};
use super::{Body, Element, Settings};
use crate::random::Random;
use serde::{Deserialize, Deserializer, de::Error};
use tcpwhy_core::units::Nanos;

/// A link as mahimahi describes it (Netravali et al., "Mahimahi: accurate record-and-replay for
/// HTTP", USENIX ATC 2015, section 3.3): a list of times in milliseconds at each of which
/// [`OPPORTUNITY_BYTES`] may leave. What a packet leaves over is for the next one if that is
/// waiting; otherwise it is wasted. The trace repeats after its last entry.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// The opportunities, in ms, never decreasing, the last one above 0.
    #[serde(deserialize_with = "opportunities")]
    pub opportunities_ms: Vec<u64>,
    /// The queue in front.
    #[serde(default)]
    pub queue: Queues,
}

/// What an opportunity delivers: an Ethernet frame of 1500 bytes and its type, as mahimahi counts.
pub const OPPORTUNITY_BYTES: u64 = 1504;

impl Settings for Trace {
    const EXAMPLES: &'static [&'static str] = &[
        "opportunities_ms = [2, 2, 5, 11, 12]\nqueue = { drop_tail = { limit_packets = 20 } }",
        "opportunities_ms = [1]",
    ];

    fn takes_time(&self) -> bool {
        true
    }

    fn build<B: Body>(&self, random: Random) -> Box<dyn Element<B>> {
        let period_ms = self.opportunities_ms.last().copied().unwrap_or(1);
        let bits = self.opportunities_ms.len() as u64 * OPPORTUNITY_BYTES * 8;
        let mean_bps = bits * 1000 / period_ms;
        let queue = self.queue.build(Some(mean_bps), random);
        let opportunities = self.opportunities_ms.clone();
        Server::boxed(Schedule { opportunities, period_ms, index: 0, left_bytes: 0 }, queue)
    }
}

/// Position in the trace: `left_bytes` of opportunity number `index - 1` are unused.
struct Schedule {
    opportunities: Vec<u64>,
    period_ms: u64,
    index: u64,
    left_bytes: u64,
}

impl Schedule {
    fn time(&self, index: u64) -> Nanos {
        let n = self.opportunities.len() as u64;
        let ms = index / n * self.period_ms + self.opportunities[(index % n) as usize];
        Nanos::from_millis(ms as i64)
    }

    /// Passes over the opportunities before `start`. Whole periods are skipped at once.
    fn skip_to(&mut self, start: Nanos) {
        if self.index > 0 && self.time(self.index - 1) < start {
            self.left_bytes = 0;
        }
        let n = self.opportunities.len() as u64;
        let begun = (start.0 as u64 / 1_000_000 / self.period_ms).saturating_sub(1) * n;
        self.index = self.index.max(begun);
        while self.time(self.index) < start {
            self.index += 1;
        }
    }
}

impl Service for Schedule {
    fn finish(&mut self, start: Nanos, bytes: u32) -> Nanos {
        self.skip_to(start);
        let mut to_send = u64::from(bytes);
        while self.left_bytes < to_send {
            to_send -= self.left_bytes;
            self.left_bytes = OPPORTUNITY_BYTES;
            self.index += 1;
        }
        self.left_bytes -= to_send;
        self.time(self.index.saturating_sub(1)).max(start)
    }
}

fn opportunities<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u64>, D::Error> {
    let list = Vec::<u64>::deserialize(deserializer)?;
    let in_order = list.is_sorted();
    let ends = list.last().is_some_and(|last| (1..=MILLISECONDS_MAX).contains(last));
    if in_order && ends {
        return Ok(list);
    }
    Err(D::Error::custom(
        "expected times in milliseconds that never decrease, the last from 1 to 100,000,000",
    ))
}

/// More than a day of trace.
const MILLISECONDS_MAX: u64 = 100_000_000;
