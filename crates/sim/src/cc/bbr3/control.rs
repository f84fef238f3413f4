//! What follows from the model: pacing rate, send quantum, congestion window (section 5.6).

use super::super::delivery_rate::volume;
use super::super::{Ack, Path};
use super::{Bbr3, State, UNIT, rate_bps};
use tcpwhy_core::units::Nanos;

impl Bbr3 {
    /// InitPacingRate() of 5.6.2: "nominal_bandwidth = C.InitialCwnd / (C.srtt ? C.srtt : 1ms)".
    pub(super) fn init_pacing_rate(&mut self, srtt: Option<Nanos>) {
        let nominal = rate_bps(self.initial_window, srtt.unwrap_or(Nanos::MILLISECOND));
        self.pacing_rate_bps = nominal * State::Startup.gains().0 / UNIT;
    }

    /// SetPacingRateWithGain() of 5.6.2.
    pub(super) fn set_pacing_rate(&mut self, gain: u64) {
        let rate = self.bw_bps * gain / UNIT * (100 - PACING_MARGIN_PERCENT) / 100;
        if rate > 0 && (self.full_bw_reached || rate > self.pacing_rate_bps) {
            self.pacing_rate_bps = rate;
        }
    }

    /// SetSendQuantum() of 5.6.3.
    pub(super) fn set_send_quantum(&mut self) {
        let quantum = volume(self.pacing_rate_bps, Nanos::MILLISECOND);
        self.send_quantum = quantum.min(64 * 1024).max(2 * self.mss);
    }

    /// BDPMultiple() of 5.6.4.2.
    pub(super) fn bdp_multiple(&self, gain: u64) -> u64 {
        self.bdp(self.bw_bps, gain)
    }

    fn bdp(&self, bw_bps: u64, gain: u64) -> u64 {
        if self.min_rtt == Nanos::MAX {
            return self.initial_window;
        }
        volume(bw_bps, self.min_rtt) * gain / UNIT
    }

    /// QuantizationBudget() of 5.6.4.2.
    fn quantization_budget(&self, inflight_cap: u64) -> u64 {
        // 5.5.8.1: "BBR.offload_budget = 3 * C.send_quantum".
        let cap = inflight_cap.max(3 * self.send_quantum).max(self.min_pipe_cwnd());
        if self.state == State::ProbeBwUp { cap + 2 * self.mss } else { cap }
    }

    /// Inflight(gain) of 5.6.4.2.
    pub(super) fn inflight(&self, gain: u64) -> u64 {
        self.quantization_budget(self.bdp_multiple(gain))
    }

    /// Inflight(BBR.max_bw, 1.0) of 5.3.3.9.
    pub(super) fn inflight_at_max_bw(&self) -> u64 {
        self.quantization_budget(self.bdp(self.max_bw_bps, UNIT))
    }

    /// SetCwnd() of 5.6.4.6, with UpdateMaxInflight() of 5.6.4.2.
    pub(super) fn set_cwnd(&mut self, ack: &Ack) {
        let cap = self.bdp_multiple(self.cwnd_gain) + self.extra_acked;
        self.max_inflight = self.quantization_budget(cap);
        if self.full_bw_reached {
            self.cwnd = (self.cwnd + ack.delivered).min(self.max_inflight);
        } else if self.cwnd < self.max_inflight || ack.path.delivered < self.initial_window {
            self.cwnd += ack.delivered;
        }
        self.cwnd = self.cwnd.max(self.min_pipe_cwnd());
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        self.bound_cwnd_for_model();
    }

    /// ProbeRTTCwnd() of 5.6.4.5.
    pub(super) fn probe_rtt_cwnd(&self) -> u64 {
        self.bdp_multiple(State::ProbeRtt.gains().1).max(self.min_pipe_cwnd())
    }

    /// BoundCwndForModel() of 5.6.4.7.
    fn bound_cwnd_for_model(&mut self) {
        let cap = match self.state {
            State::ProbeRtt | State::ProbeBwCruise => self.inflight_with_headroom(),
            state if state.is_probe_bw() => self.inflight_longterm,
            _ => u64::MAX,
        };
        let cap = cap.min(self.inflight_shortterm).max(self.min_pipe_cwnd());
        self.cwnd = self.cwnd.min(cap);
    }

    /// SaveCwnd() of 5.6.4.4.
    pub(super) fn save_cwnd(&mut self, path: &Path) {
        let is_modulated = path.in_recovery || path.in_loss || self.state == State::ProbeRtt;
        self.prior_cwnd = if is_modulated { self.prior_cwnd.max(self.cwnd) } else { self.cwnd };
    }

    /// RestoreCwnd() of 5.6.4.4.
    pub(super) fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    /// 2.8: "BBR.MinPipeCwnd: The minimal C.cwnd value BBR targets, to allow pipelining ...: 4 *
    /// C.SMSS."
    pub(super) fn min_pipe_cwnd(&self) -> u64 {
        4 * self.mss
    }
}

/// 2.5: "BBR.PacingMarginPercent: The static discount factor of 1% used to scale BBR.bw to produce
/// C.pacing_rate."
const PACING_MARGIN_PERCENT: u64 = 1;
