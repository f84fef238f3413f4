//! Delay variation (RFC 3393).

use super::{Body, Element, Settings};
use crate::packet::Packet;
use crate::parameter::Milliseconds;
use crate::random::Random;
use serde::Deserialize;
use std::collections::BTreeMap;
use tcpwhy_core::units::Nanos;

/// Holds each packet for a random time.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Jitter {
    /// The scale of the variation: the width of `uniform`, the standard deviation of `normal`, the
    /// mean of `exponential`.
    pub jitter_ms: Milliseconds,
    /// How the delays are distributed.
    #[serde(default)]
    pub distribution: Distribution,
    /// Whether a packet waits for those before it. Without it, later packets overtake.
    #[serde(default = "yes")]
    pub keep_order: bool,
}

/// How the delays of [`Jitter`] are distributed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// From 0 to `jitter_ms`.
    #[default]
    Uniform,
    /// The distance of a normal variate from 0: half-normal, since a delay is not negative.
    Normal,
    /// Mostly short, sometimes long.
    Exponential,
}

impl Settings for Jitter {
    const EXAMPLES: &'static [&'static str] = &[
        "jitter_ms = 2",
        "jitter_ms = 2\nkeep_order = false",
        "jitter_ms = 1.5\ndistribution = \"normal\"",
        "jitter_ms = 1.5\ndistribution = \"exponential\"\nkeep_order = false",
    ];

    fn takes_time(&self) -> bool {
        self.jitter_ms.0 > Nanos(0)
    }

    fn build<B: Body>(&self, random: Random) -> Box<dyn Element<B>> {
        Box::new(Wait {
            settings: self.clone(),
            random,
            waiting: BTreeMap::new(),
            pushed: 0,
            last_due: Nanos(0),
        })
    }
}

/// Packets by the time at which they leave; equal times leave in the order of arrival.
struct Wait<B> {
    settings: Jitter,
    random: Random,
    waiting: BTreeMap<(Nanos, u64), Packet<B>>,
    pushed: u64,
    last_due: Nanos,
}

impl<B> Wait<B> {
    fn draw(&mut self) -> Nanos {
        let scale = self.settings.jitter_ms.0.0 as f64;
        let x = match self.settings.distribution {
            Distribution::Uniform => self.random.unit(),
            Distribution::Normal => self.random.normal().abs(),
            Distribution::Exponential => self.random.exponential(),
        };
        Nanos((x * scale).round() as i64)
    }
}

impl<B: Body> Element<B> for Wait<B> {
    fn push(&mut self, now: Nanos, packet: Packet<B>) {
        let mut due = now + self.draw();
        if self.settings.keep_order {
            due = due.max(self.last_due);
        }
        self.last_due = due;
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
