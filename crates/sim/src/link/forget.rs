//! A middlebox that forgets connections.

use super::gate::{Fate, Gate, Gated};
use super::{Body, Element, Settings};
use crate::packet::Packet;
use crate::parameter::Interval;
use crate::random::Random;
use serde::Deserialize;
use std::collections::BTreeMap;
use tcpwhy_core::units::Nanos;

/// Drops every packet of a flow that was silent in this direction for too long: an address
/// translator or firewall whose entry ran out (RFC 5382 section 5 asks for two hours and four
/// minutes; many give minutes).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Forget {
    /// The silence after which the flow is forgotten.
    pub idle_ms: Interval,
}

impl Settings for Forget {
    const EXAMPLES: &'static [&'static str] = &["idle_ms = 20", "idle_ms = 60_000"];

    fn build<B: Body>(&self, _random: Random) -> Box<dyn Element<B>> {
        Gated::boxed(Memory { idle: self.idle_ms.0, last: BTreeMap::new() })
    }
}

struct Memory {
    idle: Nanos,
    /// By flow, when its last packet passed. A flow that is forgotten stays so.
    last: BTreeMap<u32, Nanos>,
}

impl Gate for Memory {
    fn judge<B: Body>(&mut self, now: Nanos, packet: &mut Packet<B>) -> Fate {
        let last = self.last.entry(packet.flow).or_insert(now);
        if now - *last > self.idle {
            return Fate::Drop("forgotten");
        }
        *last = now;
        Fate::Pass
    }
}
