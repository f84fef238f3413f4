//! Policing: what exceeds a token bucket is dropped.

use super::bucket::Bucket;
use super::gate::{Fate, Gate, Gated};
use super::{Body, Element, Settings};
use crate::packet::Packet;
use crate::parameter::{Count, Rate};
use crate::random::Random;
use serde::Deserialize;
use tcpwhy_core::units::Nanos;

/// Drops what exceeds a token bucket, delays nothing (RFC 2475 section 2.3.3.3; Flach et al., "An
/// Internet-wide analysis of traffic policing", SIGCOMM 2016).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policer {
    /// Rate at which tokens flow in.
    pub rate_bps: Rate,
    /// The size of the bucket.
    pub burst_bytes: Count,
}

impl Settings for Policer {
    const EXAMPLES: &'static [&'static str] = &["rate_bps = 1_000_000\nburst_bytes = 10_000"];

    fn build<B: Body>(&self, _random: Random) -> Box<dyn Element<B>> {
        Gated::boxed(Police(Bucket::new(self.rate_bps.0, self.burst_bytes.0)))
    }
}

struct Police(Bucket);

impl Gate for Police {
    fn judge<B: Body>(&mut self, now: Nanos, packet: &mut Packet<B>) -> Fate {
        if self.0.take(now, packet.wire_bytes) { Fate::Pass } else { Fate::Drop("policed") }
    }
}
