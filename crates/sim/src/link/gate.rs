//! Elements through which a packet passes at once, once, twice, or not at all.

use super::event::{Action, Event, Events};
use super::{Body, Element};
use crate::packet::Packet;
use std::collections::VecDeque;
use tcpwhy_core::units::Nanos;

/// The decision of such an element.
pub(super) trait Gate: Send + 'static {
    /// What happens to this packet, which may be changed on the way.
    fn judge<B: Body>(&mut self, now: Nanos, packet: &mut Packet<B>) -> Fate;
}

/// What happens to a packet at a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It passes.
    Pass,
    /// It is dropped for this reason.
    Drop(&'static str),
    /// It passes, and a copy follows it.
    Twice,
}

/// A gate as an element.
pub(super) struct Gated<B, G> {
    gate: G,
    through: VecDeque<(Nanos, Packet<B>)>,
    events: Events,
}

impl<B: Body, G: Gate> Gated<B, G> {
    /// The gate as an element.
    pub fn boxed(gate: G) -> Box<dyn Element<B>> {
        Box::new(Gated { gate, through: VecDeque::new(), events: Events::default() })
    }
}

impl<B: Body, G: Gate> Element<B> for Gated<B, G> {
    fn push(&mut self, now: Nanos, mut packet: Packet<B>) {
        match self.gate.judge(now, &mut packet) {
            Fate::Pass => self.through.push_back((now, packet)),
            Fate::Drop(reason) => self.events.note(now, &packet, Action::Drop, reason),
            Fate::Twice => {
                self.events.note(now, &packet, Action::Duplicate, "duplicated");
                self.through.push_back((now, packet.clone()));
                self.through.push_back((now, packet));
            }
        }
    }

    fn pop(&mut self, now: Nanos) -> Option<(Nanos, Packet<B>)> {
        let (left, _) = self.through.front()?;
        (*left <= now).then(|| self.through.pop_front()).flatten()
    }

    fn next(&self) -> Option<Nanos> {
        self.through.front().map(|(left, _)| *left)
    }

    fn drain(&mut self, into: &mut Vec<Event>) {
        self.events.drain(into);
    }

    fn events_lost(&self) -> u64 {
        self.events.lost()
    }
}
