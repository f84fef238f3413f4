//! A delay that changes: satellites that hand over, routes that change.

use super::{Body, Element, Settings};
use crate::packet::Packet;
use crate::parameter::{Milliseconds, Seconds, checked};
use crate::random::Random;
use serde::Deserialize;
use std::collections::BTreeMap;
use tcpwhy_core::units::Nanos;

/// Holds packets for a time that depends on when they arrive. A low orbit hands over every 15 s
/// (Michel, Trevisan, Giordano and Bonaventure, "A first look at Starlink performance", IMC 2022);
/// a route that becomes shorter lets packets overtake.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct DelaySteps {
    /// From when on, and for how long packets are held then: seconds and milliseconds. Before the
    /// first time there is no delay.
    pub steps: Vec<(Seconds, Milliseconds)>,
    /// After this time the steps begin anew.
    #[serde(default)]
    pub repeat_s: Option<Seconds>,
    /// Whether a packet waits for those before it.
    #[serde(default = "yes")]
    pub keep_order: bool,
}

checked!(DelaySteps);

impl DelaySteps {
    fn check(&self) -> Result<(), String> {
        let in_order = self.steps.is_sorted_by(|(a, _), (b, _)| a.0 < b.0);
        if self.steps.is_empty() || !in_order {
            return Err("steps: expected pairs of time and delay, later ones behind".to_owned());
        }
        let last = self.steps.last().map_or(Nanos(0), |(at, _)| at.0);
        if self.repeat_s.is_some_and(|repeat| repeat.0 <= last) {
            return Err("repeat_s: expected a time after the last step".to_owned());
        }
        Ok(())
    }

    fn delay_at(&self, now: Nanos) -> Nanos {
        let within = self.repeat_s.map_or(now, |repeat| Nanos(now.0 % repeat.0.0));
        let begun = self.steps.partition_point(|(at, _)| at.0 <= within);
        begun.checked_sub(1).map_or(Nanos(0), |i| self.steps[i].1.0)
    }
}

impl Settings for DelaySteps {
    const EXAMPLES: &'static [&'static str] = &[
        "steps = [[0, 20], [0.1, 35], [0.2, 5]]",
        "steps = [[0, 20], [0.05, 10]]\nrepeat_s = 0.1\nkeep_order = false",
    ];

    fn takes_time(&self) -> bool {
        self.steps.iter().any(|(_, delay)| delay.0 > Nanos(0))
    }

    fn build<B: Body>(&self, _random: Random) -> Box<dyn Element<B>> {
        Box::new(Wait {
            settings: self.clone(),
            waiting: BTreeMap::new(),
            pushed: 0,
            last_due: Nanos(0),
        })
    }
}

/// Packets by the time at which they leave; equal times leave in the order of arrival.
struct Wait<B> {
    settings: DelaySteps,
    waiting: BTreeMap<(Nanos, u64), Packet<B>>,
    pushed: u64,
    last_due: Nanos,
}

impl<B: Body> Element<B> for Wait<B> {
    fn push(&mut self, now: Nanos, packet: Packet<B>) {
        let mut due = now + self.settings.delay_at(now);
        if self.settings.keep_order {
            due = due.max(self.last_due);
            self.last_due = due;
        }
        self.waiting.insert((due, self.pushed), packet);
        self.pushed += 1;
    }

    fn pop(&mut self, now: Nanos) -> Option<(Nanos, Packet<B>)> {
        let entry = self.waiting.first_entry().filter(|entry| entry.key().0 <= now)?;
        let ((due, _), packet) = entry.remove_entry();
        Some((due, packet))
    }

    fn next(&self) -> Option<Nanos> {
        self.waiting.first_key_value().map(|((due, _), _)| *due)
    }

    fn is_logging(&self) -> bool {
        false
    }
}

fn yes() -> bool {
    true
}
