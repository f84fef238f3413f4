//! Propagation delay.

use super::{Body, Element, Settings};
use crate::packet::Packet;
use crate::parameter::Milliseconds;
use crate::random::Random;
use serde::Deserialize;
use std::collections::VecDeque;
use tcpwhy_core::units::Nanos;

/// Holds every packet for the same time (RFC 7679: one-way delay of the empty path).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delay {
    /// For how long.
    pub delay_ms: Milliseconds,
}

impl Settings for Delay {
    const EXAMPLES: &'static [&'static str] = &["delay_ms = 5", "delay_ms = 0"];

    fn takes_time(&self) -> bool {
        self.delay_ms.0 > Nanos(0)
    }

    fn build<B: Body>(&self, _random: Random) -> Box<dyn Element<B>> {
        Box::new(Line { delay: self.delay_ms.0, flying: VecDeque::new() })
    }
}

/// Packets in the order in which they arrive and leave, each with the time at which it leaves.
struct Line<B> {
    delay: Nanos,
    flying: VecDeque<(Nanos, Packet<B>)>,
}

impl<B: Body> Element<B> for Line<B> {
    fn push(&mut self, now: Nanos, packet: Packet<B>) {
        self.flying.push_back((now + self.delay, packet));
    }

    fn pop(&mut self, now: Nanos) -> Option<(Nanos, Packet<B>)> {
        let (due, _) = self.flying.front()?;
        (*due <= now).then(|| self.flying.pop_front()).flatten()
    }

    fn next(&self) -> Option<Nanos> {
        self.flying.front().map(|(due, _)| *due)
    }

    fn latency_min(&self) -> Nanos {
        self.delay
    }

    fn constant_delay(&self) -> Option<Nanos> {
        Some(self.delay)
    }

    fn is_logging(&self) -> bool {
        false
    }
}
