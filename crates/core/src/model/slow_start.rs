//! How long a transfer takes that is over before, or soon after, slow start is.

use super::declare::{choices, model};
use super::pftk::{Form, Pftk, timeout_s, timeout_share};
use super::{Outside, Predict, any_of, usual_rto_ns};

choices! {
    /// Whether opening the connection counts.
    Handshake {
        /// The time begins with the first data segment.
        Open = "open",
        /// The time begins with the SYN.
        Opening = "opening",
    }
}

choices! {
    /// How round trips are counted.
    Rounds {
        /// Whole ones as far as nothing is lost: the last window is waited for like any other.
        Whole = "whole",
        /// Parts of them, as the paper has it.
        Parts = "parts",
    }
}

model! {
    /// Throughput of a transfer of known size, from its first segment to the acknowledgement of its
    /// last: slow start, one loss if it comes to that, then congestion avoidance.
    "slow_start" SlowStart {
        formula: "size / (opening + slow start + first loss + congestion avoidance + delayed ACK), \
            slow start = RTT × log_γ(d (γ-1) / IW + 1) until the window is full",
        source: "N. Cardwell, S. Savage, T. Anderson: Modeling TCP Latency, INFOCOM 2000, \
            section II; whole rounds: N. Dukkipati and others, ACM CCR 40(3), 2010, section 2",
        conditions: [
            "the application has all data at once, and writes it without pause",
            "sending a window takes less than an RTT; a full link counts as a window of \
                capacity × RTT",
            "the RTT does not grow with the window; loss as for pftk",
        ],
        /// Payload bytes of the transfer.
        size_bytes: f64, Positive, Required;
        /// Payload bytes of a full segment.
        mss_bytes: f64, Positive, Value(1448.0);
        /// Round-trip time.
        rtt_ns: f64, Positive, Required;
        /// Probability that a packet begins a loss event.
        loss: f64, Share, Value(0.0);
        /// Initial window (RFC 6928: 10).
        initial_window_segs: f64, Positive, Value(10.0);
        /// Slow start threshold at the begin; infinite unless the path is remembered.
        initial_ssthresh_segs: f64, Limit, Value(f64::INFINITY);
        /// Largest window: that of the receiver, of the send buffer, or capacity × RTT.
        window_bytes: f64, Limit, Value(f64::INFINITY);
        /// Segments for which the window grows as for one: 1 doubles it every round trip (RFC
        /// 3465), 2 grows it by half (delayed acknowledgements, counted). γ = 1 + 1 / this.
        packets_per_ack: f64, Positive, Value(1.0);
        /// First retransmission timeout.
        rto_ns: f64, Positive, Derived("RTT + 200 ms, as Linux has it when the RTT varies little");
        /// Timeout of a SYN (RFC 6298: 1 s; 3 s in the paper).
        syn_rto_ns: f64, Positive, Value(1e9);
        /// How long the receiver holds back the acknowledgement of a single segment: it counts with
        /// an initial window of one (the paper: 100 ms on average).
        delayed_ack_ns: f64, NotNegative, Value(0.0);
        /// Whether opening the connection counts.
        handshake: Handshake, Choice, Value(Handshake::Open as u8 as f64);
        /// How round trips are counted.
        rounds: Rounds, Choice, Value(Rounds::Whole as u8 as f64);
    }
}

/// The parts of a transfer's duration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Phases {
    /// Until the connection is open.
    pub opening_ns: f64,
    /// Slow start, and what follows until the first loss.
    pub slow_start_ns: f64,
    /// Repair of the first loss.
    pub first_loss_ns: f64,
    /// What is left after the first loss, at the rate of PFTK.
    pub congestion_avoidance_ns: f64,
    /// Waiting for a delayed acknowledgement.
    pub delayed_ack_ns: f64,
}

impl Phases {
    /// From the begin to the acknowledgement of the last segment.
    pub fn total_ns(&self) -> f64 {
        self.opening_ns
            + self.slow_start_ns
            + self.first_loss_ns
            + self.congestion_avoidance_ns
            + self.delayed_ack_ns
    }
}

impl Predict for SlowStart {
    fn compute(&self) -> Result<f64, Outside> {
        Ok(self.size_bytes * 8e9 / self.phases()?.total_ns())
    }

    fn steps(&self) -> Vec<(&'static str, f64)> {
        let Ok(phases) = self.phases() else { return Vec::new() };
        let until_loss = self.until_loss_segs();
        vec![
            ("duration_ns", phases.total_ns()),
            ("opening_ns", phases.opening_ns),
            ("slow_start_ns", phases.slow_start_ns),
            ("first_loss_ns", phases.first_loss_ns),
            ("congestion_avoidance_ns", phases.congestion_avoidance_ns),
            ("delayed_ack_ns", phases.delayed_ack_ns),
            ("window_segs", self.growth(until_loss).1),
        ]
    }
}

impl SlowStart {
    /// How long each part of the transfer takes on average.
    pub fn phases(&self) -> Result<Phases, Outside> {
        let all = self.segments();
        let until_loss = self.until_loss_segs();
        let (rounds, window) = self.growth(until_loss);
        let lossless = (1.0 - self.loss).powf(all);
        // Whole rounds are those of a transfer that nothing is lost of.
        let rounds = match self.rounds {
            Rounds::Parts => rounds,
            Rounds::Whole => {
                // A window that is reached exactly takes no round more for a rounding error.
                let whole = (self.growth(all).0 - 1e-9).ceil();
                lossless * whole + (1.0 - lossless) * rounds
            }
        };
        let single = self.initial_window_segs < 2.0;
        Ok(Phases {
            opening_ns: self.opening_ns()?,
            slow_start_ns: rounds.max(1.0) * self.rtt_ns,
            first_loss_ns: (1.0 - lossless) * self.repair_ns(window),
            congestion_avoidance_ns: self.congestion_avoidance_ns(all - until_loss),
            delayed_ack_ns: if single { self.delayed_ack_ns } else { 0.0 },
        })
    }

    fn segments(&self) -> f64 {
        (self.size_bytes / self.mss_bytes).ceil()
    }

    /// Segments up to the first loss, the lost one included, on average (the paper's E[d_ss]).
    fn until_loss_segs(&self) -> f64 {
        let (all, p) = (self.segments(), self.loss);
        if p == 0.0 { all } else { (any_of(all, p) * (1.0 - p) / p + 1.0).min(all) }
    }

    /// Round trips that `segments` take without loss, and the window at their end: exponential
    /// growth up to ssthresh, then by a segment a round up to the limit. The paper knows no
    /// ssthresh; without one this is its E[T_ss].
    fn growth(&self, segments: f64) -> (f64, f64) {
        let limit = self.window_bytes / self.mss_bytes;
        let limit = limit.max(1.0);
        let first = self.initial_window_segs.min(limit);
        let growth = 1.0 + 1.0 / self.packets_per_ack;
        let knee = self.initial_ssthresh_segs.max(first).min(limit);
        let reached = segments * (growth - 1.0) / growth + first / growth;
        if reached <= knee {
            let rounds = (segments * (growth - 1.0) / first + 1.0).log(growth);
            return (rounds, reached);
        }
        let rounds = (knee / first).log(growth) + 1.0;
        let left = segments - (growth * knee - first) / (growth - 1.0);
        if knee >= limit {
            return (rounds + left / limit, limit);
        }
        // Beyond the knee the window is knee + n / b after n rounds.
        let b = self.packets_per_ack;
        let linear = (limit - knee) * b;
        let carried = (limit * limit - knee * knee) * b / 2.0;
        if left <= carried {
            let more = b * ((knee * knee + 2.0 * left / b).sqrt() - knee);
            (rounds + more, knee + more / b)
        } else {
            (rounds + linear + (left - carried) / limit, limit)
        }
    }

    /// Time to open the connection when SYN and SYN/ACK may be lost (E[L_h]).
    fn opening_ns(&self) -> Result<f64, Outside> {
        if self.handshake == Handshake::Open {
            return Ok(0.0);
        }
        if self.loss >= 0.5 {
            let reason = "is too large to open a connection: half of the packets";
            return Err(Outside { parameter: "loss", reason });
        }
        let failures = (1.0 - self.loss) / (1.0 - 2.0 * self.loss) - 1.0;
        Ok(self.rtt_ns + 2.0 * failures * self.syn_rto_ns)
    }

    /// Time that the first loss costs (E[T_loss]): a timeout, or a round trip of fast recovery.
    fn repair_ns(&self, window: f64) -> f64 {
        if self.loss == 0.0 {
            return 0.0;
        }
        let rto_s = usual_rto_ns(self.rto_ns, self.rtt_ns) / 1e9;
        let timeouts = timeout_share(self.loss, window);
        timeouts * timeout_s(self.loss, rto_s) * 1e9 + (1.0 - timeouts) * self.rtt_ns
    }

    fn congestion_avoidance_ns(&self, segments: f64) -> f64 {
        if segments <= 0.0 {
            return 0.0;
        }
        let pftk = Pftk {
            mss_bytes: self.mss_bytes,
            rtt_ns: self.rtt_ns,
            loss: self.loss,
            rto_ns: self.rto_ns,
            packets_per_ack: self.packets_per_ack,
            window_bytes: self.window_bytes,
            form: Form::Receiver,
        };
        // Whatever is left was preceded by a loss, so that the loss is within PFTK's domain.
        pftk.rate_bps().map_or(f64::NAN, |rate| segments * self.mss_bytes * 8e9 / rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A transfer of so many segments over 100 ms.
    fn transfer(segments: f64) -> SlowStart {
        SlowStart { size_bytes: segments * 1448.0, rtt_ns: 100e6, ..SlowStart::default() }
    }

    fn rounds(transfer: SlowStart) -> f64 {
        transfer.phases().unwrap().slow_start_ns / 100e6
    }

    #[test]
    fn the_paper_counts_parts_of_rounds() {
        // 1, 2, 4, 8 segments: a window of one doubles to fifteen segments in four rounds.
        let paper = SlowStart {
            initial_window_segs: 1.0,
            rounds: Rounds::Parts,
            ..transfer(15.0)
        };
        assert!((rounds(paper) - 4.0).abs() < 1e-9);
        // By delayed acknowledgements it grows to 1.5 times: log_1.5(15 / 2 + 1).
        let delayed = SlowStart { packets_per_ack: 2.0, ..paper };
        assert!((rounds(delayed) - 8.5f64.log(1.5)).abs() < 1e-9);
        // From a full window of 4 on, each round carries 4: 1 + 2 + 4 + 4 + 4 = 15.
        let limited = SlowStart { window_bytes: 4.0 * 1448.0, ..paper };
        assert!((rounds(limited) - 5.0).abs() < 1e-9);
    }

    #[test]
    fn whole_rounds_of_an_initial_window_of_ten() {
        // Dukkipati and others: 10, 30, 70, 150 segments in 1, 2, 3, 4 rounds.
        for (segments, expected) in [
            (1.0, 1.0),
            (10.0, 1.0),
            (11.0, 2.0),
            (30.0, 2.0),
            (31.0, 3.0),
            (70.0, 3.0),
            (150.0, 4.0),
            (151.0, 5.0),
        ] {
            assert_eq!(rounds(transfer(segments)).round(), expected, "{segments} segments");
        }
        let from_three = SlowStart { initial_window_segs: 3.0, ..transfer(30.0) };
        assert_eq!(rounds(from_three).round(), 4.0);
    }

    #[test]
    fn beyond_ssthresh_the_window_grows_by_a_segment() {
        // 10, 11, 12, 13: 46 segments.
        let remembered = SlowStart { initial_ssthresh_segs: 10.0, ..transfer(46.0) };
        let parts = SlowStart { rounds: Rounds::Parts, ..remembered };
        assert!((rounds(parts) - 4.2).abs() < 0.2, "{}", rounds(parts));
        assert!(rounds(remembered) <= 5.0);
        assert!(rounds(remembered) > rounds(transfer(46.0)));
    }

    #[test]
    fn a_window_limit_ends_in_window_over_rtt() {
        let limited = SlowStart { window_bytes: 65_535.0, ..transfer(1e6) };
        let steady = 65_535.0 * 8.0 / 0.1;
        assert!((limited.rate_bps().unwrap() / steady - 1.0).abs() < 1e-3);
    }

    #[test]
    fn a_long_transfer_under_loss_ends_in_pftk() {
        let long = SlowStart { loss: 1e-3, ..transfer(1e7) };
        let pftk = Pftk { rtt_ns: 100e6, loss: 1e-3, ..Pftk::default() };
        let ratio = long.rate_bps().unwrap() / pftk.rate_bps().unwrap();
        assert!((ratio - 1.0).abs() < 1e-3, "{ratio}");
    }

    #[test]
    fn little_loss_changes_little() {
        for segments in [1.0, 10.0, 151.0, 3000.0] {
            let without = transfer(segments).rate_bps().unwrap();
            let with = SlowStart { loss: 1e-9, ..transfer(segments) }.rate_bps().unwrap();
            assert!((with / without - 1.0).abs() < 1e-4, "{segments}: {with} {without}");
        }
    }

    #[test]
    fn the_handshake_is_a_round_trip_and_half_of_the_packets_are_too_many_to_lose() {
        let open = transfer(10.0);
        let opening = SlowStart { handshake: Handshake::Opening, ..open };
        assert_eq!(opening.phases().unwrap().total_ns(), 200e6);
        // E[L_h] with 10 % of loss each way: 2 (0.9 / 0.8 - 1) timeouts more.
        let lossy = SlowStart { loss: 0.1, ..opening };
        assert!((lossy.phases().unwrap().opening_ns - 350e6).abs() < 1.0);
        let hopeless = SlowStart { loss: 0.5, ..opening };
        assert_eq!(hopeless.rate_bps().unwrap_err().parameter, "loss");
        assert!(SlowStart { loss: 0.5, ..open }.rate_bps().is_ok());
    }

    #[test]
    fn a_single_segment_waits_for_its_acknowledgement() {
        let old = SlowStart { initial_window_segs: 1.0, delayed_ack_ns: 1e8, ..transfer(1.0) };
        assert_eq!(old.phases().unwrap().total_ns(), 200e6);
        let new = SlowStart { initial_window_segs: 10.0, ..old };
        assert_eq!(new.phases().unwrap().total_ns(), 100e6);
    }
}
