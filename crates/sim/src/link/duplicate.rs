//! Duplication.

use super::gate::{Fate, Gate, Gated};
use super::{Body, Element, Settings};
use crate::packet::Packet;
use crate::parameter::Probability;
use crate::random::Random;
use serde::Deserialize;
use tcpwhy_core::units::Nanos;

/// Sends some packets twice, the copy right behind (RFC 5560).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Duplicate {
    /// The probability with which a packet is duplicated.
    pub probability: Probability,
}

impl Settings for Duplicate {
    const EXAMPLES: &'static [&'static str] = &["probability = 0.05"];

    fn build<B: Body>(&self, random: Random) -> Box<dyn Element<B>> {
        Gated::boxed(Copier { probability: self.probability.0, random })
    }
}

struct Copier {
    probability: f64,
    random: Random,
}

impl Gate for Copier {
    fn judge<B: Body>(&mut self, _now: Nanos, _packet: &mut Packet<B>) -> Fate {
        if self.random.chance(self.probability) { Fate::Twice } else { Fate::Pass }
    }
}
