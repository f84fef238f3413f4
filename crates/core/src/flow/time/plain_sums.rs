//! What a run of plain data adds up to, until a sum is needed.

use super::sums::Sums;
use crate::flow::entry::Entry;
use crate::flow::path::one_way::Excess;
use crate::flow::table::pairs::UNIT;
use crate::maybe::Maybe;
use crate::units::{Nanos, float};
use crate::wire::flags;

/// Sums over full segments of new data that fall into the same window of scores.
#[derive(Clone, Copy, Debug)]
pub struct PlainSums {
    /// Segments.
    pub segments: u32,
    /// Payload of each.
    mss: u32,
    first: Nanos,
    first_headers_bytes: u32,
    headers_bytes: u64,
    /// What others sent before them, in [`UNIT`]s.
    others: u64,
    /// Segments with PSH.
    pub pushes: u32,
    /// Segments that a queue marked.
    pub ce_marks: u32,
    /// One-way delays above the least.
    pub excess: Excess,
    /// The largest flight size before the sender's view changed last.
    flight_max: u64,
    rwnd_sum: u64,
    rwnd_min: u64,
    rwnd_max: u64,
    rwnd_fall: u64,
    rwnd_limited: u32,
    /// What the sender knows: what is acknowledged, and where the window ends.
    view: (u64, u64),
    rwnd: u64,
    /// Data that ends above this leaves so little of the window that it limits.
    limited_above: u64,
}

impl PlainSums {
    /// None yet, of segments of `mss` bytes.
    pub fn new(mss: u32) -> PlainSums {
        PlainSums {
            segments: 0,
            mss,
            first: Nanos(0),
            first_headers_bytes: 0,
            headers_bytes: 0,
            others: 0,
            pushes: 0,
            ce_marks: 0,
            excess: Excess::default(),
            flight_max: 0,
            rwnd_sum: 0,
            rwnd_min: u64::MAX,
            rwnd_max: 0,
            rwnd_fall: 0,
            rwnd_limited: 0,
            view: (u64::MAX, u64::MAX),
            rwnd: 0,
            limited_above: 0,
        }
    }

    /// Adds a segment up to `end` by a sender with this view.
    #[inline(always)]
    pub fn add(&mut self, entry: &Entry, end: u64, view: (u64, u64)) {
        if view != self.view {
            self.turn(end - u64::from(self.mss), view);
        }
        if self.segments == 0 {
            (self.first, self.first_headers_bytes) = (entry.ts, entry.headers_len());
            (self.rwnd_min, self.rwnd_max, self.rwnd_fall) = (self.rwnd, self.rwnd, 0);
        }
        self.segments += 1;
        self.headers_bytes += u64::from(entry.headers_len());
        self.others += u64::from(entry.others);
        self.pushes += u32::from(entry.has(flags::PSH));
        self.ce_marks += u32::from(entry.ecn() == CONGESTION_EXPERIENCED);
        self.rwnd_sum += self.rwnd;
        self.rwnd_limited += u32::from(end > self.limited_above);
    }

    /// The sender has a new view, with data sent up to `next`.
    #[inline(always)]
    fn turn(&mut self, next: u64, view: (u64, u64)) {
        self.close(next);
        let (una, edge) = view;
        (self.view, self.rwnd) = (view, edge.saturating_sub(una));
        self.rwnd_min = self.rwnd_min.min(self.rwnd);
        self.rwnd_max = self.rwnd_max.max(self.rwnd);
        self.rwnd_fall = self.rwnd_fall.max(self.rwnd_max - self.rwnd);
        let room = headroom(self.rwnd, u64::from(self.mss));
        // A window smaller than that always limits.
        self.limited_above = if self.rwnd < room { 0 } else { una + (self.rwnd - room) };
    }

    /// Takes the flight size of data sent up to `next` under the present view.
    #[inline(always)]
    pub fn close(&mut self, next: u64) {
        if self.segments > 0 {
            self.flight_max = self.flight_max.max(next.saturating_sub(self.view.0));
        }
    }

    /// Starts anew under the same view.
    pub fn clear(&mut self) {
        let PlainSums { mss, view, rwnd, limited_above, .. } = *self;
        *self = PlainSums { view, rwnd, limited_above, ..PlainSums::new(mss) };
    }

    /// Their payload bytes, all of them seen for the first time.
    pub fn bytes(&self) -> u64 {
        u64::from(self.segments) * u64::from(self.mss)
    }

    /// The largest flight size, once closed.
    pub fn flight_max(&self) -> u64 {
        self.flight_max
    }

    /// The largest window.
    pub fn rwnd_max(&self) -> u64 {
        self.rwnd_max
    }

    /// Adds them to `sums`, but for what statistics have; the last was sent at `last`.
    pub fn add_to(&self, sums: &mut Sums, last: Option<Nanos>) {
        if !sums.first.is_known() {
            sums.first = self.first.into();
            sums.first_ip_bytes = u64::from(self.mss + self.first_headers_bytes);
        }
        sums.last = last.map_or_else(Maybe::default, Maybe::from);
        sums.data_packets += u64::from(self.segments);
        sums.payload_bytes += self.bytes();
        sums.others_bytes += self.others * UNIT;
        sums.unique_bytes += self.bytes();
        sums.ip_bytes += self.bytes() + self.headers_bytes;
        sums.flight_max = sums.flight_max.max(self.flight_max.into());
        sums.rwnd_known += u64::from(self.segments);
        // Whole numbers below 2^53: the order in which they are added does not matter.
        sums.rwnd_sum += float(self.rwnd_sum);
        sums.add_windows(self.rwnd_min, self.rwnd_max, self.rwnd_fall);
        sums.rwnd_limited += u64::from(self.rwnd_limited);
    }
}

/// Room in a window of `rwnd` bytes below which the sender counts as held back by it.
#[inline(always)]
pub fn headroom(rwnd: u64, mss: u64) -> u64 {
    (HEADROOM_SEGMENTS * mss).min(rwnd / 4).max(mss)
}

/// Segments of room below which the sender counts as held back by the window (Siekkinen et al.
/// 2008).
const HEADROOM_SEGMENTS: u64 = 3;
/// The ECN field of a packet that a queue marked (RFC 3168 section 5).
pub const CONGESTION_EXPERIENCED: u8 = 3;
