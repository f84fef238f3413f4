//! BBR's bounds: it follows the bottleneck's rate, not loss, up to a point.

use super::declare::{choices, model};
use super::{Outside, Predict};

choices! {
    /// Which BBR.
    Version {
        /// As in Linux.
        V1 = "v1",
        /// As in the draft of the IETF.
        V3 = "v3",
    }
}

model! {
    /// The most that BBR sends: what it has seen the bottleneck deliver, within twice the
    /// bandwidth-delay product in flight.
    "bbr" Bbr {
        formula: "min(bottleneck, 2 × bottleneck × RTTmin / RTT) × 0.99 × (1 - ProbeRTT) × \
            (1 - loss)",
        source: "N. Cardwell and others: BBR, ACM Queue 14(5), 2016 (v1); \
            draft-ietf-ccwg-bbr, sections 2.4-2.7 and 5 (v3)",
        conditions: [
            "an upper bound: flows that share the bottleneck take their part of it",
            "the queue holds the 1.25 × BDP that it probes with, or loss stays within bounds",
            "neither a window nor the application holds it back",
        ],
        /// The rate at which the bottleneck can carry this connection's payload.
        bottleneck_bps: f64, Positive, Required;
        /// Round-trip time without queue.
        rtt_min_ns: f64, Positive, Required;
        /// Round-trip time with the queue that others, or acknowledgements held back, make.
        rtt_ns: f64, Positive, Derived("RTTmin: no queue");
        /// Share of packets lost, however they come.
        loss: f64, Share, Value(0.0);
        /// Which BBR.
        version: Version, Choice, Value(Version::V1 as u8 as f64);
    }
}

impl Predict for Bbr {
    fn compute(&self) -> Result<f64, Outside> {
        if self.rtt_ns < self.rtt_min_ns {
            return Err(Outside { parameter: "rtt_ns", reason: "is below rtt_min_ns" });
        }
        if self.loss >= self.version.loss_tolerance() {
            return Err(Outside { parameter: "loss", reason: self.version.beyond() });
        }
        let delivered = self.bottleneck_bps.min(self.inflight_bound_bps());
        let probing = 1.0 - self.version.probe_rtt_share(self.rtt_now_ns());
        Ok(delivered * PACING_MARGIN * probing * (1.0 - self.loss))
    }

    fn steps(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("bdp_bytes", self.bottleneck_bps * self.rtt_min_ns / 8e9),
            ("inflight_bound_bps", self.inflight_bound_bps()),
            ("probe_rtt_share", self.version.probe_rtt_share(self.rtt_now_ns())),
            ("tolerated_loss", self.version.loss_tolerance()),
        ]
    }

    fn caution(&self) -> Option<&'static str> {
        let much = self.loss > self.version.loss_harmless();
        much.then_some("with so much loss it falls short of this bound by more than a tenth")
    }
}

impl Bbr {
    /// What `cwnd_gain` allows: twice the bandwidth-delay product a round trip.
    pub fn inflight_bound_bps(&self) -> f64 {
        CWND_GAIN * self.bottleneck_bps * self.rtt_min_ns / self.rtt_now_ns()
    }

    fn rtt_now_ns(&self) -> f64 {
        if self.rtt_ns.is_nan() { self.rtt_min_ns } else { self.rtt_ns }
    }
}

impl Version {
    /// The loss beyond which the rate does not hold. BBRv1 sees 1.25 (1 - loss) of its estimate
    /// delivered while it probes; below 1 the estimate decays. BBRv3 gives way by design
    /// (`BBR.LossThresh`).
    pub fn loss_tolerance(self) -> f64 {
        match self {
            Version::V1 => 1.0 - 1.0 / PROBE_GAIN,
            Version::V3 => 0.02,
        }
    }

    /// The loss up to which simulated flows are within a tenth of the bound
    /// (`crates/io/tests/models.rs`).
    fn loss_harmless(self) -> f64 {
        match self {
            Version::V1 => 0.05,
            Version::V3 => 0.001,
        }
    }

    fn beyond(self) -> &'static str {
        match self {
            Version::V1 => "is 20 % or more: the bandwidth estimate decays",
            Version::V3 => "is 2 % or more: it reduces its window at every probe",
        }
    }

    /// The share of the rate that probing for the least RTT costs: at least 200 ms, every 10 s with
    /// four packets in flight, or every 5 s with half of the BDP.
    fn probe_rtt_share(self, rtt_ns: f64) -> f64 {
        let lasting_ns = rtt_ns.max(200e6);
        match self {
            Version::V1 => lasting_ns / (10e9 + lasting_ns),
            Version::V3 => 0.5 * lasting_ns / (5e9 + lasting_ns),
        }
    }
}

/// `BBR.DefaultCwndGain`.
const CWND_GAIN: f64 = 2.0;
/// Pacing gain while probing for bandwidth.
const PROBE_GAIN: f64 = 1.25;
/// 1 - `BBR.PacingMarginPercent`.
const PACING_MARGIN: f64 = 0.99;

#[cfg(test)]
mod tests {
    use super::*;

    fn bbr() -> Bbr {
        Bbr { bottleneck_bps: 1e8, rtt_min_ns: 20e6, ..Bbr::default() }
    }

    #[test]
    fn alone_it_nearly_fills_the_bottleneck() {
        for version in [Version::V1, Version::V3] {
            let rate = Bbr { version, ..bbr() }.rate_bps().unwrap();
            assert!(0.96e8 < rate && rate < 1e8, "{rate}");
        }
    }

    #[test]
    fn in_a_deep_queue_of_others_twice_the_bdp_is_the_bound() {
        let rate = |rtt_ns| Bbr { rtt_ns, ..bbr() }.rate_bps().unwrap();
        assert_eq!(rate(30e6), rate(40e6));
        assert!((rate(80e6) / rate(40e6) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn loss_costs_what_is_lost_up_to_the_tolerance() {
        let rate = |version, loss| Bbr { version, loss, ..bbr() }.rate_bps();
        let ratio = rate(Version::V1, 0.1).unwrap() / rate(Version::V1, 0.0).unwrap();
        assert!((ratio - 0.9).abs() < 1e-12);
        assert!(rate(Version::V1, 0.19).is_ok());
        assert_eq!(rate(Version::V1, 0.2).unwrap_err().parameter, "loss");
        assert!(rate(Version::V3, 0.019).is_ok());
        assert!(rate(Version::V3, 0.02).is_err());
    }

    #[test]
    fn the_present_rtt_is_at_least_the_least() {
        assert_eq!(Bbr { rtt_ns: 19e6, ..bbr() }.rate_bps().unwrap_err().parameter, "rtt_ns");
    }
}
