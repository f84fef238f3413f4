//! A program that writes at a steady rate: a live stream, a backup with a limit.

use super::metronome::Metronome;
use super::{Programs, Workload, check_turns};
use crate::parameter::{Count, Rate, checked};
use crate::random::Random;
use serde::Deserialize;
use tcpwhy_core::units::Nanos;

/// Writes the same number of bytes at equal intervals so that they make a rate.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Paced {
    /// Payload bits per second.
    pub rate_bps: Rate,
    /// Bytes in one write.
    #[serde(default = "twenty_thousand")]
    pub write_bytes: Count,
}

checked!(Paced);

impl Paced {
    fn check(&self) -> Result<(), String> {
        check_turns(self.write_bytes.0, self.rate_bps.0, "write_bytes")
    }
}

impl Workload for Paced {
    const EXAMPLES: &'static [&'static str] = &["rate_bps = 3_200_000\nwrite_bytes = 20_000"];

    fn build(&self, start: Nanos, _random: Random) -> Programs {
        Programs::sender(Metronome::at_rate(start, self.write_bytes.0, self.rate_bps.0))
    }
}

fn twenty_thousand() -> Count {
    Count(20_000)
}
