//! Readers: how fast the receiving program empties its buffer.

use super::{Application, check_turns, read_all};
use crate::endpoint::Socket;
use crate::parameter::{Count, Rate, Seconds, checked};
use serde::Deserialize;
use tcpwhy_core::units::Nanos;

/// How the receiving program reads: a table with one key, its name.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Readers {
    /// Everything at once.
    Greedy(Greedy),
    /// So many bits per second.
    Slow(Slow),
    /// Everything at once, except during pauses.
    Pausing(Pausing),
}

/// Reads everything at once, and closes when the sender has closed.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Greedy {}

/// Reads the same number of bytes at equal intervals.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Slow {
    /// Payload bits per second.
    pub rate_bps: Rate,
    /// Bytes in one read.
    #[serde(default = "four_kib")]
    pub read_bytes: Count,
    /// Reads everything before this time.
    #[serde(default)]
    pub from_s: Seconds,
}

/// Reads everything at once, except during pauses.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Pausing {
    /// Begin and end of each pause, in order.
    pub pauses_s: Vec<(Seconds, Seconds)>,
}

checked!(Slow);
checked!(Pausing);

impl Slow {
    fn check(&self) -> Result<(), String> {
        check_turns(self.read_bytes.0, self.rate_bps.0, "read_bytes")
    }
}

impl Pausing {
    fn check(&self) -> Result<(), String> {
        let times: Vec<Nanos> = self.pauses_s.iter().flat_map(|(a, b)| [a.0, b.0]).collect();
        if times.is_sorted() {
            return Ok(());
        }
        Err("pauses_s: expected begin and end of each pause, in the order of time".to_owned())
    }
}

impl Readers {
    /// Whether it reads everything at once, as it does where nothing is said.
    pub(crate) fn is_greedy(&self) -> bool {
        matches!(self, Readers::Greedy(_))
    }

    /// A reader with these settings. Times count from the start of the simulation.
    pub fn build(&self) -> Box<dyn Application> {
        match self {
            Readers::Greedy(_) => Box::new(GreedyReader { closed: false }),
            Readers::Slow(slow) => {
                Box::new(SlowReader { settings: slow.clone(), reads: 0, owed: 0, waiting: false })
            }
            Readers::Pausing(pausing) => {
                let pauses = pausing.pauses_s.iter().map(|(from, to)| (from.0, to.0)).collect();
                Box::new(PausingReader { pauses, at: 0 })
            }
        }
    }
}

impl Default for Readers {
    fn default() -> Readers {
        Readers::Greedy(Greedy {})
    }
}

struct GreedyReader {
    closed: bool,
}

impl Application for GreedyReader {
    fn act(&mut self, now: Nanos, socket: &mut dyn Socket) {
        read_all(now, socket);
        if !self.closed && socket.is_peer_closed() {
            self.closed = true;
            socket.close(now);
        }
    }

    fn next(&self) -> Option<Nanos> {
        None
    }
}

struct SlowReader {
    settings: Slow,
    /// Reads whose time has come.
    reads: u64,
    /// Bytes that it may read and that had not arrived.
    owed: u64,
    /// Whether there is something to wait for.
    waiting: bool,
}

impl SlowReader {
    /// How many reads there are up to `now`, that instant included.
    fn due(&self, now: Nanos) -> u64 {
        let Slow { rate_bps, read_bytes, from_s } = &self.settings;
        // Read `n` comes at `n` times the bits of one over the rate, rounded down.
        let elapsed = now.since(from_s.0).0 as u128 + 1;
        let each = u128::from(read_bytes.0) * 8_000_000_000;
        let before = (elapsed * u128::from(rate_bps.0)).div_ceil(each) - 1;
        u64::try_from(before).unwrap_or(u64::MAX).max(self.reads)
    }

    fn tick(&self) -> Nanos {
        let Slow { rate_bps, read_bytes, from_s } = &self.settings;
        let bits = u128::from(read_bytes.0) * u128::from(self.reads + 1) * 8_000_000_000;
        from_s.0 + Nanos((bits / u128::from(rate_bps.0)) as i64)
    }
}

impl Application for SlowReader {
    fn act(&mut self, now: Nanos, socket: &mut dyn Socket) {
        if now < self.settings.from_s.0 {
            read_all(now, socket);
            self.waiting = true;
            return;
        }
        let read_bytes = self.settings.read_bytes.0;
        let due = self.due(now);
        if due > self.reads {
            self.reads = due;
            // A program that found nothing does not read twice as fast afterwards.
            self.owed = read_bytes;
        }
        if self.owed > 0 && socket.readable() > 0 {
            self.owed -= socket.read(now, self.owed);
        }
        self.waiting = socket.readable() > 0;
    }

    fn next(&self) -> Option<Nanos> {
        self.waiting.then(|| self.tick())
    }
}

struct PausingReader {
    pauses: Vec<(Nanos, Nanos)>,
    at: usize,
}

impl Application for PausingReader {
    fn act(&mut self, now: Nanos, socket: &mut dyn Socket) {
        while self.pauses.get(self.at).is_some_and(|(_, to)| *to <= now) {
            self.at += 1;
        }
        if self.pauses.get(self.at).is_none_or(|(from, _)| now < *from) {
            read_all(now, socket);
        }
    }

    fn next(&self) -> Option<Nanos> {
        self.pauses.get(self.at).map(|(_, to)| *to)
    }
}

fn four_kib() -> Count {
    Count(4096)
}
