//! ProbeRTT: draining the queue to see the propagation delay (section 5.3.4).

use super::super::{Ack, Path};
use super::{AckPhase, Bbr3, State};
use tcpwhy_core::units::Nanos;

impl Bbr3 {
    /// UpdateMinRTT() of 5.3.4.3.
    pub(super) fn update_min_rtt(&mut self, ack: &Ack) {
        let now = ack.path.now;
        self.probe_rtt_expired = now > self.probe_rtt_min_stamp + PROBE_RTT_INTERVAL;
        if let Some(rtt) = ack.rtt
            && (rtt < self.probe_rtt_min_delay || self.probe_rtt_expired)
        {
            self.probe_rtt_min_delay = rtt;
            self.probe_rtt_min_stamp = now;
        }
        let min_rtt_expired = now > self.min_rtt_stamp + MIN_RTT_FILTER_LEN;
        if self.probe_rtt_min_delay < self.min_rtt || min_rtt_expired {
            self.min_rtt = self.probe_rtt_min_delay;
            self.min_rtt_stamp = self.probe_rtt_min_stamp;
        }
    }

    /// CheckProbeRTT() of 5.3.4.3.
    pub(super) fn check_probe_rtt(&mut self, ack: &Ack) {
        if self.state != State::ProbeRtt && self.probe_rtt_expired && !self.idle_restart {
            self.save_cwnd(&ack.path);
            self.enter(State::ProbeRtt);
            self.probe_rtt_done_stamp = None;
            self.ack_phase = AckPhase::ProbeStopping;
            self.round.start(ack.path.delivered);
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(&ack.path);
        }
        if ack.delivered > 0 {
            self.idle_restart = false;
        }
    }

    /// HandleProbeRTT() of 5.3.4.3; the sender marks the samples ([`super::Controller`]).
    fn handle_probe_rtt(&mut self, path: &Path) {
        if self.probe_rtt_done_stamp.is_none() && path.pipe <= self.probe_rtt_cwnd() {
            self.probe_rtt_done_stamp = Some(path.now + PROBE_RTT_DURATION);
            self.probe_rtt_round_done = false;
            self.round.start(path.delivered);
        } else if self.probe_rtt_done_stamp.is_some() {
            self.probe_rtt_round_done |= self.round.is_start;
            if self.probe_rtt_round_done {
                self.check_probe_rtt_done(path);
            }
        }
    }

    /// CheckProbeRTTDone() of 5.3.4.3 and ExitProbeRTT() of 5.3.4.4.
    pub(super) fn check_probe_rtt_done(&mut self, path: &Path) {
        if self.probe_rtt_done_stamp.is_none_or(|done| path.now <= done) {
            return;
        }
        self.probe_rtt_min_stamp = path.now;
        self.restore_cwnd();
        self.reset_short_term_model();
        if self.full_bw_reached {
            self.start_probe_bw_down(path);
            self.start_probe_bw_cruise();
        } else {
            self.enter(State::Startup);
        }
    }
}

/// 2.16.2: "BBR.ProbeRTTInterval: ... 5 secs."
const PROBE_RTT_INTERVAL: Nanos = Nanos(5_000_000_000);
/// 2.16.1: "BBR.MinRTTFilterLen is 10 secs."
const MIN_RTT_FILTER_LEN: Nanos = Nanos(10_000_000_000);
/// 2.16.2: "BBR.ProbeRTTDuration: ... 200 ms."
const PROBE_RTT_DURATION: Nanos = Nanos::from_millis(200);
