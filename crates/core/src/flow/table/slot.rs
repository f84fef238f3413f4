//! A flow in the table.

use super::Analyse;
use super::class::{Class, Timeouts};
use super::log::Log;
use super::pools::Pools;
use super::state::State;
use crate::units::Nanos;
use crate::wire::FlowKey;

/// A flow in the table. One cache line, and never parts of two.
#[repr(align(64))]
pub struct Slot<F> {
    pub flow: Option<Box<F>>,
    pub last: Nanos,
    pub log: Log,
    pub key: FlowKey,
    /// Who has closed, the list that it is in, and what was counted.
    pub state: State,
}

impl<F> Slot<F> {
    /// Whether the flow has ended by `now`.
    #[inline]
    pub fn is_over(&self, now: Nanos, timeouts: &Timeouts) -> bool {
        let silent = now.since(self.last);
        silent > timeouts.least() && silent > timeouts.of(self.state.listed())
    }

    #[inline]
    pub fn class(&self) -> Class {
        match self.state {
            state if state.is_closed() => Class::Closed,
            _ if self.flow.is_some() => Class::Long,
            state if state.is_established() => Class::Short,
            _ => Class::HalfOpen,
        }
    }

    /// Analyses what waits in the log.
    pub fn drain(&mut self, pools: &mut Pools, analyse: &mut impl Analyse<Flow = F>) {
        if self.flow.is_some() {
            analyse.segments(&self.key, &mut self.flow, pools.bursts.entries(&self.log));
            pools.bursts.free(&mut self.log);
        } else {
            for entry in pools.short.entries(&self.log) {
                analyse.segment(&self.key, &mut self.flow, &entry, &[]);
            }
            pools.short.free(&mut self.log);
        }
        self.state.add_burst();
    }

    /// Analyses what waits, gives the room for it back, and takes the flow.
    pub fn close(
        &mut self,
        pools: &mut Pools,
        analyse: &mut impl Analyse<Flow = F>,
    ) -> Option<Box<F>> {
        self.drain(pools, analyse);
        self.flow.take()
    }

    /// The same, and the flow ends.
    pub fn finish(&mut self, pools: &mut Pools, analyse: &mut impl Analyse<Flow = F>) {
        if let Some(flow) = self.close(pools, analyse) {
            analyse.end(flow);
        }
    }

    /// Analyses what waits, and gives back the room that a flow without a future does not need: it
    /// stays in the table for [`TIME_WAIT`].
    #[cold]
    pub fn lay_off(&mut self, pools: &mut Pools, analyse: &mut impl Analyse<Flow = F>) {
        self.drain(pools, analyse);
        if let Some(flow) = &mut self.flow {
            analyse.closed(flow);
        }
    }

    pub fn held(&self) -> bool {
        self.last != FREE
    }
}

const _: () = assert!(size_of::<Slot<()>>() == 64);
/// `last` of a slot that holds no flow.
pub const FREE: Nanos = Nanos(i64::MIN);
