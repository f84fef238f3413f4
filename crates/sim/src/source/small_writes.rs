//! A program that writes a few bytes at a time: a terminal, a telemetry feed.

use super::metronome::Metronome;
use super::{Programs, Workload};
use crate::parameter::{Count, Interval};
use crate::random::Random;
use serde::Deserialize;
use tcpwhy_core::units::Nanos;

/// Writes less than a segment at equal intervals; Nagle's algorithm may join the writes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SmallWrites {
    /// Bytes in one write.
    pub write_bytes: Count,
    /// Time between two writes.
    pub interval_ms: Interval,
}

impl Workload for SmallWrites {
    const EXAMPLES: &'static [&'static str] = &["write_bytes = 120\ninterval_ms = 5"];

    fn build(&self, start: Nanos, _random: Random) -> Programs {
        Programs::sender(Metronome::every(start, self.write_bytes.0, self.interval_ms.0))
    }
}
