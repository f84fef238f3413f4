//! Outages.

use super::gate::{Fate, Gate, Gated};
use super::{Body, Element, Settings};
use crate::packet::Packet;
use crate::parameter::{Seconds, checked};
use crate::random::Random;
use serde::Deserialize;
use tcpwhy_core::units::Nanos;

/// Drops everything that arrives within one of the spans: a link that is down, a peer that is gone.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Outage {
    /// Begin and end of each span in seconds, in order.
    pub spans_s: Vec<(Seconds, Seconds)>,
}

checked!(Outage);

impl Outage {
    fn check(&self) -> Result<(), String> {
        let times: Vec<Nanos> = self.spans_s.iter().flat_map(|(a, b)| [a.0, b.0]).collect();
        if times.is_sorted() {
            return Ok(());
        }
        Err("spans_s: expected begin and end of each span, in the order of time".to_owned())
    }
}

impl Settings for Outage {
    const EXAMPLES: &'static [&'static str] = &["spans_s = [[0.1, 0.3], [0.5, 0.6]]"];

    fn build<B: Body>(&self, _random: Random) -> Box<dyn Element<B>> {
        Gated::boxed(Switch(self.spans_s.iter().map(|(from, to)| (from.0, to.0)).collect()))
    }
}

struct Switch(Vec<(Nanos, Nanos)>);

impl Gate for Switch {
    fn judge<B: Body>(&mut self, now: Nanos, _packet: &mut Packet<B>) -> Fate {
        let over = self.0.partition_point(|(_, to)| *to <= now);
        match self.0.get(over) {
            Some((from, _)) if *from <= now => Fate::Drop("outage"),
            _ => Fate::Pass,
        }
    }
}
