//! PFTK: Reno under loss, with timeouts and a limited window.

use super::declare::{choices, model};
use super::{Outside, Predict, any_of, usual_rto_ns};

choices! {
    /// What is counted, and how exactly.
    Form {
        /// What arrives, as a receiver or a capture of unique bytes counts it.
        Receiver = "receiver",
        /// What is sent, retransmissions included.
        Send = "send",
        /// The short formula for what is sent.
        Approximate = "approximate",
    }
}

model! {
    /// What Reno keeps up under loss when some losses need a timeout and the window has a limit.
    "pftk" Pftk {
        formula: "((1-p)/p + W/2 + Q) / (RTT (bW/2 + 1) + Q G(p) RTO / (1-p)), W the mean window \
            before a loss, Q the share of losses that need a timeout",
        source: "J. Padhye, V. Firoiu, D. Towsley, J. Kurose: Modeling TCP Reno Performance, \
            IEEE/ACM ToN 8(2), 2000, section II (send rate), section V (throughput)",
        conditions: [
            "Reno; newer recovery needs fewer timeouts, so that it does better under heavy loss",
            "loss is that of events: later packets of a round are lost together with the first",
            "the RTT does not depend on the window, the application has data at all times",
        ],
        /// Payload bytes of a full segment.
        mss_bytes: f64, Positive, Value(1448.0);
        /// Round-trip time.
        rtt_ns: f64, Positive, Required;
        /// Probability that a packet begins a loss event.
        loss: f64, Probability, Required;
        /// First retransmission timeout.
        rto_ns: f64, Positive, Derived("RTT + 200 ms, as Linux has it when the RTT varies little");
        /// Segments for which the window grows as for one: 2 where delayed acknowledgements are
        /// counted, 1 where bytes are (RFC 3465, as Linux does).
        packets_per_ack: f64, Positive, Value(1.0);
        /// Largest window: that of the receiver, or of the send buffer.
        window_bytes: f64, Limit, Value(f64::INFINITY);
        /// What is counted, and how exactly.
        form: Form, Choice, Value(Form::Receiver as u8 as f64);
    }
}

impl Predict for Pftk {
    fn compute(&self) -> Result<f64, Outside> {
        let packets_per_s = match self.form {
            Form::Approximate => self.approximate(),
            Form::Receiver => self.full(0.5),
            Form::Send => self.full(1.0),
        };
        Ok(packets_per_s * self.mss_bytes * 8.0)
    }

    fn steps(&self) -> Vec<(&'static str, f64)> {
        let window_segs = self.window_segs().min(self.limit_segs());
        let timeouts = timeout_share(self.loss, window_segs);
        vec![
            ("window_segs", window_segs),
            ("timeout_share", timeouts),
            ("rto_ns", usual_rto_ns(self.rto_ns, self.rtt_ns)),
        ]
    }
}

impl Pftk {
    /// Mean window at the end of a round of growth, without a limit.
    fn window_segs(&self) -> f64 {
        let (p, b) = (self.loss, self.packets_per_ack);
        let offset = (2.0 + b) / (3.0 * b);
        offset + (8.0 * (1.0 - p) / (3.0 * b * p) + offset * offset).sqrt()
    }

    fn limit_segs(&self) -> f64 {
        self.window_bytes / self.mss_bytes
    }

    /// Packets a second. `arriving` is the share of the last window that counts: all
    /// that is sent, or the half of it that arrives.
    fn full(&self, arriving: f64) -> f64 {
        let (p, b) = (self.loss, self.packets_per_ack);
        let (window, limit) = (self.window_segs(), self.limit_segs());
        let rounds = if window < limit {
            b / 2.0 * window + 1.0
        } else {
            b / 8.0 * limit + (1.0 - p) / (p * limit) + 2.0
        };
        let window = window.min(limit);
        let timeouts = timeout_share(p, window);
        // A sequence of timeouts sends 1/(1-p) packets, of which one arrives.
        let resent = if arriving < 1.0 { timeouts } else { timeouts / (1.0 - p) };
        let packets = (1.0 - p) / p + arriving * window + resent;
        packets / (rounds * self.rtt_s() + timeouts * timeout_s(p, self.rto_s()))
    }

    /// Packets a second by the short formula, which RFC 5348 section 3.1 has too.
    fn approximate(&self) -> f64 {
        let (p, b) = (self.loss, self.packets_per_ack);
        let growing = self.rtt_s() * (2.0 * b * p / 3.0).sqrt();
        let timeouts = (3.0 * (3.0 * b * p / 8.0).sqrt()).min(1.0);
        let waiting = self.rto_s() * timeouts * p * (1.0 + 32.0 * p * p);
        (self.limit_segs() / self.rtt_s()).min(1.0 / (growing + waiting))
    }

    fn rtt_s(&self) -> f64 {
        self.rtt_ns / 1e9
    }

    fn rto_s(&self) -> f64 {
        usual_rto_ns(self.rto_ns, self.rtt_ns) / 1e9
    }
}

/// The share of losses in a window of `window_segs` that fewer than three duplicate
/// acknowledgements follow.
pub fn timeout_share(p: f64, window_segs: f64) -> f64 {
    if window_segs <= 3.0 {
        return 1.0;
    }
    let three = any_of(3.0, p);
    let later = 1.0 + (1.0 - three) * any_of(window_segs - 3.0, p);
    (three * later / any_of(window_segs, p)).min(1.0)
}

/// Mean time in s that a sequence of timeouts takes, each twice the one before it up to 64 times
/// (section II-B).
pub fn timeout_s(p: f64, rto_s: f64) -> f64 {
    let doubling = (0..6).map(|i| f64::from(1 << i) * p.powi(i + 1)).sum::<f64>();
    rto_s * (1.0 + doubling) / (1.0 - p)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Delayed acknowledgements, RTT 0.1 s, RTO 0.3 s, a limit of `window` packets of one byte, so
    /// that rates are packets.
    fn packets_per_s(loss: f64, window: f64, form: Form) -> f64 {
        let model = Pftk {
            mss_bytes: 1.0,
            rtt_ns: 100e6,
            loss,
            rto_ns: 300e6,
            packets_per_ack: 2.0,
            window_bytes: window,
            form,
        };
        model.rate_bps().unwrap() / 8.0
    }

    #[test]
    fn rates_are_those_of_the_reference_table() {
        let rows = [
            (1e-4, 865.4, 863.0, 858.0),
            (1e-3, 272.0, 269.7, 264.8),
            (1e-2, 81.1, 79.4, 75.1),
            (5e-2, 28.4, 28.8, 25.5),
        ];
        for (loss, approximate, send, receiver) in rows {
            let near = |form, expected: f64| {
                let rate = packets_per_s(loss, 1000.0, form);
                assert!((rate - expected).abs() < 0.06, "{form:?} at {loss}: {rate}");
            };
            near(Form::Approximate, approximate);
            near(Form::Send, send);
            near(Form::Receiver, receiver);
        }
        // A window of 44 packets, 440 a second without loss.
        assert!((packets_per_s(1e-4, 44.0, Form::Send) - 417.7).abs() < 0.06);
        assert!((packets_per_s(1e-4, 44.0, Form::Receiver) - 416.8).abs() < 0.06);
    }

    #[test]
    fn without_loss_the_window_is_the_limit() {
        for form in [Form::Approximate, Form::Send, Form::Receiver] {
            assert!((packets_per_s(1e-9, 44.0, form) - 440.0).abs() < 0.01, "{form:?}");
        }
    }

    #[test]
    fn more_arrives_than_nothing_and_less_than_is_sent() {
        for exponent in -60..0 {
            let loss = 10f64.powf(f64::from(exponent) / 10.0);
            for window in [4.0, 44.0, f64::INFINITY] {
                let (sent, received) = (
                    packets_per_s(loss, window, Form::Send),
                    packets_per_s(loss, window, Form::Receiver),
                );
                assert!(0.0 < received && received <= sent, "{received} of {sent} at {loss}");
            }
        }
    }

    #[test]
    fn without_timeouts_it_is_mathis() {
        use crate::model::mathis::Mathis;
        let reno = Mathis { rtt_ns: 50e6, loss: 1e-6, ..Mathis::default() }.rate_bps().unwrap();
        let pftk = Pftk { rtt_ns: 50e6, loss: 1e-6, ..Pftk::default() }.rate_bps().unwrap();
        assert!((pftk / reno - 1.0).abs() < 0.01, "{pftk} {reno}");
    }
}
