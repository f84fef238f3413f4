//! HyStart++: leaving slow start before it overruns the queue (RFC 9406).

use super::Ack;
use tcpwhy_core::units::Nanos;

/// The state of RFC 9406 section 4.2.
#[derive(Debug)]
pub struct HyStart {
    is_paced: bool,
    /// "windowEnd = SND.NXT": the end of the current round.
    window_end: u64,
    /// "lastRoundMinRTT = infinity" at the start.
    last_round_min_rtt: Nanos,
    /// "currentRoundMinRTT = infinity" at the start of each round.
    current_round_min_rtt: Nanos,
    /// "rttSampleCount = 0" at the start of each round.
    rtt_sample_count: u32,
    /// "cssBaselineMinRtt": the least round-trip time of the round that led to conservative slow
    /// start (CSS); `None` outside CSS.
    css_baseline_min_rtt: Option<Nanos>,
    /// Rounds spent in CSS.
    css_rounds: u32,
}

/// What slow start is to do with an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Grow cwnd by this many bytes.
    Grow(u64),
    /// Congestion avoidance begins: "ssthresh = cwnd".
    Exit,
}

impl HyStart {
    /// At the start of the connection.
    pub fn new(is_paced: bool) -> HyStart {
        HyStart {
            is_paced,
            window_end: 0,
            last_round_min_rtt: Nanos::MAX,
            current_round_min_rtt: Nanos::MAX,
            rtt_sample_count: 0,
            css_baseline_min_rtt: None,
            css_rounds: 0,
        }
    }

    /// Whether slow start is in its conservative part.
    pub fn in_css(&self) -> bool {
        self.css_baseline_min_rtt.is_some()
    }

    /// An acknowledgement in slow start.
    pub fn on_ack(&mut self, ack: &Ack) -> Step {
        // "When windowEnd is ACKed, the current round ends": the byte at SND.NXT, the first one
        // sent in answer to this round.
        let is_new_round = ack.path.snd_una > self.window_end;
        if is_new_round && self.start_round(ack.path.snd_nxt) {
            return Step::Exit;
        }
        if let Some(rtt) = ack.rtt {
            self.current_round_min_rtt = self.current_round_min_rtt.min(rtt);
            self.rtt_sample_count += 1;
        }
        if self.rtt_sample_count >= N_RTT_SAMPLE && self.current_round_min_rtt != Nanos::MAX {
            self.check_delay();
        }
        Step::Grow(self.increase(ack))
    }

    /// Begins a round; true when CSS has lasted its full number of rounds.
    fn start_round(&mut self, snd_nxt: u64) -> bool {
        let has_ended_a_round = self.window_end != 0;
        self.window_end = snd_nxt;
        self.last_round_min_rtt = self.current_round_min_rtt;
        self.current_round_min_rtt = Nanos::MAX;
        self.rtt_sample_count = 0;
        if self.in_css() && has_ended_a_round {
            self.css_rounds += 1;
        }
        // "CSS lasts at most CSS_ROUNDS rounds. If the transition into CSS happens in the middle of
        // a round, that partial round counts towards the limit."
        self.in_css() && self.css_rounds >= CSS_ROUNDS
    }

    fn check_delay(&mut self) {
        if let Some(baseline) = self.css_baseline_min_rtt {
            // "If (currentRoundMinRTT < cssBaselineMinRtt): cssBaselineMinRtt = infinity; resume
            // slow start including HyStart++": the delay was jitter.
            if self.current_round_min_rtt < baseline {
                self.css_baseline_min_rtt = None;
                self.css_rounds = 0;
            }
        } else if self.last_round_min_rtt != Nanos::MAX {
            // "RttThresh = max(MIN_RTT_THRESH, min(lastRoundMinRTT / MIN_RTT_DIVISOR,
            // MAX_RTT_THRESH))"
            let threshold = Nanos(self.last_round_min_rtt.0 / MIN_RTT_DIVISOR)
                .min(MAX_RTT_THRESH)
                .max(MIN_RTT_THRESH);
            if self.current_round_min_rtt >= self.last_round_min_rtt + threshold {
                self.css_baseline_min_rtt = Some(self.current_round_min_rtt);
                self.css_rounds = 0;
            }
        }
    }

    /// "cwnd = cwnd + min(N, L * SMSS)", in CSS divided by CSS_GROWTH_DIVISOR. "L = infinity if
    /// paced, L = 8 if non-paced".
    fn increase(&self, ack: &Ack) -> u64 {
        let limit = if self.is_paced { u64::MAX } else { L_NON_PACED * ack.path.mss };
        let full = ack.acked.min(limit);
        if self.in_css() { full / CSS_GROWTH_DIVISOR } else { full }
    }
}

/// RFC 9406 section 4.3: "MIN_RTT_THRESH = 4 msec".
const MIN_RTT_THRESH: Nanos = Nanos::from_millis(4);
/// RFC 9406 section 4.3: "MAX_RTT_THRESH = 16 msec".
const MAX_RTT_THRESH: Nanos = Nanos::from_millis(16);
/// RFC 9406 section 4.3: "MIN_RTT_DIVISOR = 8".
const MIN_RTT_DIVISOR: i64 = 8;
/// RFC 9406 section 4.3: "N_RTT_SAMPLE = 8".
const N_RTT_SAMPLE: u32 = 8;
/// RFC 9406 section 4.3: "CSS_GROWTH_DIVISOR = 4".
const CSS_GROWTH_DIVISOR: u64 = 4;
/// RFC 9406 section 4.3: "CSS_ROUNDS = 5".
const CSS_ROUNDS: u32 = 5;
/// RFC 9406 section 4.3: "L = 8 if non-paced".
const L_NON_PACED: u64 = 8;
