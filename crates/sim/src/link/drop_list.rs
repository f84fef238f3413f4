//! Loss of chosen packets, for timelines that must be exact.

use super::gate::{Fate, Gate, Gated};
use super::{Body, Element, Settings};
use crate::packet::Packet;
use crate::parameter::{Count, Whole};
use crate::random::Random;
use serde::Deserialize;
use std::collections::BTreeSet;
use tcpwhy_core::units::Nanos;

/// Drops the packets whose number is listed. Only packets of at least `wire_bytes_min` are counted,
/// so that a list can speak of data packets alone.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DropList {
    /// Which ones, counted from 1 in the order of arrival.
    pub packets: Vec<Count>,
    /// Packets shorter than this pass uncounted.
    #[serde(default)]
    pub wire_bytes_min: Whole,
    /// Only packets with this [`Packet::flow`] are counted; the others pass.
    #[serde(default)]
    pub flow: Option<Whole>,
}

impl Settings for DropList {
    const EXAMPLES: &'static [&'static str] =
        &["packets = [3, 4, 20]", "packets = [1, 5]\nwire_bytes_min = 500\nflow = 1"];

    fn build<B: Body>(&self, _random: Random) -> Box<dyn Element<B>> {
        Gated::boxed(List {
            listed: self.packets.iter().map(|number| number.0).collect(),
            wire_bytes_min: self.wire_bytes_min.0,
            flow: self.flow.map(|flow| flow.0),
            counted: 0,
        })
    }
}

struct List {
    listed: BTreeSet<u64>,
    wire_bytes_min: u32,
    flow: Option<u32>,
    counted: u64,
}

impl Gate for List {
    fn judge<B: Body>(&mut self, _now: Nanos, packet: &mut Packet<B>) -> Fate {
        let counts = packet.wire_bytes >= self.wire_bytes_min
            && self.flow.is_none_or(|flow| flow == packet.flow);
        self.counted += u64::from(counts);
        if counts && self.listed.contains(&self.counted) {
            Fate::Drop("listed")
        } else {
            Fate::Pass
        }
    }
}
