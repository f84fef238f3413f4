//! Thinned acknowledgements.

use super::gate::{Fate, Gate, Gated};
use super::{Body, Element, Settings};
use crate::packet::Packet;
use crate::parameter::Count;
use crate::random::Random;
use serde::Deserialize;
use std::collections::BTreeMap;
use tcpwhy_core::units::Nanos;

/// Lets one of so many short packets of each flow pass: a modem that drops acknowledgements which
/// later ones make superfluous (RFC 3449 section 5.2.1). The first ten of a flow pass, among them
/// the handshake.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThinAcks {
    /// One of how many passes.
    pub one_of: Count,
    /// Longer packets pass, as links count them; an acknowledgement has up to 94 bytes.
    #[serde(default = "hundred")]
    pub wire_bytes_max: Count,
}

impl Settings for ThinAcks {
    const EXAMPLES: &'static [&'static str] = &["one_of = 4", "one_of = 2\nwire_bytes_max = 60"];

    fn build<B: Body>(&self, _random: Random) -> Box<dyn Element<B>> {
        Gated::boxed(Filter { settings: self.clone(), seen: BTreeMap::new() })
    }
}

struct Filter {
    settings: ThinAcks,
    seen: BTreeMap<u32, u64>,
}

impl Gate for Filter {
    fn judge<B: Body>(&mut self, _now: Nanos, packet: &mut Packet<B>) -> Fate {
        if u64::from(packet.wire_bytes) > self.settings.wire_bytes_max.0 {
            return Fate::Pass;
        }
        let seen = self.seen.entry(packet.flow).or_default();
        *seen += 1;
        if *seen <= SPARED {
            return Fate::Pass;
        }
        if seen.is_multiple_of(self.settings.one_of.0) { Fate::Pass } else { Fate::Drop("thinned") }
    }
}

/// Short packets of a flow that pass at first.
const SPARED: u64 = 10;

fn hundred() -> Count {
    Count(100)
}
