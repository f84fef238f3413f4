//! A transfer of known size.

use super::{Application, Programs, Workload, read_all};
use crate::endpoint::Socket;
use crate::parameter::Positive;
use crate::random::Random;
use serde::Deserialize;
use tcpwhy_core::units::Nanos;

/// Writes so many bytes as fast as the send buffer takes them, and closes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FixedSize {
    /// How many.
    pub bytes: Positive,
}

impl Workload for FixedSize {
    const EXAMPLES: &'static [&'static str] = &["bytes = 100_000"];

    fn build(&self, start: Nanos, _random: Random) -> Programs {
        Programs::sender(Writer { start, left: self.bytes.0 as u64, closed: false })
    }
}

struct Writer {
    start: Nanos,
    left: u64,
    closed: bool,
}

impl Application for Writer {
    fn act(&mut self, now: Nanos, socket: &mut dyn Socket) {
        read_all(now, socket);
        if now < self.start || self.closed {
            return;
        }
        if self.left > 0 {
            self.left -= socket.write(now, self.left);
        }
        if self.left == 0 {
            self.closed = true;
            socket.close(now);
        }
    }

    fn next(&self) -> Option<Nanos> {
        (!self.closed).then_some(self.start)
    }
}
