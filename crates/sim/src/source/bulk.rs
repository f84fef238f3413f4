//! Bulk transfer.

use super::{Application, Programs, Workload, read_all};
use crate::endpoint::Socket;
use crate::random::Random;
use serde::Deserialize;
use tcpwhy_core::units::Nanos;

/// Always has more to write (the greedy source of RFC 3148, bulk transfer capacity): it fills the
/// send buffer whenever there is room. Never closes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bulk {}

impl Workload for Bulk {
    const EXAMPLES: &'static [&'static str] = &[""];

    fn build(&self, start: Nanos, _random: Random) -> Programs {
        Programs::sender(Writer { start, left: ENDLESS_BYTES })
    }
}

struct Writer {
    start: Nanos,
    left: u64,
}

impl Application for Writer {
    fn act(&mut self, now: Nanos, socket: &mut dyn Socket) {
        read_all(now, socket);
        if self.left > 0 && now >= self.start {
            self.left -= socket.write(now, self.left);
        }
    }

    fn next(&self) -> Option<Nanos> {
        (self.left == ENDLESS_BYTES).then_some(self.start)
    }
}

/// More than any simulation moves: 10 Gbit/s for 29 years. An unlimited send buffer takes it whole.
const ENDLESS_BYTES: u64 = 1 << 60;
