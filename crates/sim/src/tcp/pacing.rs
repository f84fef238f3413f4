//! When the next segment may leave, if the rate is bounded.

use super::config::Pacing;
use super::sender::Sender;
use crate::cc::delivery_rate::volume;
use tcpwhy_core::units::Nanos;

/// Spaces segments: draft-ietf-ccwg-bbr-06 section 5.6.2, "C.next_send_time".
#[derive(Clone, Copy, Debug, Default)]
pub struct Pacer {
    /// When the next burst may leave.
    next: Nanos,
    /// What the current burst may still hold.
    burst_left: u64,
}

impl Pacer {
    /// Whether a segment may leave at `now`; otherwise when.
    pub fn release(&self, now: Nanos) -> Result<(), Nanos> {
        if self.burst_left > 0 || now >= self.next { Ok(()) } else { Err(self.next) }
    }

    /// A segment of `bytes` left; a burst holds up to `quantum`.
    pub fn on_sent(&mut self, now: Nanos, bytes: u64, rate_bps: u64, quantum: u64) {
        let mut credit = Nanos(0);
        if now >= self.next {
            credit = now.since(self.next);
            self.next = now;
            self.burst_left = quantum;
        }
        self.burst_left = self.burst_left.saturating_sub(bytes);
        // Who was late catches up, by half of the distance at most (`tcp_update_skb_after_send`).
        let distance = Nanos((bytes * 8_000_000_000 / rate_bps.max(1)) as i64);
        self.next += distance - credit.min(Nanos(distance.0 / 2));
    }

    /// Sending stopped for another reason: the burst is over.
    pub fn end_burst(&mut self) {
        self.burst_left = 0;
    }
}

impl Sender {
    /// The rate at which segments leave; `None` without pacing.
    pub(super) fn pacing_rate_bps(&self) -> Option<u64> {
        let own = self.cc.pacing_rate_bps();
        match self.config.pacing {
            Pacing::Off => own,
            // `SO_MAX_PACING_RATE` bounds the rate at which Linux would pace.
            Pacing::Rate(limit) => {
                let rate = own.or_else(|| self.window_rate_bps());
                Some(rate.map_or(limit, |rate| rate.min(limit)))
            }
            Pacing::Window => own.or_else(|| self.window_rate_bps()),
        }
    }

    /// The window per smoothed round-trip time, times 2 below half of ssthresh and 1.2 above it
    /// (`tcp_update_pacing_rate`).
    fn window_rate_bps(&self) -> Option<u64> {
        let srtt = self.rto.srtt().filter(|srtt| srtt.0 > 0)?;
        let is_far_below = self.cc.ssthresh().is_none_or(|ssthresh| self.cwnd() < ssthresh / 2);
        let percent = if is_far_below { 200 } else { 120 };
        let window = u128::from(self.cwnd().max(self.board.flight_size()));
        Some((window * percent * 80_000_000 / srtt.0 as u128) as u64)
    }

    /// How much leaves at once: what goes in a millisecond, within the limits of segmentation
    /// offload (draft-ietf-ccwg-bbr-06 section 5.6.3).
    pub(super) fn quantum(&self, rate_bps: u64) -> u64 {
        let largest = u64::from(self.config.tso_max_bytes);
        volume(rate_bps, Nanos::MILLISECOND).max(2 * self.mss).min(largest).max(self.mss)
    }
}
