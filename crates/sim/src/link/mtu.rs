//! A black hole of path MTU discovery.

use super::gate::{Fate, Gate, Gated};
use super::{Body, Element, Settings};
use crate::packet::Packet;
use crate::parameter::{Count, Seconds};
use crate::random::Random;
use serde::Deserialize;
use tcpwhy_core::units::Nanos;

/// Drops packets that are too long without a word: the ICMP message that would say so never arrives
/// (RFC 2923 section 2.1). Handshakes and small writes pass.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mtu {
    /// The longest packet that passes, as links count it.
    pub wire_bytes_max: Count,
    /// Before this time everything passes: the route changes then.
    #[serde(default)]
    pub from_s: Seconds,
}

impl Settings for Mtu {
    const EXAMPLES: &'static [&'static str] =
        &["wire_bytes_max = 1400", "wire_bytes_max = 600\nfrom_s = 0.2"];

    fn build<B: Body>(&self, _random: Random) -> Box<dyn Element<B>> {
        Gated::boxed(Hole(self.clone()))
    }
}

struct Hole(Mtu);

impl Gate for Hole {
    fn judge<B: Body>(&mut self, now: Nanos, packet: &mut Packet<B>) -> Fate {
        let is_long = u64::from(packet.wire_bytes) > self.0.wire_bytes_max.0;
        if is_long && now >= self.0.from_s.0 { Fate::Drop("too_long") } else { Fate::Pass }
    }
}
