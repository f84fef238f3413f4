//! The sender's view of acknowledgements and windows, from wherever the observer stands.
//!
//! An acknowledgement that passes the observer at `t` can influence data that passes it no earlier
//! than `t + tau`, where `tau` is the delay from the observer to the sender and back. Holding every
//! acknowledgement back for that long gives what the sender knew when it sent a segment, without
//! any assumption that both ways take equally long. A timestamp echo proves earlier that the sender
//! had it: every acknowledgement whose tsval is not after a segment's tsecr was known when that was
//! sent.

use super::entry::Entry;
use crate::units::Nanos;
use std::collections::VecDeque;

/// What the sender knew when it sent a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// Lowest unacknowledged byte.
    pub una: u64,
    /// After the last byte that the receiver's window allows; `None` when the scale is unknown.
    pub edge: Option<u64>,
}

/// Acknowledgements on their way to the sender, and what has reached it.
#[derive(Debug)]
pub struct SenderView {
    coming: VecDeque<Coming>,
    /// As [`Known`] has them, or [`UNKNOWN`].
    una: u64,
    edge: u64,
    closed: bool,
    shrinks: u8,
    overflow: u64,
    /// What the sender sent last, and what a full segment takes.
    next: u64,
    mss: u32,
    blocked_since: Option<Nanos>,
    blocked: Nanos,
}

#[derive(Clone, Copy, Debug)]
struct Coming {
    due: Nanos,
    una: u64,
    /// Or [`UNKNOWN`].
    edge: u64,
    tsval: u32,
    has_timestamps: bool,
    closed: bool,
}

impl Default for SenderView {
    fn default() -> SenderView {
        SenderView {
            coming: VecDeque::new(),
            una: UNKNOWN,
            edge: UNKNOWN,
            closed: false,
            shrinks: 0,
            overflow: 0,
            next: 0,
            mss: 0,
            blocked_since: None,
            blocked: Nanos(0),
        }
    }
}

impl SenderView {
    /// An acknowledgement passes the observer; it takes effect after `tau`.
    #[inline(always)]
    pub fn acknowledgement(&mut self, entry: &Entry, una: u64, rwnd: Option<u64>, tau: Nanos) {
        let edge = rwnd.map_or(UNKNOWN, |rwnd| una + rwnd);
        let newest = self.coming.back().map_or((self.una, self.edge), |ack| (ack.una, ack.edge));
        if newest == (una, edge) && entry.window_raw != 0 {
            // Nothing new: the other side's data repeats the same acknowledgement.
            return;
        }
        while self.coming.front().is_some_and(|front| front.due <= entry.ts) {
            self.release_front(entry.ts);
        }
        if self.coming.len() >= MOST_COMING {
            self.overflow += 1;
            self.release_front(entry.ts);
        }
        self.coming.push_back(Coming {
            due: entry.ts + tau,
            una,
            edge,
            tsval: entry.tsval,
            has_timestamps: entry.has_timestamps(),
            closed: entry.window_raw == 0,
        });
    }

    /// What the sender of `entry` knew. `None` before the first acknowledgement reached it.
    #[inline(always)]
    pub fn at(&mut self, entry: &Entry) -> Option<Known> {
        while let Some(front) = self.coming.front() {
            let echoed = front.has_timestamps
                && entry.has_timestamps()
                && entry.tsecr.wrapping_sub(front.tsval) as i32 >= 0;
            if front.due > entry.ts && !echoed {
                break;
            }
            self.release_front(entry.ts);
        }
        let edge = (self.edge != UNKNOWN).then_some(self.edge);
        (self.una != UNKNOWN).then_some(Known { una: self.una, edge })
    }

    /// The sender has sent up to `next` at `ts`; whether the window now lets it send more decides
    /// whose time it is that passes from here on.
    #[inline(always)]
    pub fn sent(&mut self, ts: Nanos, next: u64, mss: u32) {
        self.open(ts);
        (self.next, self.mss) = (next, mss);
        if self.is_full() {
            self.blocked_since = Some(ts);
        }
    }

    #[inline(always)]
    fn is_full(&self) -> bool {
        // An unknown edge is above all others.
        self.closed || self.edge < self.next + u64::from(self.mss)
    }

    #[inline(always)]
    fn open(&mut self, at: Nanos) {
        if let Some(since) = self.blocked_since.take() {
            self.blocked += at.since(since);
        }
    }

    /// Time in which the window left no room for a full segment, since the last call.
    pub fn take_blocked(&mut self) -> Nanos {
        std::mem::take(&mut self.blocked)
    }

    fn release_front(&mut self, now: Nanos) {
        let Some(ack) = self.coming.pop_front() else { return };
        self.una = if self.una == UNKNOWN { ack.una } else { self.una.max(ack.una) };
        if ack.edge < self.edge && self.edge != UNKNOWN {
            // The right edge does not retreat (RFC 9293 section 3.8.6) unless the receiver says so
            // twice: once may be an acknowledgement that was overtaken.
            self.shrinks += 1;
            if self.shrinks >= 2 {
                self.edge = ack.edge;
                self.shrinks = 0;
            }
        } else if ack.edge != UNKNOWN {
            self.edge = ack.edge;
            self.shrinks = 0;
        }
        self.closed = ack.closed;
        if self.blocked_since.is_some() && !self.is_full() {
            self.open(ack.due.min(now));
        }
    }

    /// Acknowledgements that took effect early since too many were under way.
    pub fn overflow(&self) -> u64 {
        self.overflow
    }
}

/// In place of a number in the wide sequence space, which never gets there.
const UNKNOWN: u64 = u64::MAX;
/// A round trip of acknowledgements at 100,000 a second and 100 ms is 10,000.
const MOST_COMING: usize = 16_384;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::marks;

    fn entry(ts: i64, tsval: u32, tsecr: u32) -> Entry {
        let ts = Nanos::from_millis(ts);
        let marks = marks::TIMESTAMPS;
        Entry { ts, tsval, tsecr, marks, window_raw: 1, ..Entry::default() }
    }

    #[test]
    fn acknowledgements_take_effect_after_the_way_to_the_sender_and_back() {
        let mut view = SenderView::default();
        let tau = Nanos::from_millis(10);
        view.acknowledgement(&entry(0, 50, 0), 1_000, Some(5_000), tau);
        view.acknowledgement(&entry(5, 55, 0), 2_000, Some(5_000), tau);
        assert_eq!(view.at(&entry(9, 0, 49)), None);
        assert_eq!(view.at(&entry(10, 0, 50)), Some(Known { una: 1_000, edge: Some(6_000) }));
        assert_eq!(view.at(&entry(11, 0, 55)).map(|known| known.una), Some(2_000), "echoed");
    }

    #[test]
    fn time_counts_as_the_windows_while_no_full_segment_fits() {
        let mut view = SenderView::default();
        let tau = Nanos::from_millis(10);
        view.acknowledgement(&entry(0, 0, 0), 0, Some(3_000), tau);
        view.at(&entry(20, 0, 0));
        view.sent(Nanos::from_millis(20), 1_000, 1_000);
        view.sent(Nanos::from_millis(21), 2_500, 1_000);
        view.acknowledgement(&entry(40, 0, 0), 2_500, Some(3_000), tau);
        view.at(&entry(70, 0, 0));
        view.sent(Nanos::from_millis(70), 3_500, 1_000);
        assert_eq!(view.take_blocked(), Nanos::from_millis(50 - 21));
    }

    #[test]
    fn the_right_edge_retreats_only_when_told_twice() {
        let mut view = SenderView::default();
        let edges: Vec<u64> = [(0, 9_000), (1_000, 7_000), (2_000, 6_000), (3_000, 9_000)]
            .into_iter()
            .enumerate()
            .map(|(i, (una, rwnd))| {
                view.acknowledgement(&entry(i as i64, 0, 0), una, Some(rwnd), Nanos(0));
                view.at(&entry(i as i64, 0, 0)).unwrap().edge.unwrap()
            })
            .collect();
        assert_eq!(edges, [9_000, 9_000, 8_000, 12_000]);
    }
}
