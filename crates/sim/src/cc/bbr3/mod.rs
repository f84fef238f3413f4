//! BBR, version 3 (draft-ietf-ccwg-bbr-06, July 2026).
//!
//! Section numbers in this folder are those of that draft; read its sections 2 and 5 first. The
//! files follow its parts. [`model`] is what the path is like, [`control`] what follows for rate
//! and window. [`probe_bw`] searches for bandwidth, [`probe_rtt`] for a shorter round trip.

mod control;
mod model;
mod probe_bw;
mod probe_rtt;

use super::delivery_rate::{RateSample, rate_bps};
use super::max_filter::MaxFilter;
use super::round::Round;
use super::{Ack, Controller, Lost, Path, Registration, Settings};
use crate::random::Random;
use tcpwhy_core::units::Nanos;

/// The registry's line.
pub const BBR3: Registration = Registration {
    name: "bbr3",
    summary: "BBR version 3: bandwidth, round trip and loss modelled on two time scales",
    source: "draft-ietf-ccwg-bbr-06",
    new: |settings| Box::new(Bbr3::new(settings)),
};

/// The state of section 2. What the draft calls Infinity is `u64::MAX`; gains are in thousandths.
#[derive(Debug)]
struct Bbr3 {
    /// "C.SMSS".
    mss: u64,
    /// "C.InitialCwnd".
    initial_window: u64,
    /// "C.has_selective_acks".
    has_selective_acks: bool,
    random: Random,

    /// 2.4: "C.cwnd".
    cwnd: u64,
    /// 2.4: "C.pacing_rate: The current pacing rate for a BBR flow".
    pacing_rate_bps: u64,
    /// 2.4: "C.send_quantum: The maximum size of a data aggregate".
    send_quantum: u64,

    /// 2.7: "BBR.state: The current state of a BBR flow in the BBR state machine."
    state: State,
    /// 2.5: "BBR.pacing_gain: The dynamic gain factor used to scale BBR.bw".
    pacing_gain: u64,
    /// 2.6: "BBR.cwnd_gain: The dynamic gain factor used to scale the estimated BDP".
    cwnd_gain: u64,
    round: Round,
    /// 2.7: "BBR.idle_restart: true if and only if a connection is restarting after being idle".
    idle_restart: bool,
    /// 2.7: "BBR.drain_start_round: The value of round_count when Drain state started."
    drain_start_round: u64,

    /// 2.9.1: "BBR.max_bw: The windowed maximum recent bandwidth sample".
    max_bw_bps: u64,
    /// 2.9.1: "BBR.bw_shortterm: The short-term maximum sending bandwidth that the algorithm
    /// estimates is safe".
    bw_shortterm_bps: u64,
    /// 2.9.1: "BBR.bw: ... the min() of max_bw and bw_shortterm."
    bw_bps: u64,
    /// 2.9.2: "BBR.min_rtt: The windowed minimum round-trip time sample measured over the last
    /// BBR.MinRTTFilterLen = 10 seconds."
    min_rtt: Nanos,
    /// 2.9.2: "BBR.max_inflight: The estimate of C.inflight required to fully utilize the
    /// bottleneck bandwidth".
    max_inflight: u64,
    /// 2.9.2: "BBR.inflight_longterm: The long-term maximum inflight that the algorithm estimates
    /// will produce acceptable queue pressure".
    inflight_longterm: u64,
    /// 2.9.2: "BBR.inflight_shortterm: Analogous to BBR.bw_shortterm".
    inflight_shortterm: u64,

    /// 2.10: "BBR.bw_latest: a 1-round-trip max of delivered bandwidth".
    bw_latest_bps: u64,
    /// 2.10: "BBR.inflight_latest: a 1-round-trip max of delivered volume of data".
    inflight_latest: u64,
    /// 5.5.10.3: end of the round in which losses are gathered.
    loss_round_delivered: u64,
    /// 5.5.10.3: whether this acknowledgement ends that round.
    loss_round_start: bool,
    /// 2.14: "BBR.is_loss_in_round: whether there was a packet loss detected in the current round".
    is_loss_in_round: bool,
    /// 5.3.1.3: discontiguous sequence ranges lost in the round.
    loss_ranges_in_round: u32,
    /// End of the last lost segment, to tell ranges apart.
    last_lost_end: u64,

    /// 2.11: "BBR.max_bw_filter: A windowed max filter for RS.delivery_rate samples".
    max_bw_filter: MaxFilter,
    /// 2.11: "BBR.cycle_count: The virtual time used by the BBR.max_bw filter window."
    cycle_count: u64,

    /// 2.12: "BBR.extra_acked: ... the estimate of the recent degree of aggregation".
    extra_acked: u64,
    /// 2.12: "BBR.extra_acked_interval_start".
    extra_acked_interval_start: Nanos,
    /// 2.12: "BBR.extra_acked_delivered".
    extra_acked_delivered: u64,
    /// 2.12: "BBR.extra_acked_filter".
    extra_acked_filter: MaxFilter,

    /// 2.13: "BBR.full_bw_reached: whether BBR estimates that it has ever fully utilized its
    /// available bandwidth".
    full_bw_reached: bool,
    /// 2.13: "BBR.full_bw_now: ... since it most recently started looking".
    full_bw_now: bool,
    /// 2.13: "BBR.full_bw: A recent baseline BBR.max_bw".
    full_bw_bps: u64,
    /// 2.13: "BBR.full_bw_count: The number of non-app-limited round trips without large increases
    /// in BBR.full_bw."
    full_bw_count: u32,

    /// 2.14: "BBR.ack_phase".
    ack_phase: AckPhase,
    /// 2.14: "BBR.is_bw_probe_sample: whether the connection is receiving rate samples from a
    /// bandwidth-probing phase".
    is_bw_probe_sample: bool,
    /// 2.14: "BBR.bw_probe_up_acked: The volume of data ACKed since increasing
    /// BBR.inflight_longterm."
    bw_probe_up_acked: u64,
    /// 2.14: "BBR.probe_up_acked_per_inc: The volume of data that must be ACKed before
    /// BBR.inflight_longterm is increased by C.SMSS."
    probe_up_acked_per_inc: u64,
    /// 2.14: "BBR.bw_probe_up_rounds".
    bw_probe_up_rounds: u32,
    /// 2.14: "BBR.rounds_since_probe_up: ... since the last ProbeBW_UP bandwidth probe phase."
    rounds_since_probe_up: u64,
    /// 2.14: "BBR.bw_probe_wait: The maximum wall clock time duration BBR waits before probing
    /// bandwidth again."
    bw_probe_wait: Nanos,
    /// 2.14: "BBR.cycle_stamp: The wall clock time at which the current ProbeBW cycle started."
    cycle_stamp: Nanos,
    /// 2.14: "BBR.prev_probe_too_high: whether the most recent bandwidth probe went too high".
    prev_probe_too_high: bool,
    /// 2.14: "BBR.prev_probe_precautionary: whether the most recent ProbeBW_UP phase was stopped
    /// early because it reached the BBR.inflight_longterm threshold from the previous probe".
    prev_probe_precautionary: bool,

    undo: Undo,

    /// 2.16.1: "BBR.min_rtt_stamp".
    min_rtt_stamp: Nanos,
    /// 2.16.2: "BBR.probe_rtt_min_delay: The minimum RTT sample recorded in the last
    /// BBR.ProbeRTTInterval."
    probe_rtt_min_delay: Nanos,
    /// 2.16.2: "BBR.probe_rtt_min_stamp".
    probe_rtt_min_stamp: Nanos,
    /// 2.16.2: "BBR.probe_rtt_expired".
    probe_rtt_expired: bool,
    /// 5.3.4.3: "BBR.probe_rtt_done_stamp".
    probe_rtt_done_stamp: Option<Nanos>,
    /// 5.3.4.3: "BBR.probe_rtt_round_done".
    probe_rtt_round_done: bool,
    /// 5.6.4.4: the last cwnd "unmodulated by loss recovery or ProbeRTT".
    prior_cwnd: u64,
}

/// 2.15: what to restore when a recovery was spurious.
#[derive(Clone, Copy, Debug, Default)]
struct Undo {
    state: Option<State>,
    bw_shortterm_bps: u64,
    inflight_shortterm: u64,
    inflight_longterm: u64,
}

/// 5.1.1: the state transition diagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    ProbeBwDown,
    ProbeBwCruise,
    ProbeBwRefill,
    ProbeBwUp,
    ProbeRtt,
}

impl State {
    fn is_probe_bw(self) -> bool {
        use State::*;
        matches!(self, ProbeBwDown | ProbeBwCruise | ProbeBwRefill | ProbeBwUp)
    }

    /// IsProbingBW() of 5.3.3.9.
    fn is_probing(self) -> bool {
        matches!(self, State::Startup | State::ProbeBwRefill | State::ProbeBwUp)
    }

    /// Pacing gain and cwnd gain of the table in 5.6.1.
    fn gains(self) -> (u64, u64) {
        match self {
            State::Startup => (2_770, 2_000),
            State::Drain => (500, 2_000),
            State::ProbeBwDown => (900, 2_000),
            State::ProbeBwCruise | State::ProbeBwRefill => (UNIT, 2_000),
            State::ProbeBwUp => (1_250, 2_250),
            State::ProbeRtt => (UNIT, 500),
        }
    }
}

/// 2.14: "the current phase in a state machine that tracks the meaning of the ACK feedback".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

impl Bbr3 {
    /// OnInit() of 5.2.1.
    fn new(settings: &Settings) -> Bbr3 {
        let mut bbr = Bbr3 {
            mss: settings.mss,
            initial_window: settings.initial_window,
            has_selective_acks: settings.has_selective_acks,
            random: Random::stream(settings.seed, 0),
            cwnd: settings.initial_window,
            pacing_rate_bps: 0,
            send_quantum: 2 * settings.mss,
            state: State::Startup,
            pacing_gain: 0,
            cwnd_gain: 0,
            round: Round::default(),
            idle_restart: false,
            drain_start_round: 0,
            max_bw_bps: 0,
            bw_shortterm_bps: u64::MAX,
            bw_bps: 0,
            min_rtt: Nanos::MAX,
            max_inflight: 0,
            inflight_longterm: u64::MAX,
            inflight_shortterm: u64::MAX,
            bw_latest_bps: 0,
            inflight_latest: 0,
            loss_round_delivered: 0,
            loss_round_start: false,
            is_loss_in_round: false,
            loss_ranges_in_round: 0,
            last_lost_end: 0,
            max_bw_filter: MaxFilter::default(),
            cycle_count: 0,
            extra_acked: 0,
            extra_acked_interval_start: Nanos(0),
            extra_acked_delivered: 0,
            extra_acked_filter: MaxFilter::default(),
            full_bw_reached: false,
            full_bw_now: false,
            full_bw_bps: 0,
            full_bw_count: 0,
            ack_phase: AckPhase::Init,
            is_bw_probe_sample: false,
            bw_probe_up_acked: 0,
            probe_up_acked_per_inc: u64::MAX,
            bw_probe_up_rounds: 0,
            rounds_since_probe_up: 0,
            bw_probe_wait: Nanos(0),
            cycle_stamp: Nanos(0),
            prev_probe_too_high: false,
            prev_probe_precautionary: false,
            undo: Undo::default(),
            min_rtt_stamp: Nanos(0),
            probe_rtt_min_delay: Nanos::MAX,
            probe_rtt_min_stamp: Nanos(0),
            probe_rtt_expired: false,
            probe_rtt_done_stamp: None,
            probe_rtt_round_done: false,
            prior_cwnd: 0,
        };
        bbr.init_pacing_rate(None);
        bbr.enter(State::Startup);
        bbr
    }

    fn enter(&mut self, state: State) {
        self.state = state;
        (self.pacing_gain, self.cwnd_gain) = state.gains();
    }

    /// UpdateModelAndState() of 5.2.3.
    fn update_model_and_state(&mut self, ack: &Ack, sample: &RateSample) {
        self.update_latest_delivery_signals(ack, sample);
        self.update_congestion_signals(ack, sample);
        self.update_ack_aggregation(ack);
        self.check_full_bw_reached(sample);
        self.check_startup_done(ack, sample);
        self.check_drain_done(ack);
        self.update_probe_bw_cycle_phase(ack, sample);
        self.update_min_rtt(ack);
        self.check_probe_rtt(ack);
        self.advance_latest_delivery_signals(sample);
        self.bw_bps = self.max_bw_bps.min(self.bw_shortterm_bps);
    }
}

impl Controller for Bbr3 {
    fn on_established(&mut self, path: &Path) {
        let srtt = path.srtt.filter(|rtt| rtt.0 > 0);
        self.min_rtt = srtt.unwrap_or(Nanos::MAX);
        self.probe_rtt_min_delay = self.min_rtt;
        self.min_rtt_stamp = path.now;
        self.probe_rtt_min_stamp = path.now;
        self.extra_acked_interval_start = path.now;
        self.init_pacing_rate(srtt);
    }

    /// HandleRestartFromIdle() of 5.4.1.
    fn on_send(&mut self, path: &Path) {
        if path.pipe == 0 && path.is_app_limited {
            self.idle_restart = true;
            self.extra_acked_interval_start = path.now;
            if self.state.is_probe_bw() {
                self.set_pacing_rate(UNIT);
            } else if self.state == State::ProbeRtt {
                self.check_probe_rtt_done(path);
            }
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        let Some(sample) = ack.sample else { return };
        self.update_model_and_state(ack, &sample);
        self.set_pacing_rate(self.pacing_gain);
        self.set_send_quantum();
        self.set_cwnd(ack);
    }

    fn on_lost(&mut self, lost: &Lost) {
        self.handle_lost_packet(lost);
    }

    /// OnEnterFastRecovery() of 5.6.4.4.
    fn enter_recovery(&mut self, path: &Path) {
        let before = Path { in_recovery: false, ..*path };
        if self.is_loss_in_round {
            // The loss that led here has saved the state already, and may have changed it since.
            self.save_cwnd(&before);
        } else {
            self.save_state_upon_loss(&before);
        }
    }

    fn exit_recovery(&mut self, _path: &Path) {
        self.restore_cwnd();
    }

    /// OnEnterRTO() of 5.6.4.4.
    fn on_rto(&mut self, path: &Path, is_first: bool) {
        if is_first {
            self.save_state_upon_loss(&Path { in_loss: false, ..*path });
        }
        self.cwnd = path.pipe + self.mss;
    }

    /// 3.7: "the congestion controller response MUST treat any CE marks as congestion". The draft
    /// does not say how; a mark counts as a loss in the round.
    fn on_ecn(&mut self, path: &Path) {
        self.note_loss(path);
    }

    fn on_spurious(&mut self, path: &Path) {
        self.handle_spurious_loss_detection(path);
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

    fn limits_samples(&self) -> bool {
        self.state == State::ProbeRtt
    }

    fn state_name(&self) -> &'static str {
        match self.state {
            State::Startup => "Startup",
            State::Drain => "Drain",
            State::ProbeBwDown => "ProbeBW_DOWN",
            State::ProbeBwCruise => "ProbeBW_CRUISE",
            State::ProbeBwRefill => "ProbeBW_REFILL",
            State::ProbeBwUp => "ProbeBW_UP",
            State::ProbeRtt => "ProbeRTT",
        }
    }
}

/// A gain of one.
const UNIT: u64 = 1_000;
/// 2.8: "BBR.LossThresh: ... the maximum tolerated per-round-trip packet loss rate when probing for
/// bandwidth (the default is 2%)."
const LOSS_THRESH_PERCENT: u64 = 2;
/// 2.8: "BBR.Beta: ... the default multiplicative decrease to make upon each round trip during
/// which the connection detects packet loss (the value is 0.7)."
const BETA_TENTHS: u64 = 7;
