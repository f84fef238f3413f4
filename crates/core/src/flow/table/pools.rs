//! Where the logs of all flows lie.

use super::log::Log;
use super::{bursts, short};
use crate::units::Nanos;
use crate::wire::Segment;

/// The pools of both kinds.
#[derive(Default)]
pub struct Pools {
    /// Of flows without state.
    pub short: short::Pool,
    /// Of flows with state.
    pub bursts: bursts::Pool,
}

impl Pools {
    /// Adds a segment to the log of a flow with or without state, whose last one was at `before`,
    /// with what others sent before it. A flow without state has none that count.
    #[inline]
    pub fn push(
        &mut self,
        log: &mut Log,
        has_state: bool,
        segment: &Segment,
        (before, ts): (Nanos, Nanos),
        others: u16,
    ) {
        match has_state {
            true => self.bursts.push(log, segment, ts, others),
            false => self.short.push(log, segment, ts, before),
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
