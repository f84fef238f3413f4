//! Writing at fixed times.

use super::{Application, read_all};
use crate::endpoint::Socket;
use tcpwhy_core::units::Nanos;

/// Writes the same number of bytes at every tick. What the send buffer does not take is offered
/// again later: the program produces at its rate whatever the network does.
pub(super) struct Metronome {
    write_bytes: u64,
    /// Time between two ticks in units of 1/`denominator` ns, so that no rate is rounded.
    interval: u128,
    denominator: u128,
    start: Nanos,
    ticks: u64,
    ticks_max: u64,
    pending: u64,
    closed: bool,
}

impl Metronome {
    /// One write of `write_bytes` every `interval`, without end.
    pub fn every(start: Nanos, write_bytes: u64, interval: Nanos) -> Metronome {
        let interval = interval.0.max(1) as u128;
        Metronome {
            write_bytes,
            interval,
            denominator: 1,
            start,
            ticks: 0,
            ticks_max: u64::MAX,
            pending: 0,
            closed: false,
        }
    }

    /// Writes of `write_bytes` that make `rate_bps` together.
    pub fn at_rate(start: Nanos, write_bytes: u64, rate_bps: u64) -> Metronome {
        let interval = u128::from(write_bytes) * 8_000_000_000;
        let denominator = u128::from(rate_bps);
        Metronome { interval, denominator, ..Metronome::every(start, write_bytes, Nanos(1)) }
    }

    /// Closes after this many writes.
    pub fn limited(self, count: Option<u64>) -> Metronome {
        Metronome { ticks_max: count.unwrap_or(u64::MAX), ..self }
    }

    /// How many ticks there are up to `now`, that instant included.
    fn due(&self, now: Nanos) -> u64 {
        if now < self.start {
            return self.ticks;
        }
        // Tick `n` comes at `n * interval / denominator`, rounded down.
        let elapsed = now.since(self.start).0 as u128 + 1;
        let before = (elapsed * self.denominator).div_ceil(self.interval);
        u64::try_from(before).unwrap_or(u64::MAX).clamp(self.ticks, self.ticks_max)
    }

    fn tick(&self) -> Nanos {
        self.start + Nanos((u128::from(self.ticks) * self.interval / self.denominator) as i64)
    }
}

impl Application for Metronome {
    fn act(&mut self, now: Nanos, socket: &mut dyn Socket) {
        read_all(now, socket);
        let due = self.due(now);
        self.pending += self.write_bytes.saturating_mul(due - self.ticks);
        self.ticks = due;
        if self.pending > 0 {
            self.pending -= socket.write(now, self.pending);
        }
        if self.ticks == self.ticks_max && self.pending == 0 && !self.closed {
            self.closed = true;
            socket.close(now);
        }
    }

    fn next(&self) -> Option<Nanos> {
        (self.ticks < self.ticks_max).then(|| self.tick())
    }
}
