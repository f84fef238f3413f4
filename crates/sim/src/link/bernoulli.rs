//! Independent random loss.

use super::gate::{Fate, Gate, Gated};
use super::{Body, Element, Settings};
use crate::packet::Packet;
use crate::parameter::Probability;
use crate::random::Random;
use serde::Deserialize;
use tcpwhy_core::units::Nanos;

/// Drops each packet with the same probability, independently of all others (RFC 7680).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bernoulli {
    /// The probability.
    pub loss: Probability,
}

impl Settings for Bernoulli {
    const EXAMPLES: &'static [&'static str] = &["loss = 0.01", "loss = 0.3"];

    fn build<B: Body>(&self, random: Random) -> Box<dyn Element<B>> {
        Gated::boxed(Coin { loss: self.loss.0, random })
    }
}

struct Coin {
    loss: f64,
    random: Random,
}

impl Gate for Coin {
    fn judge<B: Body>(&mut self, _now: Nanos, _packet: &mut Packet<B>) -> Fate {
        if self.random.chance(self.loss) { Fate::Drop("random_loss") } else { Fate::Pass }
    }
}
