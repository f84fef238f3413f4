//! What was sent and lost since the first loss, and the flights that it is compared with.

use super::bucket::{Levels, Policer};
use super::burst::{Bursts, Density};
use super::episodes::{Episodes, Evenness};
use super::ledger::Codes;
use super::losses::{Pattern, Shape};
use super::policer::{Replaced, Trace};
use crate::flow::observer::{Data, Observer, RoundTrip};
use crate::flow::time::interval_stats::is_queued;
use crate::units::Nanos;

/// The losses of a direction.
#[derive(Debug, Default)]
pub struct LossHistory {
    flight_mean: f32,
    /// Made with the first loss.
    since_first: Option<Box<SinceFirst>>,
}

#[derive(Debug, Default)]
struct SinceFirst {
    trace: Trace,
    pattern: Pattern,
    bursts: Bursts,
    episodes: Episodes,
}

impl SinceFirst {
    #[inline(never)]
    fn sent_full(&mut self, ts: Nanos, start: u64, mss: u32, flight: u16) -> u8 {
        self.trace.sent(ts, mss);
        self.pattern.sent(start, flight, 1, 0, false);
        self.bursts.sent_full(ts, mss)
    }
}

impl LossHistory {
    /// Whether nothing was lost so far.
    pub fn is_empty(&self) -> bool {
        self.since_first.is_none()
    }

    /// Flight size against its mean over the last few hundred segments, in 256ths. Flows change, so
    /// that a flight is compared with its own time. `sent` counts the data packets before.
    #[inline(always)]
    pub fn relative_flight(&mut self, flight: u64, sent: u64) -> u16 {
        let flight = flight as i64 as f32;
        let begun = sent >= FLIGHT_MEMORY;
        let weight = if begun { 1.0 / FLIGHT_MEMORY as f32 } else { 1.0 / (sent + 1) as f32 };
        self.flight_mean += (flight - self.flight_mean) * weight;
        self.relative(flight)
    }

    /// Bytes in 256ths of the mean flight, which is a byte or more: of an observer that sees none
    /// in flight it would fall without end.
    fn relative(&self, bytes: f32) -> u16 {
        (bytes * 256.0 / self.flight_mean.max(1.0)) as u16
    }

    /// The bytes of a flight that is given in 256ths of the mean, which changes slowly.
    fn absolute(&self, relative: u16) -> f64 {
        f64::from(relative) / 256.0 * f64::from(self.flight_mean.max(1.0))
    }

    /// How densely was sent before a segment at `ts`.
    #[inline]
    pub fn codes(&self, ts: Nanos) -> Codes {
        self.since_first.as_ref().map(|since| since.bursts.codes(ts)).unwrap_or_default()
    }

    /// Takes a data segment: what it lost, and what was sent.
    #[inline(never)]
    fn take(&mut self, data: Data<'_>) {
        let (entry, filed, mss) = (data.entry, data.filed, data.mss.value());
        let part = self.relative(mss as f32);
        let before = self.relative(filed.lost_offset as f32);
        let rtt = data.rtt_before.rtt.zip(data.rtt.min);
        let excess = rtt.map(|(rtt, floor)| rtt - floor);
        let queued = rtt.is_some_and(|(rtt, floor)| is_queued(rtt, floor));
        let flight = filed.lost_flight.map(|relative| self.absolute(relative));
        let since = self.since_first.get_or_insert_default();
        since.trace.sent(entry.ts, entry.payload_len);
        since.bursts.sent(entry.ts, entry.payload_len, mss, data.is_new());
        if filed.loss_event {
            since.bursts.lost(filed, excess);
            since.episodes.add(filed.lost_at.unwrap_or(entry.ts), flight);
        }
        if data.is_new() {
            let parts = entry.payload_len.div_ceil(mss.max(1)).clamp(1, MAX_PARTS) as u16;
            let flight = data.relative_flight;
            since.pattern.sent(data.start, flight, parts, part, data.flight.repairing);
        }
        if let Some(lost) = filed.lost_at {
            let end = data.start + u64::from(entry.payload_len);
            let was_new = filed.seen_bytes > 0 && filed.lost_flight.is_some();
            let again = Replaced {
                ts: lost,
                len: filed.seen_bytes,
                behind: was_new.then(|| data.flight.next.saturating_sub(end)),
                is_first: filed.loss_event,
                queued,
            };
            since.trace.lost(entry.payload_len, &again);
            if queued {
                since.pattern.interrupt();
            } else if let Some(flight) = filed.lost_flight {
                let flight = flight.saturating_add(before);
                since.pattern.lost(
                    data.start,
                    flight,
                    filed.loss_event,
                    data.rtt_before.is_high,
                    mss,
                );
            }
        }
    }

    /// The same for plain data from `start` on, at this relative flight. Gives how densely was sent
    /// before it.
    #[inline(always)]
    pub fn take_plain(&mut self, ts: Nanos, start: u64, mss: u32, flight: u16) -> u8 {
        self.since_first.as_mut().map_or(0, |since| since.sent_full(ts, start, mss, flight))
    }

    /// How the losses lie that no queue explains.
    pub fn shape(&self) -> Option<Shape> {
        self.since_first.as_ref()?.pattern.shape()
    }

    /// Whether the losses meet the ends of dense bursts.
    pub fn density(&self) -> Option<Density> {
        self.since_first.as_ref()?.bursts.density()
    }

    /// How even the loss episodes are.
    pub fn evenness(&self) -> Option<Evenness> {
        self.since_first.as_ref()?.episodes.evenness()
    }

    /// What a token bucket would have held at the losses, as of the last test for a policer.
    pub fn levels(&self) -> Option<Levels> {
        self.since_first.as_ref()?.trace.levels()
    }

    /// The policer that the losses so far show.
    pub fn policer(&mut self, rtt: Nanos) -> Option<Policer> {
        self.since_first.as_mut()?.trace.verdict(rtt)
    }
}

impl Observer for LossHistory {
    /// Needed from the first loss on.
    #[inline(always)]
    fn on_data(&mut self, data: &Data<'_>) {
        if data.filed.loss_event || !self.is_empty() {
            self.take(*data);
        }
    }

    #[inline(always)]
    fn on_round_trip(&mut self, sample: &RoundTrip) {
        if let Some(since) = &mut self.since_first {
            since.bursts.delayed(sample.recent - sample.floor);
        }
    }
}

/// Segments of the largest super-packet (64 KiB of 1,448 bytes).
const MAX_PARTS: u32 = 46;
/// Segments over which flights are compared: a few rounds of most flows.
const FLIGHT_MEMORY: u64 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_flight_of_nothing_stays_a_number() {
        let mut history = LossHistory::default();
        history.relative_flight(1_000, 0);
        for sent in 1..100_000 {
            assert_eq!(history.relative_flight(0, sent), 0);
        }
        assert_eq!(history.absolute(256), 1.0, "a byte");
    }
}
