//! When the next segment may leave, if the rate is bounded.

use super::config::Pacing;
use super::send::Departure;
use super::sender::Sender;
use super::super_segment::SuperSegment;
use crate::cc::delivery_rate::volume;
use crate::endpoint::Kind;
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
    pub(super) fn window_rate_bps(&self) -> Option<u64> {
        let srtt = self.rto.srtt().filter(|srtt| srtt.0 > 0)?;
        let is_far_below = self.cc.ssthresh().is_none_or(|ssthresh| self.cwnd() < ssthresh / 2);
        let percent = if is_far_below { 200 } else { 120 };
        let window = u128::from(self.cwnd().max(self.board.flight_size()));
        Some((window * percent * 80_000_000 / srtt.0 as u128) as u64)
    }

    /// Whether the segment that has just left at `now` is the last of a super-segment.
    pub(super) fn ends_super_segment(&mut self, now: Nanos, departure: &Departure) -> bool {
        if departure.kind != Kind::New {
            self.super_segment = SuperSegment::default();
            return false;
        }
        let rate_bps = self.pacing_rate_bps().or_else(|| self.window_rate_bps());
        let most = self.quantum(rate_bps.unwrap_or(u64::MAX)) / self.mss.max(1);
        let goes_on = departure.payload >= self.mss && self.another_leaves(now);
        self.super_segment.on_sent(now, most, goes_on)
    }

    /// Whether another new segment leaves at once.
    fn another_leaves(&self, now: Nanos) -> bool {
        let is_held = self.pacing_rate_bps().is_some() && self.pacer.release(now).is_err();
        let (used, window) = self.usage_and_window();
        !is_held && self.new_data(|| 0).is_ok_and(|next| used + next.payload <= window)
    }

    /// How much leaves at once: what goes in a millisecond, within the limits of segmentation
    /// offload (draft-ietf-ccwg-bbr-06 section 5.6.3). Close peers get more, since bursts cost them
    /// less: Linux halves this share of the largest burst every 512 µs of round trip
    /// (`tcp_tso_autosize`, `tcp_tso_rtt_log`).
    pub(super) fn quantum(&self, rate_bps: u64) -> u64 {
        let largest = u64::from(self.config.tso_max_bytes);
        let halvings = self.rto.min_rtt().map_or(u64::MAX, |rtt| rtt.0 as u64 / 512_000);
        let close = largest.checked_shr(halvings.min(63) as u32).unwrap_or(0);
        let bytes = volume(rate_bps, Nanos::MILLISECOND).saturating_add(close);
        let segments = bytes.min(largest) / self.mss.max(1);
        segments.max(if largest < 2 * self.mss { 1 } else { 2 }) * self.mss
    }
}
