//! The macroscopic model: Reno under steady loss, without timeouts.

use super::declare::{choices, model};
use super::{Outside, Predict, window_rate_bps};

choices! {
    /// How losses come.
    Losses {
        /// One after every 1/p packets.
        Periodic = "periodic",
        /// Each packet with the same probability.
        Random = "random",
    }
}

model! {
    /// What Reno keeps up while every loss halves its window and every round trip adds a segment.
    "mathis" Mathis {
        formula: "MSS / RTT × C / √loss",
        source: "M. Mathis, J. Semke, J. Mahdavi, T. Ott: The Macroscopic Behavior of the TCP \
            Congestion Avoidance Algorithm, ACM CCR 27(3), 1997",
        conditions: [
            "Reno, in congestion avoidance, with recovery that needs no timeout (SACK)",
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
        /// How losses come; it moves C by 7 %.
        losses: Losses, Choice, Value(Losses::Periodic as u8 as f64);
        /// Segments for which the window grows as for one: 2 where delayed acknowledgements are
        /// counted, 1 where bytes are (RFC 3465, as Linux does).
        packets_per_ack: f64, Positive, Value(1.0);
    }
}

impl Predict for Mathis {
    fn compute(&self) -> Result<f64, Outside> {
        Ok(window_rate_bps(self.window_segs(), self.mss_bytes, self.rtt_ns))
    }

    fn steps(&self) -> Vec<(&'static str, f64)> {
        vec![("c", self.constant()), ("window_segs", self.window_segs())]
    }

    fn caution(&self) -> Option<&'static str> {
        (self.loss > MOST_LOSS).then_some("above 2 % of loss, timeouts count: see pftk")
    }
}

impl Mathis {
    /// The constant C: √(3/2) with periodic losses; 1.31 with random ones, which follows from a
    /// window that grows between exponentially distributed losses (Ott, Kemperman, Mathis 1996).
    pub fn constant(&self) -> f64 {
        let every_packet = match self.losses {
            Losses::Periodic => 1.5f64.sqrt(),
            Losses::Random => RANDOM_CONSTANT,
        };
        every_packet / self.packets_per_ack.sqrt()
    }

    /// The loss at which the rate is `rate_bps`.
    pub fn loss_for(&self, rate_bps: f64) -> f64 {
        let window_segs = rate_bps * self.rtt_ns / (self.mss_bytes * 8e9);
        (self.constant() / window_segs).powi(2)
    }

    fn window_segs(&self) -> f64 {
        self.constant() / self.loss.sqrt()
    }
}

/// C for random losses and an acknowledgement for every packet; the test derives it.
const RANDOM_CONSTANT: f64 = 1.309_833;
/// Where the formula leaves the measurements of the paper (its section 3).
const MOST_LOSS: f64 = 0.02;

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets a second over 100 ms, as the reference tables have it.
    fn packets_per_s(model: Mathis) -> f64 {
        Mathis { mss_bytes: 1.0, rtt_ns: 100e6, ..model }.rate_bps().unwrap() / 8.0
    }

    #[test]
    fn constants_are_those_of_the_papers_table() {
        for (losses, packets_per_ack, constant) in [
            (Losses::Periodic, 1.0, 1.22),
            (Losses::Periodic, 2.0, 0.87),
            (Losses::Random, 1.0, 1.31),
            (Losses::Random, 2.0, 0.93),
        ] {
            let model = Mathis { losses, packets_per_ack, ..Mathis::default() };
            assert!((model.constant() - constant).abs() < 0.006, "{}", model.constant());
        }
    }

    #[test]
    fn the_constant_for_random_losses_follows_from_the_model() {
        // With time in round trips, x = W √p grows by √p a round and halves at losses that come
        // after Exp(1) of x dx: before a loss x² = 2 Σ E_k / 4^k. A cycle carries 1/p packets in
        // E[x] / (2 √p) rounds, so C = 2 / E[x]. The sum of exponentials has the density
        // Σ A_k exp(-z/m_k) / m_k, of which E[√z] = Γ(3/2) Σ A_k √m_k.
        let means: Vec<f64> = (0..30).map(|k| 2.0 * 0.25f64.powi(k)).collect();
        let weight = |k: usize| -> f64 {
            let others = means.iter().enumerate().filter(|&(j, _)| j != k);
            others.map(|(_, m)| means[k] / (means[k] - m)).product()
        };
        let gamma = std::f64::consts::PI.sqrt() / 2.0;
        let mean: f64 = (0..30).map(|k| weight(k) * means[k].sqrt()).sum::<f64>() * gamma;
        assert!((2.0 / mean - RANDOM_CONSTANT).abs() < 1e-6, "{}", 2.0 / mean);
    }

    #[test]
    fn rates_are_those_of_the_reference_table() {
        for (loss, delayed, every) in
            [(1e-4, 866.0, 1224.7), (1e-3, 273.9, 387.3), (1e-2, 86.6, 122.5), (5e-2, 38.7, 54.8)]
        {
            let model = Mathis { loss, ..Mathis::default() };
            assert!((packets_per_s(model) - every).abs() < 0.06);
            let model = Mathis { packets_per_ack: 2.0, ..model };
            assert!((packets_per_s(model) - delayed).abs() < 0.06);
        }
    }

    #[test]
    fn the_loss_for_a_rate_gives_that_rate() {
        let model = Mathis { rtt_ns: 30e6, loss: 3e-4, ..Mathis::default() };
        let rate = model.rate_bps().unwrap();
        assert!((model.loss_for(rate) / model.loss - 1.0).abs() < 1e-12);
    }

    #[test]
    fn it_says_where_it_does_not_hold() {
        let model = Mathis { rtt_ns: 30e6, loss: 0.03, ..Mathis::default() };
        assert!(model.rate_bps().is_ok() && model.caution().is_some());
        for loss in [0.0, 1.0, -0.1, f64::NAN] {
            assert_eq!(Mathis { loss, ..model }.rate_bps().unwrap_err().parameter, "loss");
        }
    }
}
