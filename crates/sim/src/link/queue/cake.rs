//! Fairness between hosts, as Linux's CAKE has it (tc-cake(8), `sch_cake`).

use super::codel::Codel;
use super::fq_codel::{State, UNLIMITED};
use super::hosts::{Isolation, Loads};
use super::{Discipline, Limit, Queue};
use crate::link::Body;
use crate::parameter::{Count, Interval, Milliseconds};
use crate::random::Random;
use serde::Deserialize;
use tcpwhy_core::units::Nanos;

/// A queue for each flow, as `fq_codel` has it, whose turn is the shorter the more flows of its
/// host send: hosts get equal shares, and so do the flows of a host. CoDel with ECN stands for
/// CAKE's COBALT, without its BLUE. One tin; what shapes is the link.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cake {
    /// Between whom the link is shared.
    #[serde(default)]
    pub isolate: Isolation,
    /// CoDel's interval; its target is a twentieth of it, and one and a half frames at least.
    #[serde(default = "rtt")]
    pub rtt_ms: Interval,
    /// Bytes that may wait in all; without it four times the rate over `rtt_ms`, 4 MiB at least.
    #[serde(default)]
    pub limit_bytes: Option<Count>,
}

impl Discipline for Cake {
    const EXAMPLES: &'static [&'static str] =
        &["", "isolate = \"dual_srchost\"\nrtt_ms = 30\nlimit_bytes = 40_000"];

    fn build<B: Body>(&self, rate_bps: Option<u64>, _random: Random) -> Box<dyn Queue<B>> {
        let (target, interval) = self.control(rate_bps);
        let codel = Codel {
            target_ms: Milliseconds(target),
            interval_ms: Interval(interval),
            ecn: true,
            limit_packets: Some(UNLIMITED),
            limit_bytes: Some(UNLIMITED),
        };
        // `cake_set_rate`: a quantum is what the rate carries in a quarter of a millisecond, from
        // 300 bytes to a full frame.
        let per_quantum = rate_bps.map_or(FRAME_BYTES, |bps| (bps / 8) >> 12);
        let quantum = per_quantum.clamp(QUANTUM_BYTES_MIN, FRAME_BYTES);
        let limit = self.limit_bytes.map_or_else(|| self.buffer(rate_bps), |limit| limit.0);
        let limit = Limit::of(None, Some(Count(limit)));
        let loads = Some(Loads::new(self.isolate));
        Box::new(State::new(codel, quantum, limit, loads))
    }
}

impl Cake {
    /// `cake_set_rate`: CoDel's target and interval. A slow link needs time for its frames.
    fn control(&self, rate_bps: Option<u64>) -> (Nanos, Nanos) {
        let rtt = self.rtt_ms.0;
        let asked = Nanos(rtt.0 / 20);
        let frame = rate_bps.map_or(0, |bps| FRAME_BYTES * 8_000_000_000 / bps.max(1));
        let target = asked.max(Nanos((frame as i64).saturating_mul(3) / 2));
        (target, (rtt + (target - asked)).max(Nanos(2 * target.0)))
    }

    /// `cake_reconfigure`: what may wait when nothing is said.
    fn buffer(&self, rate_bps: Option<u64>) -> u64 {
        let bytes = rate_bps.map_or(0.0, |bps| bps as f64 / 8.0 * self.rtt_ms.0.as_secs_f64());
        (4.0 * bytes).max(BUFFER_BYTES_MIN) as u64
    }
}

fn rtt() -> Interval {
    Interval(Nanos::from_millis(100))
}

/// A full Ethernet frame.
const FRAME_BYTES: u64 = 1514;
/// `cake_set_rate`.
const QUANTUM_BYTES_MIN: u64 = 300;
/// `cake_reconfigure`.
const BUFFER_BYTES_MIN: f64 = 4_194_304.0;
