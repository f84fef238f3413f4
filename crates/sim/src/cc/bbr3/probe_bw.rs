//! ProbeBW: decelerate, cruise, refill, accelerate (section 5.3.3).

use super::super::{Ack, Path};
use super::{AckPhase, Bbr3, RateSample, State, UNIT};
use tcpwhy_core::units::Nanos;

impl Bbr3 {
    /// StartProbeBW_DOWN() of 5.3.3.9; EnterProbeBW() does nothing else.
    pub(super) fn start_probe_bw_down(&mut self, path: &Path) {
        self.reset_congestion_signals();
        self.probe_up_acked_per_inc = u64::MAX;
        self.pick_probe_wait();
        self.cycle_stamp = path.now;
        self.ack_phase = AckPhase::ProbeStopping;
        self.round.start(path.delivered);
        self.enter(State::ProbeBwDown);
    }

    /// StartProbeBW_CRUISE() of 5.3.3.9.
    pub(super) fn start_probe_bw_cruise(&mut self) {
        self.enter(State::ProbeBwCruise);
    }

    /// StartProbeBW_REFILL() of 5.3.3.9.
    pub(super) fn start_probe_bw_refill(&mut self, path: &Path) {
        self.reset_short_term_model();
        self.bw_probe_up_rounds = 0;
        self.bw_probe_up_acked = 0;
        self.prev_probe_precautionary = false;
        self.ack_phase = AckPhase::Refilling;
        self.round.start(path.delivered);
        self.enter(State::ProbeBwRefill);
    }

    /// StartProbeBW_UP() of 5.3.3.9.
    fn start_probe_bw_up(&mut self, path: &Path, sample: &RateSample) {
        self.ack_phase = AckPhase::ProbeStarting;
        self.round.start(path.delivered);
        self.reset_full_bw();
        self.full_bw_bps = sample.delivery_rate_bps;
        self.enter(State::ProbeBwUp);
        self.raise_inflight_longterm_slope();
    }

    /// PickProbeWait() of 5.3.3.8.3.
    fn pick_probe_wait(&mut self) {
        self.rounds_since_probe_up = self.random.bits() & 1;
        self.bw_probe_wait = Nanos(2 * Nanos::SECOND.0) + self.random.within(Nanos::SECOND);
    }

    /// UpdateProbeBWCyclePhase() of 5.3.3.9.
    pub(super) fn update_probe_bw_cycle_phase(&mut self, ack: &Ack, sample: &RateSample) {
        if !self.full_bw_reached || self.adapt_long_term_model(ack, sample) {
            return;
        }
        match self.state {
            State::ProbeBwDown => {
                if !self.check_time_to_probe_bw(&ack.path) && self.is_time_to_cruise(&ack.path) {
                    self.start_probe_bw_cruise();
                }
            }
            State::ProbeBwCruise => {
                self.check_time_to_probe_bw(&ack.path);
            }
            State::ProbeBwRefill => {
                if self.round.is_start {
                    self.is_bw_probe_sample = true;
                    self.start_probe_bw_up(&ack.path, sample);
                }
            }
            State::ProbeBwUp => {
                if self.is_time_to_go_down(&ack.path, sample) {
                    self.prev_probe_too_high = false;
                    self.start_probe_bw_down(&ack.path);
                }
            }
            State::Startup | State::Drain | State::ProbeRtt => {}
        }
    }

    /// AdaptLongTermModel() of 5.3.3.9; true when it decided a state transition.
    fn adapt_long_term_model(&mut self, ack: &Ack, sample: &RateSample) -> bool {
        if self.ack_phase == AckPhase::ProbeStarting && self.round.is_start {
            self.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.ack_phase == AckPhase::ProbeStopping && self.round.is_start {
            self.is_bw_probe_sample = false;
            self.ack_phase = AckPhase::Init;
            if self.state.is_probe_bw() && !sample.is_app_limited {
                // AdvanceMaxBwFilter() of 5.5.6.
                self.cycle_count += 1;
            }
            if self.state.is_probe_bw()
                && self.prev_probe_precautionary
                && !self.prev_probe_too_high
            {
                self.start_probe_bw_refill(&ack.path);
                return true;
            }
        }
        if self.inflight_longterm == u64::MAX
            || self.is_inflight_too_high(sample.lost, sample.tx_in_flight)
        {
            return false;
        }
        self.inflight_longterm = self.inflight_longterm.max(sample.tx_in_flight);
        if self.state == State::ProbeBwUp {
            self.probe_inflight_longterm_upward(ack);
        }
        false
    }

    /// IsTimeToProbeBW() of 5.3.3.8.3.
    fn check_time_to_probe_bw(&mut self, path: &Path) -> bool {
        let has_waited = path.now > self.cycle_stamp + self.bw_probe_wait;
        if has_waited || self.is_reno_coexistence_probe_time() {
            self.start_probe_bw_refill(path);
            return true;
        }
        false
    }

    /// IsRenoCoexistenceProbeTime() of 5.3.3.8.3.
    fn is_reno_coexistence_probe_time(&self) -> bool {
        let reno_rounds = self.target_inflight() / self.mss;
        self.rounds_since_probe_up >= reno_rounds.min(63)
    }

    /// IsTimeToCruise() of 5.3.3.9.
    fn is_time_to_cruise(&self, path: &Path) -> bool {
        path.pipe <= self.inflight_with_headroom() && path.pipe <= self.inflight_at_max_bw()
    }

    /// IsTimeToGoDown() of 5.3.3.9.
    fn is_time_to_go_down(&mut self, path: &Path, sample: &RateSample) -> bool {
        if self.prev_probe_too_high && path.pipe >= self.inflight_longterm {
            self.prev_probe_precautionary = true;
            return true;
        }
        if path.is_cwnd_limited && self.cwnd >= self.inflight_longterm {
            self.reset_full_bw();
            self.full_bw_bps = sample.delivery_rate_bps;
            return false;
        }
        self.full_bw_now
    }

    /// InflightWithHeadroom() of 5.3.3.9.
    pub(super) fn inflight_with_headroom(&self) -> u64 {
        if self.inflight_longterm == u64::MAX {
            return u64::MAX;
        }
        let headroom = self.mss.max(self.inflight_longterm * HEADROOM_PERCENT / 100);
        self.inflight_longterm.saturating_sub(headroom).max(self.min_pipe_cwnd())
    }

    /// RaiseInflightLongtermSlope() of 5.3.3.9.
    fn raise_inflight_longterm_slope(&mut self) {
        let growth_this_round = 1 << self.bw_probe_up_rounds;
        self.bw_probe_up_rounds = (self.bw_probe_up_rounds + 1).min(30);
        self.probe_up_acked_per_inc = (self.cwnd / growth_this_round).max(self.mss);
    }

    /// ProbeInflightLongtermUpward() of 5.3.3.9.
    fn probe_inflight_longterm_upward(&mut self, ack: &Ack) {
        if !ack.path.is_cwnd_limited || self.cwnd < self.inflight_longterm {
            return;
        }
        self.bw_probe_up_acked += ack.delivered;
        if self.bw_probe_up_acked >= self.probe_up_acked_per_inc {
            let delta = self.bw_probe_up_acked / self.probe_up_acked_per_inc;
            self.bw_probe_up_acked -= delta * self.probe_up_acked_per_inc;
            self.inflight_longterm += delta * self.mss;
        }
        if self.round.is_start {
            self.raise_inflight_longterm_slope();
        }
    }

    /// TargetInflight() of 5.3.3.8.3.
    pub(super) fn target_inflight(&self) -> u64 {
        self.bdp_multiple(UNIT).min(self.cwnd)
    }
}

/// 2.8: "BBR.Headroom: ... the multiplicative factor to apply to BBR.inflight_longterm when
/// calculating a volume of free headroom to try to leave unused in the path ... (the value is
/// 0.15)."
const HEADROOM_PERCENT: u64 = 15;
