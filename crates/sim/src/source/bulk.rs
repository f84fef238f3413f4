//! Bulk transfer.

use super::{Application, Programs, Workload, read_all};
use crate::endpoint::Socket;
use crate::parameter::{Count, checked};
use crate::random::Random;
use serde::Deserialize;
use tcpwhy_core::units::Nanos;

/// Always has more to write (the greedy source of RFC 3148, bulk transfer capacity): it fills the
/// send buffer whenever there is room. Never closes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Bulk {
    /// Bytes in one write, 100 at least. Where nothing holds it back, each write leaves at once,
    /// and its last segment is short. Without it all is one write without end.
    #[serde(default)]
    pub write_bytes: Option<Count>,
}

checked!(Bulk);

impl Bulk {
    fn check(&self) -> Result<(), String> {
        match self.write_bytes {
            Some(Count(bytes)) if bytes < WRITE_BYTES_MIN => {
                Err(format!("write_bytes is {bytes}: expected at least {WRITE_BYTES_MIN}"))
            }
            _ => Ok(()),
        }
    }
}

impl Workload for Bulk {
    const EXAMPLES: &'static [&'static str] = &["", "write_bytes = 8192"];

    fn build(&self, start: Nanos, _random: Random) -> Programs {
        let write = self.write_bytes.map(|count| count.0);
        let left = write.unwrap_or(ENDLESS_BYTES);
        Programs::sender(Writer { start, write, left, has_begun: false })
    }
}

struct Writer {
    start: Nanos,
    /// Bytes in one write, where writes end.
    write: Option<u64>,
    /// What is left of the last one.
    left: u64,
    has_begun: bool,
}

impl Application for Writer {
    fn act(&mut self, now: Nanos, socket: &mut dyn Socket) {
        read_all(now, socket);
        self.has_begun |= now >= self.start;
        while self.has_begun && self.left > 0 && socket.unacknowledged() < AHEAD_BYTES_MAX {
            // Only a write that finds no room makes the program wait for some.
            let taken = socket.write(now, self.left);
            if taken == 0 {
                break;
            }
            self.left -= taken;
            if self.left == 0 {
                self.left = self.write.unwrap_or(0);
            }
        }
    }

    fn next(&self) -> Option<Nanos> {
        (!self.has_begun).then_some(self.start)
    }
}

/// More than any simulation moves: 10 Gbit/s for 29 years. An unlimited send buffer takes it whole.
const ENDLESS_BYTES: u64 = 1 << 60;
/// What a program writes ahead where no buffer holds it back.
const AHEAD_BYTES_MAX: u64 = 1 << 28;
/// Less is what `small_writes` is for.
const WRITE_BYTES_MIN: u64 = 100;
