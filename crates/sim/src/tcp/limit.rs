//! What stops the sender: the truth against which a diagnosis is held.
//!
//! The meaning is that of Linux's `tcp_chrono` where that has one: `rwnd_limited` while the next
//! segment does not fit the peer's window, `sndbuf_limited` while everything written was sent and
//! the application waits for room. Beyond Linux, the buffer limits as well when Nagle's algorithm
//! holds the last piece of a full one: with more room it would be a full segment. The order of the
//! conditions is that of [`Limit`].

use super::recovery::Phase;
use super::send::Blocked;
use super::sender::Sender;
use crate::endpoint::{self, Limit, Snapshot};
use tcpwhy_core::units::Nanos;

/// The current limit and since when it holds.
#[derive(Clone, Copy, Debug, Default)]
pub struct LimitClock {
    limit: Limit,
    since: Nanos,
}

impl LimitClock {
    /// From `now` on, `limit` holds.
    pub fn set(&mut self, now: Nanos, limit: Limit) {
        if limit != self.limit {
            *self = LimitClock { limit, since: now };
        }
    }

    /// The limit and since when it holds.
    pub fn current(&self) -> (Limit, Nanos) {
        (self.limit, self.since)
    }
}

impl Sender {
    /// Nothing more leaves at `now`, because of `blocked`: notes the limit, whether cwnd is used,
    /// and whether the window must be probed.
    pub(super) fn note_blocked(&mut self, now: Nanos, blocked: Blocked) {
        let limit = match (self.recovery.phase, blocked) {
            (Phase::Loss, _) => Limit::RtoWait,
            (Phase::Recovery, _) => Limit::Recovery,
            (Phase::Open, Blocked::NothingToSend | Blocked::Nagle) if self.buffer.is_refusing() => {
                Limit::SendBuffer
            }
            (Phase::Open, Blocked::NothingToSend) => Limit::Application,
            (Phase::Open, Blocked::Nagle) => Limit::Nagle,
            (Phase::Open, Blocked::Window) => Limit::ReceiverWindow,
            (Phase::Open, Blocked::Pacing) => Limit::Pacing,
            (Phase::Open, Blocked::Cwnd) if self.is_clamped() => Limit::CwndClamp,
            (Phase::Open, Blocked::Cwnd) => Limit::Cwnd,
        };
        self.limit.set(now, limit);
        self.pacer_after(blocked);
        self.note_usage(blocked == Blocked::Cwnd);
        self.schedule_window_probe(now, blocked);
    }

    /// The retransmission timer expired: the wait began when something was last sent or delivered.
    pub(super) fn note_stall(&mut self, now: Nanos) {
        let since = self.last_progress.max(self.last_sent).min(now);
        if self.limit.current().0 != Limit::RtoWait {
            self.limit.set(since, Limit::RtoWait);
        }
    }

    fn pacer_after(&mut self, blocked: Blocked) {
        if blocked != Blocked::Pacing {
            self.timers.pacing = Nanos::MAX;
            self.pacer.end_burst();
        }
    }

    fn note_usage(&mut self, is_cwnd_limited: bool) {
        let flight = self.board.flight_size();
        let usage = &mut self.usage;
        if self.board.una >= usage.until
            || is_cwnd_limited
            || (!usage.is_cwnd_limited && flight > usage.max_flight)
        {
            usage.is_cwnd_limited = is_cwnd_limited;
            usage.max_flight = flight;
            usage.until = self.board.nxt;
        }
    }

    /// Whether neither the receiver's window nor the sender's own has room for a full segment.
    fn are_both_full(&self) -> bool {
        let flight = self.board.flight_size();
        let is_full = |window: u64| window < flight + self.mss;
        let unsent = self.buffer.end().saturating_sub(self.board.nxt);
        let is_buffer_full = self.buffer.is_refusing() && unsent < self.mss;
        let is_clamped = self.config.cwnd_clamp_bytes.is_some_and(is_full);
        is_full(self.peer_window.bytes) && (is_buffer_full || is_clamped)
    }

    /// The host's window of which less than two segments or a tenth are left.
    fn nearly_full(&self) -> Option<Limit> {
        let flight = self.board.flight_size();
        let is_near = |window: u64| window < flight + (2 * self.mss).max(window / 10);
        if is_near(self.peer_window.bytes) {
            return Some(Limit::ReceiverWindow);
        }
        self.config.cwnd_clamp_bytes.filter(|clamp| is_near(*clamp)).map(|_| Limit::CwndClamp)
    }

    /// The state for the truth table.
    pub fn snapshot(&self) -> Snapshot {
        let (limit, limit_since) = self.limit.current();
        Snapshot {
            limit,
            limit_since,
            both_windows: self.are_both_full(),
            nearly_full: self.nearly_full(),
            settled_until: self.last_progress.max(self.last_sent),
            phase: match self.recovery.phase {
                Phase::Recovery => endpoint::Phase::Recovery,
                Phase::Loss => endpoint::Phase::Loss,
                Phase::Open if self.cc.in_slow_start() => endpoint::Phase::SlowStart,
                Phase::Open => endpoint::Phase::CongestionAvoidance,
            },
            cwnd_bytes: self.cwnd(),
            ssthresh_bytes: self.cc.ssthresh(),
            pipe_bytes: self.board.pipe(),
            flight_size_bytes: self.board.flight_size(),
            rwnd_bytes: self.peer_window.bytes,
            send_buffer_bytes: self.buffer.held(),
            unsent_bytes: self.buffer.end().saturating_sub(self.board.nxt),
            srtt_ns: self.rto.srtt(),
            min_rtt_ns: self.rto.min_rtt(),
            rto_ns: self.rto.timeout(),
            pacing_rate_bps: self.pacing_rate_bps(),
            data_segments: self.counts.data_segments,
            retransmitted_segments: self.counts.retransmitted_segments,
            timeouts: self.counts.timeouts,
            fast_retransmits: self.counts.fast_retransmits,
            tail_loss_probes: self.counts.tail_loss_probes,
            spurious_recoveries: self.counts.spurious_recoveries,
        }
    }
}
