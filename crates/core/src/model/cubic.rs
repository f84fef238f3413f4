//! CUBIC's response function, with the region in which it behaves as Reno.

use super::declare::model;
use super::{Outside, Predict, window_rate_bps};

model! {
    /// What CUBIC keeps up under steady loss: its cubic growth, or that of Reno where it is faster.
    "cubic" Cubic {
        formula: "MSS / RTT × max( (C (3+β) / (4 (1-β)))^¼ (RTT/loss)^¾, √(3/2 / loss) )",
        source: "RFC 9438 section 5, equation 5, and section 4.3 (Reno-friendly region)",
        conditions: [
            "one loss after every 1/loss packets; random losses give somewhat less",
            "loss is that of events (a burst counts once), and below 2 %",
            "neither a window nor the application holds it back",
            "the RTT does not grow with the window",
        ],
        /// Payload bytes of a full segment.
        mss_bytes: f64, Positive, Value(1448.0);
        /// Round-trip time.
        rtt_ns: f64, Positive, Required;
        /// Probability that a packet begins a loss event.
        loss: f64, Probability, Required;
        /// Aggressiveness of the growth, C of the standard, in segments/s³.
        c: f64, Positive, Value(0.4);
        /// What is left of the window after a loss, β of the standard.
        beta: f64, Probability, Value(0.7);
    }
}

impl Predict for Cubic {
    fn compute(&self) -> Result<f64, Outside> {
        let window_segs = self.window_cubic_segs().max(self.window_est_segs());
        Ok(window_rate_bps(window_segs, self.mss_bytes, self.rtt_ns))
    }

    fn steps(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("window_cubic_segs", self.window_cubic_segs()),
            ("window_reno_friendly_segs", self.window_est_segs()),
        ]
    }

    fn caution(&self) -> Option<&'static str> {
        (self.loss > MOST_LOSS).then_some("above 2 % of loss, timeouts count: see pftk")
    }
}

impl Cubic {
    /// Mean window of cubic growth in segments (RFC 9438 equation 5).
    pub fn window_cubic_segs(&self) -> f64 {
        self.scale() * (self.rtt_ns / 1e9 / self.loss).powf(0.75)
    }

    /// Mean window in the Reno-friendly region: α is chosen so that it is that of Reno.
    pub fn window_est_segs(&self) -> f64 {
        (1.5 / self.loss).sqrt()
    }

    /// The loss at which the rate is `rate_bps`.
    pub fn loss_for(&self, rate_bps: f64) -> f64 {
        let window_segs = rate_bps * self.rtt_ns / (self.mss_bytes * 8e9);
        let cubic = self.rtt_ns / 1e9 * (self.scale() / window_segs).powf(4.0 / 3.0);
        cubic.max(1.5 / window_segs.powi(2))
    }

    fn scale(&self) -> f64 {
        (self.c * (3.0 + self.beta) / (4.0 * (1.0 - self.beta))).powf(0.25)
    }
}

/// As for Mathis: beyond it a window holds too few segments for fast recovery.
const MOST_LOSS: f64 = 0.02;

#[cfg(test)]
mod tests {
    use super::*;

    fn window_segs(loss: f64, rtt_ns: f64, c: f64) -> f64 {
        let cubic = Cubic { mss_bytes: 1.0, rtt_ns, loss, c, ..Cubic::default() };
        cubic.rate_bps().unwrap() * rtt_ns / 8e9
    }

    #[test]
    fn windows_are_those_of_rfc_9438_table_1() {
        // RTT 0.1 s, for C of 0.04, 0.4 and 4.
        let rows = [
            (1e-2, [12.0, 12.0, 12.0]),
            (1e-3, [38.0, 38.0, 59.0]),
            (1e-4, [120.0, 187.0, 333.0]),
            (1e-5, [593.0, 1054.0, 1874.0]),
            (1e-6, [3332.0, 5926.0, 10538.0]),
            (1e-7, [18740.0, 33325.0, 59261.0]),
            (1e-8, [105_383.0, 187_400.0, 333_250.0]),
        ];
        compare(&rows, 100e6);
    }

    #[test]
    fn windows_are_those_of_rfc_9438_table_2() {
        // RTT 0.01 s.
        let rows = [
            (1e-3, [38.0, 38.0, 38.0]),
            (1e-4, [120.0, 120.0, 120.0]),
            (1e-6, [1200.0, 1200.0, 1874.0]),
            (1e-7, [3795.0, 5926.0, 10538.0]),
            (1e-8, [18740.0, 33325.0, 59261.0]),
        ];
        compare(&rows, 10e6);
    }

    /// The table takes Reno's window as 1.2/√p (RFC 3649), 2 % less than √(3/2).
    fn compare(rows: &[(f64, [f64; 3])], rtt_ns: f64) {
        for &(loss, expected) in rows {
            for (c, expected) in [0.04, 0.4, 4.0].into_iter().zip(expected) {
                let window = window_segs(loss, rtt_ns, c);
                assert!((window / expected - 1.0).abs() < 0.0225, "{window} {expected}");
            }
        }
        // Where growth is cubic the table is exact to its last digit but for a rounded 1.054.
        assert!((window_segs(1e-8, 100e6, 0.4) - 187_400.0).abs() < 10.0);
    }

    #[test]
    fn losses_are_those_of_rfc_9438_table_3() {
        // Packets of 1500 bytes, RTT 0.1 s.
        let cubic = Cubic { mss_bytes: 1500.0, rtt_ns: 100e6, ..Cubic::default() };
        for (rate_bps, loss) in [(1e7, 2.9e-4), (1e8, 1.4e-5), (1e9, 6.3e-7), (1e10, 2.9e-8)] {
            let found = cubic.loss_for(rate_bps);
            assert!((found / loss - 1.0).abs() < 0.03, "{found} for {rate_bps}");
            let back = Cubic { loss: found, ..cubic }.rate_bps().unwrap();
            assert!((back / rate_bps - 1.0).abs() < 1e-9);
        }
    }
}
