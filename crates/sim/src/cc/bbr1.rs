//! BBR, version 1 (draft-cardwell-iccrg-bbr-congestion-control-00, July 2017).
//!
//! Section numbers below are those of that draft. It is what Linux calls `bbr`, with its long-term
//! sampling for policers, which the draft does not have.

use super::delivery_rate::{rate_bps, volume};
use super::long_term::{Change, LongTerm};
use super::max_filter::MaxFilter;
use super::round::Round;
use super::{Ack, Controller, Path, Registration, Settings};
use crate::random::Random;
use tcpwhy_core::units::Nanos;

/// The registry's line.
pub const BBR1: Registration = Registration {
    name: "bbr1",
    summary: "BBR version 1: model of bottleneck bandwidth and round-trip propagation time",
    source: "draft-cardwell-iccrg-bbr-congestion-control-00",
    new: |settings| Box::new(Bbr1::new(settings)),
};

#[derive(Debug)]
struct Bbr1 {
    mss: u64,
    initial_window: u64,
    random: Random,
    cwnd: u64,
    pacing_rate_bps: u64,
    state: State,
    /// 2: "BBR.pacing_gain: The dynamic gain factor used to scale BBR.BtlBw to produce
    /// BBR.pacing_rate", in thousandths.
    pacing_gain: u64,
    /// 2: "BBR.cwnd_gain: The dynamic gain factor used to scale the estimated BDP to produce
    /// a congestion window", in thousandths.
    cwnd_gain: u64,
    /// 2: "BBR.BtlBwFilter: The max filter used to estimate BBR.BtlBw."
    btlbw_filter: MaxFilter,
    /// 2: "BBR.BtlBw: BBR's estimated bottleneck bandwidth available to the transport flow".
    btlbw_bps: u64,
    /// 2: "BBR.RTprop: BBR's estimated two-way round-trip propagation delay of the path".
    rtprop: Nanos,
    /// "BBR.rtprop_stamp: The wall clock time at which the current BBR.RTProp sample was obtained."
    rtprop_stamp: Nanos,
    /// "BBR.rtprop_expired: A boolean recording whether the BBR.RTprop has expired".
    rtprop_expired: bool,
    round: Round,
    /// 2: "BBR.filled_pipe: A boolean that records whether BBR estimates that it has ever
    /// fully utilized its available bandwidth".
    filled_pipe: bool,
    /// 4.3.2.2: BBR.full_bw, the level of BBR.BtlBw from which growth is judged.
    full_bw_bps: u64,
    /// 4.3.2.2: BBR.full_bw_count, rounds "w/o much growth".
    full_bw_count: u32,
    /// 4.3.4: position in the gain cycle.
    cycle_index: usize,
    /// When the current phase of the gain cycle began.
    cycle_stamp: Nanos,
    /// 4.2.3.4: "BBR.packet_conservation": in the first round of fast recovery.
    packet_conservation: Option<u64>,
    /// 4.2.3.4: the last cwnd not modulated by recovery or ProbeRTT.
    prior_cwnd: u64,
    /// 4.3.5: "BBR.probe_rtt_done_stamp".
    probe_rtt_done_stamp: Option<Nanos>,
    /// 4.3.5: "BBR.probe_rtt_round_done".
    probe_rtt_round_done: bool,
    /// 4.3.4.4: "BBR.idle_restart".
    idle_restart: bool,
    /// Whether a policer sets the rate.
    long_term: LongTerm,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

impl Bbr1 {
    fn new(settings: &Settings) -> Bbr1 {
        let mut bbr = Bbr1 {
            mss: settings.mss,
            initial_window: settings.initial_window,
            random: Random::stream(settings.seed, 0),
            cwnd: settings.initial_window,
            pacing_rate_bps: 0,
            state: State::Startup,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            btlbw_filter: MaxFilter::default(),
            btlbw_bps: 0,
            rtprop: Nanos::MAX,
            rtprop_stamp: Nanos(0),
            rtprop_expired: false,
            round: Round::default(),
            filled_pipe: false,
            full_bw_bps: 0,
            full_bw_count: 0,
            cycle_index: 0,
            cycle_stamp: Nanos(0),
            packet_conservation: None,
            prior_cwnd: 0,
            probe_rtt_done_stamp: None,
            probe_rtt_round_done: false,
            idle_restart: false,
            long_term: LongTerm::default(),
        };
        bbr.init_pacing_rate(None);
        bbr
    }

    /// 4.2.1 BBRInitPacingRate: "nominal_bandwidth = InitialCwnd / (SRTT ? SRTT : 1ms)".
    fn init_pacing_rate(&mut self, srtt: Option<Nanos>) {
        let rtt = srtt.filter(|rtt| rtt.0 > 0).unwrap_or(Nanos::MILLISECOND);
        let nominal = rate_bps(self.initial_window, rtt);
        self.pacing_rate_bps = nominal * HIGH_GAIN / UNIT * PACED_PERCENT / 100;
    }

    /// 4.1.1.5 BBRUpdateBtlBw.
    fn update_btlbw(&mut self, ack: &Ack) {
        let Some(sample) = ack.sample else {
            self.round.is_start = false;
            return;
        };
        self.round.update(sample.prior_delivered, ack.path.delivered);
        if sample.delivery_rate_bps >= self.btlbw_bps || !sample.is_app_limited {
            let (rate, round) = (sample.delivery_rate_bps, self.round.count);
            self.btlbw_bps = self.btlbw_filter.update(rate, round, BTLBW_FILTER_LEN);
        }
    }

    /// 4.1.2.3 BBRUpdateRTprop.
    fn update_rtprop(&mut self, ack: &Ack) {
        let now = ack.path.now;
        self.rtprop_expired = now > self.rtprop_stamp + RTPROP_FILTER_LEN;
        if let Some(rtt) = ack.rtt
            && (rtt <= self.rtprop || self.rtprop_expired)
        {
            self.rtprop = rtt;
            self.rtprop_stamp = now;
        }
    }

    /// 4.3.2.2 BBRCheckFullPipe.
    fn check_full_pipe(&mut self, ack: &Ack) {
        let is_app_limited = ack.sample.is_none_or(|sample| sample.is_app_limited);
        if self.filled_pipe || !self.round.is_start || is_app_limited {
            return;
        }
        if self.btlbw_bps >= self.full_bw_bps * 5 / 4 {
            self.full_bw_bps = self.btlbw_bps;
            self.full_bw_count = 0;
            return;
        }
        self.full_bw_count += 1;
        self.filled_pipe = self.full_bw_count >= 3;
    }

    /// 4.3.3 BBRCheckDrain.
    fn check_drain(&mut self, path: &Path) {
        if self.state == State::Startup && self.filled_pipe {
            self.enter(State::Drain, DRAIN_GAIN, HIGH_GAIN);
        }
        if self.state == State::Drain && path.pipe <= self.inflight(UNIT) {
            self.enter_probe_bw(path.now);
        }
    }

    /// 4.3.4.3 BBREnterProbeBW; 4.3.4.2: "by randomly picking an initial phase, from among all but
    /// the 3/4 phase".
    fn enter_probe_bw(&mut self, now: Nanos) {
        self.enter(State::ProbeBw, UNIT, 2 * UNIT);
        self.cycle_index = CYCLE_GAINS.len() - 1 - (self.random.bits() % 7) as usize;
        self.advance_cycle_phase(now);
    }

    fn enter(&mut self, state: State, pacing_gain: u64, cwnd_gain: u64) {
        (self.state, self.pacing_gain, self.cwnd_gain) = (state, pacing_gain, cwnd_gain);
    }

    fn advance_cycle_phase(&mut self, now: Nanos) {
        self.cycle_stamp = now;
        self.cycle_index = (self.cycle_index + 1) % CYCLE_GAINS.len();
        let is_policed = self.long_term.rate_bps().is_some();
        self.pacing_gain = if is_policed { UNIT } else { CYCLE_GAINS[self.cycle_index] };
    }

    /// The bandwidth that is sent by: the policer's rate where one was found.
    fn bandwidth_bps(&self) -> u64 {
        self.long_term.rate_bps().unwrap_or(self.btlbw_bps)
    }

    /// Looks for a policer.
    fn sample_long_term(&mut self, ack: &Ack, is_round_start: bool, has_loss: bool) {
        let counts = self.state == State::ProbeBw || self.long_term.rate_bps().is_none();
        match self.long_term.on_ack(ack, is_round_start && counts, has_loss) {
            Change::Nothing => {}
            Change::Found if self.state == State::ProbeBw => self.pacing_gain = UNIT,
            Change::Found => {}
            Change::Over => self.enter_probe_bw(ack.path.now),
        }
    }

    /// 4.3.4.3 BBRIsNextCyclePhase.
    fn is_next_cycle_phase(&self, ack: &Ack) -> bool {
        let is_full_length = ack.path.now.since(self.cycle_stamp) > self.rtprop;
        match self.pacing_gain {
            UNIT => is_full_length,
            gain if gain > UNIT => {
                // `bbr_packets_in_net_at_edt` counts what leaves next.
                let pipe = ack.prior_pipe + self.send_quantum();
                is_full_length && (ack.lost > 0 || pipe >= self.inflight(gain))
            }
            _ => is_full_length || ack.prior_pipe <= self.inflight(UNIT),
        }
    }

    /// 4.3.5 BBRCheckProbeRTT.
    fn check_probe_rtt(&mut self, ack: &Ack) {
        if self.state != State::ProbeRtt && self.rtprop_expired && !self.idle_restart {
            self.save_cwnd(&ack.path);
            self.enter(State::ProbeRtt, UNIT, UNIT);
            self.probe_rtt_done_stamp = None;
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(&ack.path);
        }
        if ack.delivered > 0 {
            self.idle_restart = false;
        }
    }

    fn handle_probe_rtt(&mut self, path: &Path) {
        match self.probe_rtt_done_stamp {
            None if path.pipe <= self.min_pipe_cwnd() => {
                self.probe_rtt_done_stamp = Some(path.now + PROBE_RTT_DURATION);
                self.probe_rtt_round_done = false;
                self.round.start(path.delivered);
            }
            None => {}
            Some(done) => {
                self.probe_rtt_round_done |= self.round.is_start;
                if self.probe_rtt_round_done && path.now > done {
                    self.rtprop_stamp = path.now;
                    self.restore_cwnd();
                    self.exit_probe_rtt(path.now);
                }
            }
        }
    }

    fn exit_probe_rtt(&mut self, now: Nanos) {
        if self.filled_pipe {
            self.enter_probe_bw(now);
        } else {
            self.enter(State::Startup, HIGH_GAIN, HIGH_GAIN);
        }
    }

    /// 4.2.1 BBRSetPacingRateWithGain, with Linux's margin.
    fn set_pacing_rate(&mut self, gain: u64) {
        let rate = self.bandwidth_bps() * gain / UNIT * PACED_PERCENT / 100;
        if self.btlbw_bps > 0 && (self.filled_pipe || rate > self.pacing_rate_bps) {
            self.pacing_rate_bps = rate;
        }
    }

    /// 4.2.2 BBRSetSendQuantum.
    fn send_quantum(&self) -> u64 {
        match self.pacing_rate_bps {
            ..=1_199_999 => self.mss,
            1_200_000..=23_999_999 => 2 * self.mss,
            rate => volume(rate, Nanos::MILLISECOND).min(64 * 1024),
        }
    }

    /// 4.2.3.2 BBRInflight, rounded as in Linux (`bbr_quantization_budget`): to whole segments, to
    /// an even number, and two more while it probes.
    fn inflight(&self, gain: u64) -> u64 {
        if self.rtprop == Nanos::MAX {
            return self.initial_window;
        }
        let bdp = volume(self.bandwidth_bps(), self.rtprop) * gain / UNIT;
        let segments = bdp.div_ceil(self.mss) + 3 * (self.send_quantum() / self.mss);
        let is_probing = self.state == State::ProbeBw && self.cycle_index == 0;
        let more = if is_probing { 2 } else { 0 };
        (segments.next_multiple_of(2) + more) * self.mss
    }

    /// 4.2.3.6 BBRSetCwnd.
    fn set_cwnd(&mut self, ack: &Ack) {
        let target = self.inflight(self.cwnd_gain);
        self.modulate_for_recovery(ack);
        if self.packet_conservation.is_none() {
            if self.filled_pipe {
                self.cwnd = (self.cwnd + ack.delivered).min(target);
            } else if self.cwnd < target || ack.path.delivered < self.initial_window {
                self.cwnd += ack.delivered;
            }
            self.cwnd = self.cwnd.max(self.min_pipe_cwnd());
        }
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.min_pipe_cwnd());
        }
    }

    /// 4.2.3.4 BBRModulateCwndForRecovery.
    fn modulate_for_recovery(&mut self, ack: &Ack) {
        self.cwnd = self.cwnd.saturating_sub(ack.lost).max(self.mss);
        if let Some(until_round) = self.packet_conservation {
            self.cwnd = self.cwnd.max(ack.path.pipe + ack.delivered);
            // "After one round-trip in Fast Recovery: BBR.packet_conservation = false".
            if self.round.count >= until_round {
                self.packet_conservation = None;
            }
        }
    }

    fn save_cwnd(&mut self, path: &Path) {
        let is_modulated = path.in_recovery || path.in_loss || self.state == State::ProbeRtt;
        self.prior_cwnd = if is_modulated { self.prior_cwnd.max(self.cwnd) } else { self.cwnd };
    }

    fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    /// 2: "BBRMinPipeCwnd: The minimal cwnd value BBR tries to target using: 4 packets".
    fn min_pipe_cwnd(&self) -> u64 {
        4 * self.mss
    }
}

impl Controller for Bbr1 {
    fn on_established(&mut self, path: &Path) {
        self.rtprop = path.srtt.unwrap_or(Nanos::MAX);
        self.rtprop_stamp = path.now;
        self.init_pacing_rate(path.srtt);
    }

    /// 4.3.4.4 BBRHandleRestartFromIdle.
    fn on_send(&mut self, path: &Path) {
        if path.pipe == 0 && path.is_app_limited {
            self.idle_restart = true;
            if self.state == State::ProbeBw {
                self.set_pacing_rate(UNIT);
            }
        }
    }

    /// 3.5.2 BBRUpdateOnACK.
    fn on_ack(&mut self, ack: &Ack) {
        self.update_btlbw(ack);
        self.sample_long_term(ack, self.round.is_start, ack.lost > 0);
        if self.state == State::ProbeBw && self.is_next_cycle_phase(ack) {
            self.advance_cycle_phase(ack.path.now);
        }
        self.check_full_pipe(ack);
        self.check_drain(&ack.path);
        self.update_rtprop(ack);
        self.check_probe_rtt(ack);
        self.set_pacing_rate(self.pacing_gain);
        self.set_cwnd(ack);
    }

    fn enter_recovery(&mut self, path: &Path) {
        self.save_cwnd(&Path { in_recovery: false, ..*path });
        self.cwnd = path.pipe + self.mss;
        self.round.start(path.delivered);
        self.packet_conservation = Some(self.round.count + 1);
    }

    fn exit_recovery(&mut self, _path: &Path) {
        self.packet_conservation = None;
        self.restore_cwnd();
    }

    fn on_rto(&mut self, path: &Path, is_first: bool) {
        if is_first {
            self.save_cwnd(&Path { in_loss: false, ..*path });
        }
        self.packet_conservation = None;
        self.cwnd = self.mss;
        self.sample_long_term(&Ack { path: *path, ..Ack::default() }, true, true);
    }

    fn on_spurious(&mut self, path: &Path) {
        self.exit_recovery(path);
    }

    fn cwnd(&self) -> u64 {
        self.cwnd
    }

    fn pacing_rate_bps(&self) -> Option<u64> {
        Some(self.pacing_rate_bps)
    }

    fn in_slow_start(&self) -> bool {
        self.state == State::Startup
    }

    fn governs_recovery(&self) -> bool {
        true
    }

    /// 4.3.5 BBRHandleProbeRTT: "Ignore low rate samples during ProbeRTT".
    fn limits_samples(&self) -> bool {
        self.state == State::ProbeRtt
    }

    fn state_name(&self) -> &'static str {
        match (self.state, self.pacing_gain) {
            (State::Startup, _) => "Startup",
            (State::Drain, _) => "Drain",
            (State::ProbeBw, ..UNIT) => "ProbeBW_3/4",
            (State::ProbeBw, UNIT) => "ProbeBW_1",
            (State::ProbeBw, _) => "ProbeBW_5/4",
            (State::ProbeRtt, _) => "ProbeRTT",
        }
    }
}

/// A gain of one.
const UNIT: u64 = 1_000;
/// Linux's `bbr_pacing_margin_percent` is 1: it sends a little less than it has measured, so that
/// queues drain and a policer's bucket fills.
const PACED_PERCENT: u64 = 99;
/// 2: "BBRHighGain: A constant specifying the minimum gain value that will allow the sending
/// rate to double each round (2/ln(2) ~= 2.89)".
const HIGH_GAIN: u64 = 2_885;
/// 4.3.3: "BBR.pacing_gain = 1/BBRHighGain".
const DRAIN_GAIN: u64 = 347;
/// 4.3.4.1: "an eight-phase cycle with the following pacing_gain values: 5/4, 3/4, 1, 1, 1, 1, 1,
/// 1".
const CYCLE_GAINS: [u64; 8] = [1_250, 750, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// 2: "BtlBwFilterLen is 10 packet-timed round trips."
const BTLBW_FILTER_LEN: u64 = 10;
/// 2: "RTpropFilterLen is 10 secs."
const RTPROP_FILTER_LEN: Nanos = Nanos(10_000_000_000);
/// 2: "ProbeRTTDuration: A constant specifying the minimum duration for which ProbeRTT state
/// holds inflight to BBRMinPipeCwnd or fewer packets: 200 ms."
const PROBE_RTT_DURATION: Nanos = Nanos::from_millis(200);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_sends_a_hundredth_less_than_it_measured() {
        let settings = Settings {
            mss: 1_000,
            initial_window: 10_000,
            initial_ssthresh: None,
            has_selective_acks: true,
            is_paced: true,
            seed: 1,
        };
        let mut bbr = Bbr1::new(&settings);
        bbr.init_pacing_rate(Some(Nanos::from_millis(100)));
        // 10,000 bytes in 0.1 s are 800 kbit/s.
        assert_eq!(bbr.pacing_rate_bps, 800_000 * 2_885 / 1_000 * 99 / 100);
        bbr.btlbw_bps = 10_000_000;
        bbr.set_pacing_rate(UNIT);
        assert_eq!(bbr.pacing_rate_bps, 9_900_000);
    }
}
