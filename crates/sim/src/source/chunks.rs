//! A program that alternates between much to send and nothing: streaming in chunks.

use super::metronome::Metronome;
use super::{Programs, Workload};
use crate::parameter::{Count, Interval};
use crate::random::Random;
use serde::Deserialize;
use tcpwhy_core::units::Nanos;

/// Writes a chunk at once, waits for the time of the next one.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chunks {
    /// Bytes in a chunk.
    pub chunk_bytes: Count,
    /// Time from the start of a chunk to the start of the next.
    pub interval_ms: Interval,
    /// How many chunks; without it there is no end.
    #[serde(default)]
    pub count: Option<Count>,
}

impl Workload for Chunks {
    const EXAMPLES: &'static [&'static str] = &[
        "chunk_bytes = 400_000\ninterval_ms = 1000",
        "chunk_bytes = 50_000\ninterval_ms = 200\ncount = 3",
    ];

    fn build(&self, start: Nanos, _random: Random) -> Programs {
        let metronome = Metronome::every(start, self.chunk_bytes.0, self.interval_ms.0);
        Programs::sender(metronome.limited(self.count.map(|count| count.0)))
    }
}
