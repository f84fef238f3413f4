//! The segments of a flow that wait to be analysed.
//!
//! A flow is analysed in bursts: its segments are filed here and handed on together. So its state
//! is fetched once for many segments, and a flow that stays short never needs it. Flows with state
//! have their logs as they will be analysed ([`bursts`]), those without in little room ([`short`]).

use super::{bursts, short};
use crate::units::Nanos;
use crate::wire::Segment;

/// A queue of segments in blocks of a pool, one for each kind of flow. A log that was never pushed
/// to owns no block.
#[derive(Clone, Copy, Debug, Default)]
pub struct Log {
    /// Number of the first word, or of the first entry, of the newest block.
    pub(super) block: u32,
    /// Words used of it.
    pub(super) used: u16,
    pub(super) len: u8,
    /// Size class plus one; 0 without a block.
    pub(super) class: u8,
}

impl Log {
    /// How many segments wait.
    #[inline]
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// The pools of both kinds.
#[derive(Default)]
pub struct Pools {
    /// Of flows without state.
    pub short: short::Pool,
    /// Of flows with state.
    pub bursts: bursts::Pool,
}

impl Pools {
    /// Adds a segment to the log of a flow with or without state, whose last one was at `before`.
    #[inline]
    pub fn push(
        &mut self,
        log: &mut Log,
        has_state: bool,
        segment: &Segment,
        (before, ts): (Nanos, Nanos),
    ) {
        match has_state {
            true => self.bursts.push(log, segment, ts),
            false => self.short.push(log, segment, ts, before),
        }
    }

    /// Gives back what a log has.
    pub fn free(&mut self, log: &mut Log, has_state: bool) {
        match has_state {
            true => self.bursts.free(log),
            false => self.short.free(log),
        }
    }

    /// Something of what the next push to `log` will write: reading it early brings the cache lines
    /// in while other work goes on.
    #[inline]
    pub fn touch(&self, log: &Log, has_state: bool) -> u32 {
        match has_state {
            true => self.bursts.touch(log),
            false => self.short.touch(log),
        }
    }
}
