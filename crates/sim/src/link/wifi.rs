//! Wi-Fi: bursts of packets with random gaps between them.

use super::queue::Queues;
use super::server::{Server, Service};
use super::{Body, Element, Settings};
use crate::parameter::{Count, Milliseconds, Rate};
use crate::random::Random;
use serde::Deserialize;
use tcpwhy_core::units::Nanos;

/// A station that gains the channel after a random time and then sends as much as it may at once:
/// aggregation (IEEE 802.11-2020 section 10.12), seen from outside. While it waits, packets gather.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wifi {
    /// Rate within a burst.
    pub rate_bps: Rate,
    /// Bytes of a burst; an aggregate of 802.11ac has at most 1,048,575.
    #[serde(default = "sixty_four_kb")]
    pub burst_bytes: Count,
    /// Mean time to gain the channel; times are exponential.
    #[serde(default = "two_ms")]
    pub gap_ms: Milliseconds,
    /// The queue in front.
    #[serde(default)]
    pub queue: Queues,
}

impl Settings for Wifi {
    const EXAMPLES: &'static [&'static str] = &[
        "rate_bps = 50_000_000\nqueue.drop_tail.limit_packets = 60",
        "rate_bps = 5_000_000\nburst_bytes = 5_000\ngap_ms = 8",
    ];

    fn takes_time(&self) -> bool {
        true
    }

    fn build<B: Body>(&self, mut random: Random) -> Box<dyn Element<B>> {
        let burst_s = self.burst_bytes.0 as f64 * 8.0 / self.rate_bps.0 as f64;
        let share = burst_s / (burst_s + self.gap_ms.0.as_secs_f64());
        let mean_bps = (self.rate_bps.0 as f64 * share).max(1.0) as u64;
        let gaps = Random::stream(random.bits(), 0);
        let queue = self.queue.build(Some(mean_bps), random);
        let settings = self.clone();
        Server::boxed(Station { settings, random: gaps, end: Nanos(-1), left_bytes: 0 }, queue)
    }
}

struct Station {
    settings: Wifi,
    random: Random,
    /// When the last packet had left.
    end: Nanos,
    /// What the burst may still hold.
    left_bytes: u64,
}

impl Service for Station {
    fn finish(&mut self, start: Nanos, bytes: u32) -> Nanos {
        let Wifi { rate_bps, burst_bytes, gap_ms, .. } = self.settings;
        let mut begin = start;
        if start > self.end || self.left_bytes < u64::from(bytes) {
            let wait = self.random.exponential() * gap_ms.0.0 as f64;
            begin += Nanos(wait as i64);
            self.left_bytes = burst_bytes.0.max(u64::from(bytes));
        }
        self.left_bytes -= u64::from(bytes);
        let bit_ns = u64::from(bytes) * 8_000_000_000;
        self.end = begin + Nanos(bit_ns.div_ceil(rate_bps.0) as i64);
        self.end
    }
}

fn sixty_four_kb() -> Count {
    Count(64_000)
}

fn two_ms() -> Milliseconds {
    Milliseconds(Nanos::from_millis(2))
}
