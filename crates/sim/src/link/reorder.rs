//! Reordering.

use super::event::{Action, Event, Events};
use super::{Body, Element, Settings};
use crate::packet::Packet;
use crate::parameter::{Count, Milliseconds, Probability};
use crate::random::Random;
use serde::Deserialize;
use std::collections::VecDeque;
use tcpwhy_core::units::Nanos;

/// Holds some packets back until later ones have overtaken them (RFC 4737: the reordering extent is
/// `overtaken_by`).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reorder {
    /// The probability with which a packet is held back.
    pub probability: Probability,
    /// How many later packets pass it.
    #[serde(default = "three")]
    pub overtaken_by: Count,
    /// It is let go after this time even if fewer have passed.
    #[serde(default = "ten_ms")]
    pub hold_ms: Milliseconds,
}

impl Settings for Reorder {
    const EXAMPLES: &'static [&'static str] =
        &["probability = 0.05", "probability = 0.2\novertaken_by = 5\nhold_ms = 3"];

    fn build<B: Body>(&self, random: Random) -> Box<dyn Element<B>> {
        Box::new(Holder {
            settings: self.clone(),
            random,
            held: VecDeque::new(),
            through: VecDeque::new(),
            events: Events::default(),
        })
    }
}

struct Holder<B> {
    settings: Reorder,
    random: Random,
    /// Deadline, packets still to pass, packet. Deadlines and what is left to pass both grow along
    /// the queue, so that only the front can be due.
    held: VecDeque<(Nanos, u64, Packet<B>)>,
    through: VecDeque<(Nanos, Packet<B>)>,
    events: Events,
}

impl<B> Holder<B> {
    fn advance(&mut self, now: Nanos) {
        while self.held.front().is_some_and(|(deadline, ..)| *deadline <= now) {
            let (deadline, _, packet) = self.held.pop_front().expect("a front was seen");
            self.through.push_back((deadline, packet));
        }
    }
}

impl<B: Body> Element<B> for Holder<B> {
    fn push(&mut self, now: Nanos, packet: Packet<B>) {
        self.advance(now);
        if self.random.chance(self.settings.probability.0) {
            self.events.note(now, &packet, Action::Hold, "reordered");
            let deadline = now + self.settings.hold_ms.0;
            self.held.push_back((deadline, self.settings.overtaken_by.0, packet));
            return;
        }
        self.through.push_back((now, packet));
        for (_, to_pass, _) in &mut self.held {
            *to_pass -= 1;
        }
        while self.held.front().is_some_and(|(_, to_pass, _)| *to_pass == 0) {
            let (_, _, packet) = self.held.pop_front().expect("a front was seen");
            self.through.push_back((now, packet));
        }
    }

    fn pop(&mut self, now: Nanos) -> Option<(Nanos, Packet<B>)> {
        self.advance(now);
        let (left, _) = self.through.front()?;
        (*left <= now).then(|| self.through.pop_front()).flatten()
    }

    fn next(&self) -> Option<Nanos> {
        let through = self.through.front().map(|(left, _)| *left);
        let held = self.held.front().map(|(deadline, ..)| *deadline);
        through.into_iter().chain(held).min()
    }

    fn drain(&mut self, into: &mut Vec<Event>) {
        self.events.drain(into);
    }

    fn events_lost(&self) -> u64 {
        self.events.lost()
    }
}

fn three() -> Count {
    Count(3)
}

fn ten_ms() -> Milliseconds {
    Milliseconds(Nanos::from_millis(10))
}
