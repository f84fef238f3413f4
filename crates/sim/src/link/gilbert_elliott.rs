//! Loss in bursts.

use super::gate::{Fate, Gate, Gated};
use super::{Body, Element, Settings};
use crate::packet::Packet;
use crate::parameter::Probability;
use crate::random::Random;
use serde::Deserialize;
use tcpwhy_core::units::Nanos;

/// The model of Gilbert (1960) and Elliott (1963): a good and a bad state, each with its own
/// probability of loss. Letters as in Hasslinger and Hohlfeld, "The Gilbert-Elliott model for
/// packet loss in real time services on the Internet" (MMB 2008), section 2.
///
/// The mean loss is `(r (1-k) + p (1-h)) / (p + r)`, the mean stay in the bad state `1/r` packets.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GilbertElliott {
    /// Probability that the state turns bad after a packet.
    pub p: Probability,
    /// Probability that the state turns good after a packet.
    pub r: Probability,
    /// Probability that a packet passes in the good state.
    #[serde(default = "always")]
    pub k: Probability,
    /// Probability that a packet passes in the bad state.
    #[serde(default)]
    pub h: Probability,
}

impl Settings for GilbertElliott {
    const EXAMPLES: &'static [&'static str] =
        &["p = 0.01\nr = 0.25", "p = 0.02\nr = 0.1\nk = 0.999\nh = 0.3"];

    fn build<B: Body>(&self, random: Random) -> Box<dyn Element<B>> {
        Gated::boxed(Chain { settings: self.clone(), bad: false, random })
    }
}

struct Chain {
    settings: GilbertElliott,
    bad: bool,
    random: Random,
}

impl Gate for Chain {
    fn judge<B: Body>(&mut self, _now: Nanos, _packet: &mut Packet<B>) -> Fate {
        let GilbertElliott { p, r, k, h } = self.settings;
        let (pass, turn) = if self.bad { (h, r) } else { (k, p) };
        let passes = self.random.chance(pass.0);
        self.bad ^= self.random.chance(turn.0);
        if passes { Fate::Pass } else { Fate::Drop("burst_loss") }
    }
}

fn always() -> Probability {
    Probability(1.0)
}
