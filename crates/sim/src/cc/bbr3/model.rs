//! The model of the path: bandwidth, aggregation, and what losses say about them (section 5.5, and
//! the full-pipe estimator of 5.3.1).

use super::super::delivery_rate::volume;
use super::super::{Ack, Lost, Path};
use super::{BETA_TENTHS, Bbr3, LOSS_THRESH_PERCENT, RateSample, State, UNIT, Undo};

impl Bbr3 {
    /// UpdateLatestDeliverySignals() of 5.5.10.3.
    pub(super) fn update_latest_delivery_signals(&mut self, ack: &Ack, sample: &RateSample) {
        self.bw_latest_bps = self.bw_latest_bps.max(sample.delivery_rate_bps);
        self.inflight_latest = self.inflight_latest.max(sample.delivered);
        self.loss_round_start = sample.prior_delivered >= self.loss_round_delivered;
        if self.loss_round_start {
            self.loss_round_delivered = ack.path.delivered;
        }
    }

    /// AdvanceLatestDeliverySignals() of 5.5.10.3.
    pub(super) fn advance_latest_delivery_signals(&mut self, sample: &RateSample) {
        if self.loss_round_start {
            self.bw_latest_bps = sample.delivery_rate_bps;
            self.inflight_latest = sample.delivered;
            self.loss_ranges_in_round = 0;
        }
    }

    /// ResetCongestionSignals() of 5.5.10.3.
    pub(super) fn reset_congestion_signals(&mut self) {
        self.is_loss_in_round = false;
        self.bw_latest_bps = 0;
        self.inflight_latest = 0;
    }

    /// UpdateCongestionSignals() of 5.5.10.3.
    pub(super) fn update_congestion_signals(&mut self, ack: &Ack, sample: &RateSample) {
        self.update_max_bw(ack, sample);
        if !self.loss_round_start {
            return;
        }
        if self.is_loss_in_round && !self.state.is_probing() {
            self.init_lower_bounds();
            self.lower_bounds();
        }
        self.is_loss_in_round = false;
    }

    /// UpdateMaxBw() of 5.5.5.
    fn update_max_bw(&mut self, ack: &Ack, sample: &RateSample) {
        self.round.update(sample.prior_delivered, ack.path.delivered);
        self.rounds_since_probe_up += u64::from(self.round.is_start);
        let rate = sample.delivery_rate_bps;
        if rate > 0 && (rate >= self.max_bw_bps || !sample.is_app_limited) {
            self.max_bw_bps = self.max_bw_filter.update(rate, self.cycle_count, MAX_BW_FILTER_LEN);
        }
    }

    /// InitLowerBounds() of 5.5.10.3.
    fn init_lower_bounds(&mut self) {
        if self.bw_shortterm_bps == u64::MAX {
            self.bw_shortterm_bps = self.max_bw_bps;
        }
        if self.inflight_shortterm == u64::MAX {
            self.inflight_shortterm = self.cwnd;
        }
    }

    /// LossLowerBounds() of 5.5.10.3.
    fn lower_bounds(&mut self) {
        self.bw_shortterm_bps = self.bw_latest_bps.max(self.bw_shortterm_bps / 10 * BETA_TENTHS);
        self.inflight_shortterm =
            self.inflight_latest.max(self.inflight_shortterm * BETA_TENTHS / 10);
    }

    /// ResetShortTermModel() of 5.5.10.3.
    pub(super) fn reset_short_term_model(&mut self) {
        self.bw_shortterm_bps = u64::MAX;
        self.inflight_shortterm = u64::MAX;
    }

    /// UpdateACKAggregation() of 5.5.9.
    pub(super) fn update_ack_aggregation(&mut self, ack: &Ack) {
        let interval = ack.path.now.since(self.extra_acked_interval_start);
        let mut expected = volume(self.bw_bps, interval);
        if self.extra_acked_delivered <= expected {
            self.extra_acked_delivered = 0;
            self.extra_acked_interval_start = ack.path.now;
            expected = 0;
        }
        self.extra_acked_delivered += ack.delivered;
        let extra = (self.extra_acked_delivered - expected).min(self.cwnd);
        let length = if self.full_bw_reached { EXTRA_ACKED_FILTER_LEN } else { 1 };
        self.extra_acked = self.extra_acked_filter.update(extra, self.round.count, length);
    }

    /// ResetFullBW() of 5.3.1.2.
    pub(super) fn reset_full_bw(&mut self) {
        self.full_bw_bps = 0;
        self.full_bw_count = 0;
        self.full_bw_now = false;
    }

    /// CheckFullBWReached() of 5.3.1.2.
    pub(super) fn check_full_bw_reached(&mut self, sample: &RateSample) {
        if self.full_bw_now || !self.round.is_start || sample.is_app_limited {
            return;
        }
        if sample.delivery_rate_bps >= self.full_bw_bps * 5 / 4 {
            self.reset_full_bw();
            self.full_bw_bps = sample.delivery_rate_bps;
            return;
        }
        self.full_bw_count += 1;
        self.full_bw_now = self.full_bw_count >= 3;
        self.full_bw_reached |= self.full_bw_now;
    }

    /// CheckStartupDone() of 5.3.1.1.
    pub(super) fn check_startup_done(&mut self, ack: &Ack, sample: &RateSample) {
        self.check_startup_high_loss(ack, sample);
        if self.state == State::Startup && self.full_bw_reached {
            self.enter(State::Drain);
            self.drain_start_round = self.round.count;
        }
    }

    /// CheckStartupHighLoss() of 5.3.1.3: recovery for a round, more than 2 % lost, in at least six
    /// discontiguous ranges.
    fn check_startup_high_loss(&mut self, ack: &Ack, sample: &RateSample) {
        if self.state != State::Startup || self.full_bw_reached || !ack.path.in_recovery {
            return;
        }
        let is_high = if self.has_selective_acks {
            self.loss_round_start
                && self.loss_ranges_in_round >= STARTUP_FULL_LOSS_COUNT
                && self.is_inflight_too_high(sample.lost, sample.tx_in_flight)
        } else {
            ack.lost > 0
        };
        if is_high {
            self.undo.state = Some(State::Startup);
            self.full_bw_reached = true;
            self.full_bw_now = true;
            self.inflight_longterm = self.bdp_multiple(UNIT).max(self.inflight_latest);
        }
    }

    /// CheckDrainDone() of 5.3.2.
    pub(super) fn check_drain_done(&mut self, ack: &Ack) {
        if self.state == State::Drain
            && (ack.path.pipe <= self.inflight(UNIT)
                || self.round.count > self.drain_start_round + 3)
        {
            self.start_probe_bw_down(&ack.path);
        }
    }

    /// IsInflightTooHigh() of 5.5.10.2.
    pub(super) fn is_inflight_too_high(&self, lost: u64, tx_in_flight: u64) -> bool {
        lost * 100 > tx_in_flight * LOSS_THRESH_PERCENT || (lost > 0 && !self.has_selective_acks)
    }

    /// NoteLoss() of 5.5.10.2.
    pub(super) fn note_loss(&mut self, path: &Path) {
        if !self.is_loss_in_round {
            self.loss_round_delivered = path.delivered;
            self.save_state_upon_loss(path);
        }
        self.is_loss_in_round = true;
    }

    /// HandleLostPacket() of 5.5.10.2.
    pub(super) fn handle_lost_packet(&mut self, lost: &Lost) {
        self.note_loss(&lost.path);
        self.loss_ranges_in_round += u32::from(lost.start != self.last_lost_end);
        self.last_lost_end = lost.start + lost.bytes;
        if !self.is_bw_probe_sample {
            return;
        }
        let (tx_in_flight, lost_since) = (lost.sent.tx_in_flight, lost.path.lost - lost.sent.lost);
        if self.is_inflight_too_high(lost_since, tx_in_flight) {
            let at_loss = inflight_at_loss(tx_in_flight, lost_since, lost.bytes);
            self.handle_inflight_too_high(&lost.path, at_loss, lost.sent.is_app_limited);
        }
    }

    /// HandleInflightTooHigh() of 5.5.10.2.
    fn handle_inflight_too_high(&mut self, path: &Path, tx_in_flight: u64, app_limited: bool) {
        self.prev_probe_too_high = true;
        self.is_bw_probe_sample = false;
        if !app_limited {
            self.inflight_longterm = tx_in_flight.max(self.target_inflight() * BETA_TENTHS / 10);
        }
        if self.state == State::ProbeBwUp {
            self.undo.state = Some(State::ProbeBwUp);
            self.start_probe_bw_down(path);
        }
    }

    /// SaveStateUponLoss() of 5.5.11.1.
    pub(super) fn save_state_upon_loss(&mut self, path: &Path) {
        self.save_cwnd(path);
        self.undo = Undo {
            state: None,
            bw_shortterm_bps: self.bw_shortterm_bps,
            inflight_shortterm: self.inflight_shortterm,
            inflight_longterm: self.inflight_longterm,
        };
    }

    /// HandleSpuriousLossDetection() of 5.5.11.2.
    pub(super) fn handle_spurious_loss_detection(&mut self, path: &Path) {
        self.restore_cwnd();
        self.is_loss_in_round = false;
        self.reset_full_bw();
        self.bw_shortterm_bps = self.bw_shortterm_bps.max(self.undo.bw_shortterm_bps);
        self.inflight_shortterm = self.inflight_shortterm.max(self.undo.inflight_shortterm);
        self.inflight_longterm = self.inflight_longterm.max(self.undo.inflight_longterm);
        match self.undo.state.take() {
            Some(State::Startup) if self.state != State::Startup => {
                self.full_bw_reached = false;
                if self.state != State::ProbeRtt {
                    self.enter(State::Startup);
                }
            }
            Some(State::ProbeBwUp) if !matches!(self.state, State::ProbeBwUp | State::ProbeRtt) => {
                self.start_probe_bw_refill(path);
            }
            _ => {}
        }
    }
}

/// InflightAtLoss() of 5.5.10.2: "At what prefix of packet P did losses exceed BBR.LossThresh?"
fn inflight_at_loss(tx_in_flight: u64, lost: u64, size: u64) -> u64 {
    let inflight_prev = tx_in_flight.saturating_sub(size);
    let lost_prev = lost.saturating_sub(size);
    let lost_prefix = (LOSS_THRESH_PERCENT * inflight_prev).saturating_sub(100 * lost_prev)
        / (100 - LOSS_THRESH_PERCENT);
    inflight_prev + lost_prefix
}

/// 2.11: "BBR.MaxBwFilterLen: ... = 2 (representing up to 2 ProbeBW cycles, the current cycle and
/// the previous full cycle)."
const MAX_BW_FILTER_LEN: u64 = 2;
/// 2.12: "BBR.ExtraAckedFilterLen: ... = 10 (in units of packet-timed round trips)."
const EXTRA_ACKED_FILTER_LEN: u64 = 10;
/// 5.3.1.3: "at least BBRStartupFullLossCnt=6 discontiguous sequence ranges lost".
const STARTUP_FULL_LOSS_COUNT: u32 = 6;
