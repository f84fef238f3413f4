//! The sending half of a connection: what was written, what is outstanding, what may leave.
//!
//! The questions are answered in files of their own: [`super::ack`] what an acknowledgement says,
//! [`super::recovery`] what was lost, [`super::send`] what may be sent, [`super::limit`] what stops
//! it.

use super::config::{Config, Pacing, Variant};
use super::limit::LimitClock;
use super::pacing::Pacer;
use super::recovery::scoreboard::{Scoreboard, Sent};
use super::recovery::{Phase, Recovery};
use super::rto::Rto;
use super::send_buffer::SendBuffer;
use super::super_segment::SuperSegment;
use crate::cc::delivery_rate::DeliveryRate;
use crate::cc::{Controller, Path, Settings};
use crate::random::Random;
use tcpwhy_core::units::Nanos;

/// The sending half.
#[derive(Debug)]
pub struct Sender {
    pub(super) config: Config,
    pub(super) board: Scoreboard,
    pub(super) buffer: SendBuffer,
    pub(super) recovery: Recovery,
    pub(super) cc: Box<dyn Controller>,
    pub(super) rate: DeliveryRate,
    pub(super) rto: Rto,
    pub(super) pacer: Pacer,
    pub(super) super_segment: SuperSegment,
    pub(super) peer_window: PeerWindow,
    pub(super) ecn: EcnEcho,
    pub(super) limit: LimitClock,
    pub(super) timers: SenderTimers,
    /// How late programs are.
    pub(super) random: Random,
    pub(super) counts: Counts,
    /// Most payload in a segment: the smaller of both MSS, less the options of every segment.
    pub(super) mss: u64,
    /// Consecutive expirations of the retransmission timer.
    pub(super) retries: u32,
    /// A tail loss probe is due.
    pub(super) probe_pending: bool,
    /// A zero-window probe is due, and how often one went unanswered.
    pub(super) window_probe_pending: bool,
    pub(super) window_probes: u32,
    /// End of the last segment smaller than the MSS (Minshall's variant of Nagle's algorithm).
    pub(super) small_end: u64,
    /// When data was sent last, to find idle times.
    pub(super) last_sent: Nanos,
    /// When data was sent or acknowledged last: since then nothing has moved.
    pub(super) last_progress: Nanos,
    /// Whether cwnd was the limit in the last round, and what says so.
    pub(super) usage: WindowUsage,
    /// Segments found lost while processing one event; kept to reuse its memory.
    pub(super) newly_lost: Vec<Sent>,
}

/// The window that the peer advertises (RFC 9293 section 3.3.1).
#[derive(Clone, Copy, Debug, Default)]
pub struct PeerWindow {
    /// SND.WND, scaled.
    pub bytes: u64,
    /// SND.WL1: the peer's sequence number at the last update.
    pub updated_seq: u64,
    /// SND.WL2: its acknowledgement number at the last update.
    pub updated_ack: u64,
    /// The largest window seen: half of it is worth sending although it is less than a segment
    /// (RFC 9293 section 3.8.6.2.1).
    pub largest: u64,
}

/// The sender's part in RFC 3168.
#[derive(Clone, Copy, Debug, Default)]
pub struct EcnEcho {
    /// Both sides negotiated ECN.
    pub is_enabled: bool,
    /// The next new segment carries CWR.
    pub cwr_pending: bool,
    /// SND.NXT at the last reduction: marks are not reacted to again before it is acknowledged.
    pub reduced_at: u64,
}

/// Whether the congestion window is used (RFC 9438 section 5.8; the rule is that of Linux's
/// `tcp_is_cwnd_limited`).
#[derive(Clone, Copy, Debug, Default)]
pub struct WindowUsage {
    pub is_cwnd_limited: bool,
    pub max_flight: u64,
    pub until: u64,
}

/// When the sender wants to act; `Nanos::MAX` when never.
#[derive(Clone, Copy, Debug)]
pub struct SenderTimers {
    /// Retransmission (RFC 6298).
    pub retransmission: Nanos,
    /// Tail loss probe (RFC 8985 section 7).
    pub probe: Nanos,
    /// Reordering window (RFC 8985 section 6).
    pub reorder: Nanos,
    /// Zero-window probe (RFC 9293 section 3.8.6.1).
    pub persist: Nanos,
    /// Release of the next paced segment.
    pub pacing: Nanos,
    /// The program that waited for room writes.
    pub writer: Nanos,
}

impl SenderTimers {
    const OFF: SenderTimers = SenderTimers {
        retransmission: Nanos::MAX,
        probe: Nanos::MAX,
        reorder: Nanos::MAX,
        persist: Nanos::MAX,
        pacing: Nanos::MAX,
        writer: Nanos::MAX,
    };

    /// The earliest.
    pub fn next(&self) -> Nanos {
        let recovery = self.retransmission.min(self.probe).min(self.reorder);
        recovery.min(self.persist).min(self.pacing).min(self.writer)
    }
}

/// Counts since the start of the connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub data_segments: u64,
    pub retransmitted_segments: u64,
    pub timeouts: u64,
    pub fast_retransmits: u64,
    pub tail_loss_probes: u64,
    pub spurious_recoveries: u64,
    pub duplicates_reported: u64,
}

/// What the handshake settled.
#[derive(Clone, Copy, Debug, Default)]
pub struct Negotiated {
    /// The peer's MSS option, 536 without one (RFC 9293 section 3.7.1).
    pub peer_mss: u16,
    /// Both sides offered SACK.
    pub sack: bool,
    /// Both sides offered timestamps.
    pub timestamps: bool,
    /// Both sides offered window scaling: the shifts of the peer's and of our window.
    pub window_shifts: Option<(u8, u8)>,
    /// Both sides offered ECN.
    pub ecn: bool,
}

impl Sender {
    /// Before the handshake.
    pub fn new(config: &Config) -> Sender {
        let settings = settings(config, &Negotiated::default(), u64::from(config.mss));
        Sender {
            board: Scoreboard::new(FIRST_BYTE, false),
            buffer: SendBuffer::new(config.send_buffer, FIRST_BYTE),
            recovery: Recovery::new(config.recovery),
            cc: (config.controller.new)(&settings),
            rate: DeliveryRate::default(),
            rto: Rto::new(config.rto),
            pacer: Pacer::default(),
            super_segment: SuperSegment::default(),
            peer_window: PeerWindow::default(),
            ecn: EcnEcho::default(),
            limit: LimitClock::default(),
            timers: SenderTimers::OFF,
            random: Random::stream(config.seed, STREAM_WRITER),
            counts: Counts::default(),
            mss: u64::from(config.mss),
            retries: 0,
            probe_pending: false,
            window_probe_pending: false,
            window_probes: 0,
            small_end: 0,
            last_sent: Nanos(0),
            last_progress: Nanos(0),
            usage: WindowUsage::default(),
            newly_lost: Vec::new(),
            config: config.clone(),
        }
    }

    /// The handshake is complete: `rtt` if it was measured, `window` as the peer advertised it.
    /// `syn_lost` when our SYN had to be sent again.
    pub fn establish(
        &mut self,
        now: Nanos,
        settled: &Negotiated,
        rtt: Option<Nanos>,
        syn_lost: bool,
    ) {
        let offered = u64::from(self.config.mss.min(settled.peer_mss)).max(LEAST_MSS);
        self.mss = offered - if settled.timestamps { TIMESTAMPS_BYTES } else { 0 };
        if self.recovery.variant.is_selective() && !settled.sack {
            self.recovery = Recovery::new(Variant::NewReno);
        }
        self.board = Scoreboard::new(FIRST_BYTE, self.recovery.variant == Variant::Rack);
        let mut settings = settings(&self.config, settled, self.mss);
        if syn_lost {
            // RFC 5681 section 3.1: "if the SYN or SYN/ACK is lost, the initial window used by a
            // sender after a correctly transmitted SYN MUST be one segment".
            settings.initial_window = self.mss;
            self.rto.after_handshake_loss();
        }
        self.cc = (self.config.controller.new)(&settings);
        self.ecn.is_enabled = settled.ecn;
        if let Some(rtt) = rtt {
            self.rto.on_measurement(rtt);
        }
        self.last_sent = now;
        self.last_progress = now;
        let path = self.path(now);
        self.cc.on_established(&path);
    }

    /// The congestion window in effect: the controller's, or in fast recovery PRR's or the inflated
    /// one, within the clamp.
    pub fn cwnd(&self) -> u64 {
        let cwnd = match self.recovery.phase {
            Phase::Recovery if self.cc.governs_recovery() => self.cc.cwnd(),
            Phase::Recovery if self.uses_prr() => self.recovery.prr.cwnd,
            Phase::Recovery => {
                self.cc.cwnd().saturating_add_signed(self.recovery.inflation).max(self.mss)
            }
            Phase::Open | Phase::Loss => self.cc.cwnd(),
        };
        self.config.cwnd_clamp_bytes.map_or(cwnd, |clamp| cwnd.min(clamp.max(self.mss)))
    }

    /// Nothing is sent any more.
    pub fn stop(&mut self) {
        self.timers = SenderTimers::OFF;
    }

    /// Whether our FIN was sent and acknowledged.
    pub fn is_fin_acknowledged(&self) -> bool {
        self.board.una > self.buffer.end()
    }

    /// Whether the clamp, not the controller, sets the window.
    pub fn is_clamped(&self) -> bool {
        let is_clamped = self.config.cwnd_clamp_bytes.is_some_and(|clamp| self.cc.cwnd() >= clamp);
        is_clamped || self.cc.is_fixed()
    }

    /// The connection as the controller sees it.
    pub fn path(&self, now: Nanos) -> Path {
        Path {
            now,
            mss: self.mss,
            flight_size: self.board.flight_size(),
            pipe: self.board.pipe(),
            delivered: self.rate.delivered,
            lost: self.rate.lost,
            snd_una: self.board.una,
            snd_nxt: self.board.nxt,
            srtt: self.rto.srtt(),
            min_rtt: self.rto.min_rtt(),
            is_cwnd_limited: self.is_cwnd_limited(),
            is_app_limited: self.rate.is_app_limited(),
            idle_timeouts: 0,
            in_recovery: self.recovery.phase == Phase::Recovery,
            in_loss: self.recovery.phase == Phase::Loss,
        }
    }

    /// In slow start, half the window in use is enough: what is sent lags a round behind.
    fn is_cwnd_limited(&self) -> bool {
        !self.is_clamped()
            && (self.usage.is_cwnd_limited
                || (self.cc.in_slow_start() && self.cc.cwnd() < 2 * self.usage.max_flight))
    }

    /// A reduction for loss also answers congestion marks: RFC 3168 section 6.1.2, CWR is set when
    /// cwnd is reduced "for any reason".
    pub(super) fn note_reduction(&mut self) {
        self.ecn.reduced_at = self.board.nxt;
        self.ecn.cwr_pending = self.ecn.is_enabled;
    }
}

fn settings(config: &Config, settled: &Negotiated, mss: u64) -> Settings {
    Settings {
        mss,
        initial_window: u64::from(config.initial_window_segs) * mss,
        initial_ssthresh: config.initial_ssthresh_bytes,
        has_selective_acks: settled.sack && config.recovery.is_selective(),
        is_paced: config.pacing != Pacing::Off,
        seed: config.seed,
    }
}

/// Apart from the stream of the controller.
const STREAM_WRITER: u64 = 1;
/// Offset of the first payload byte from the initial sequence number, which the SYN takes.
pub const FIRST_BYTE: u64 = 1;
/// A smaller MSS is not believed: options must leave room for payload (Linux's `tcp_min_snd_mss`
/// is 48).
const LEAST_MSS: u64 = 64;
/// The timestamps option with its padding (RFC 7323 appendix A).
pub const TIMESTAMPS_BYTES: u64 = 12;
