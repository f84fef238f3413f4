//! Quantities that the field confuses, as types that cannot be.

use std::ops::{Add, AddAssign, Sub};

/// A point or a span of time in nanoseconds. As a point: since the Unix epoch in a capture, since
/// the start in a simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub i64);

impl Nanos {
    /// The largest representable time.
    pub const MAX: Nanos = Nanos(i64::MAX);
    /// One second.
    pub const SECOND: Nanos = Nanos(1_000_000_000);
    /// One millisecond.
    pub const MILLISECOND: Nanos = Nanos(1_000_000);

    /// A span of `s` seconds, rounded to the nearest nanosecond.
    pub fn from_secs_f64(s: f64) -> Nanos {
        Nanos((s * 1e9).round() as i64)
    }

    /// A span of `ms` milliseconds.
    pub const fn from_millis(ms: i64) -> Nanos {
        Nanos(ms * 1_000_000)
    }

    /// A span of `us` microseconds.
    pub const fn from_micros(us: i64) -> Nanos {
        Nanos(us * 1_000)
    }

    /// This span in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The earliest and the latest time of a packet: the years 1896 and 2116. No span between two
    /// of them is too long for a number, even with some years more on either side.
    const READABLE: (Nanos, Nanos) = (Nanos(-(1 << 61)), Nanos(1 << 62));

    /// This point in time, or the nearest one that packets may have.
    pub fn readable(self) -> Nanos {
        self.clamp(Nanos::READABLE.0, Nanos::READABLE.1)
    }

    /// The difference to `earlier`, or zero if that lies in the future. Both are readable, or
    /// `earlier` is later than all that is: some twenty spans are taken for each segment, and none
    /// needs a check.
    #[inline]
    pub fn since(self, earlier: Nanos) -> Nanos {
        Nanos(self.0.max(earlier.0).wrapping_sub(earlier.0))
    }
}

impl Add for Nanos {
    type Output = Nanos;
    fn add(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Nanos) {
        *self = *self + other;
    }
}

impl Nanos {
    /// A round-trip time as far as the clock of the capture could show one: it takes longer than no
    /// time at all, so 0 is a clock with ticks longer than it.
    pub(crate) fn resolved(self) -> Option<Nanos> {
        (self > Nanos(0)).then_some(self)
    }
}

impl Sub for Nanos {
    type Output = Nanos;
    fn sub(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(other.0))
    }
}

/// Makes `most` at least `value`.
#[inline(always)]
pub(crate) fn raise(most: &mut Option<u64>, value: u64) {
    if most.is_none_or(|most| value > most) {
        *most = Some(value);
    }
}

/// A count as a floating-point number. Counts have 63 bits at most, and for these processors have
/// an instruction.
#[inline(always)]
pub(crate) fn float(count: u64) -> f64 {
    count as i64 as f64
}

/// A rate in bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct BitRate(pub f64);

impl BitRate {
    /// The rate that moves `bytes` in `span`; `None` when the span is not positive.
    pub fn of(bytes: u64, span: Nanos) -> Option<BitRate> {
        (span.0 > 0).then(|| BitRate(bytes as f64 * 8e9 / span.0 as f64))
    }
}

/// A 32-bit sequence number. It wraps, so it has no order, only a signed distance
/// (RFC 9293 section 3.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Seq(pub u32);

impl Seq {
    /// The signed distance from `other` to `self`, within half the sequence space.
    pub fn distance(self, other: Seq) -> i32 {
        self.0.wrapping_sub(other.0) as i32
    }
}

impl Add<u32> for Seq {
    type Output = Seq;
    fn add(self, bytes: u32) -> Seq {
        Seq(self.0.wrapping_add(bytes))
    }
}

/// Widens 32-bit sequence numbers of one direction to 64 bits, so that a flow of more than 4 GiB
/// keeps counting. Sequence number `origin` becomes [`Unwrap::BASE`].
#[derive(Clone, Copy, Debug)]
pub struct Unwrap {
    last: u64,
}

impl Unwrap {
    /// Where counting starts: room below for segments that are older than the first one seen.
    pub const BASE: u64 = 1 << 32;

    /// Starts at `origin`, usually the initial sequence number.
    pub fn new(origin: Seq) -> Unwrap {
        // Congruent to the 32-bit number modulo 2^32, so that widening is one subtraction.
        Unwrap { last: Unwrap::BASE + u64::from(origin.0) }
    }

    /// The 64-bit number nearest to the last one widened that is congruent to `seq`.
    #[inline]
    pub fn widen(&mut self, seq: Seq) -> u64 {
        let wide = self.peek(seq);
        if wide > self.last {
            self.last = wide;
        }
        wide
    }

    /// Moves the reference point up to a number that is known.
    #[inline]
    pub fn reach(&mut self, wide: u64) {
        self.last = self.last.max(wide);
    }

    /// Like [`Unwrap::widen`] without moving the reference point.
    #[inline]
    pub fn peek(&self, seq: Seq) -> u64 {
        let delta = i64::from(seq.distance(Seq(self.last as u32)));
        // Half the sequence space never leads below zero from `BASE`.
        self.last.wrapping_add_signed(delta)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequence_numbers_wrap() {
        assert_eq!(Seq(0).distance(Seq(u32::MAX)), 1);
        assert_eq!(Seq(u32::MAX).distance(Seq(0)), -1);
        assert_eq!(Seq(u32::MAX) + 2, Seq(1));
    }

    #[test]
    fn unwrapping_survives_many_wraps_and_old_segments() {
        let mut unwrap = Unwrap::new(Seq(4_000_000_000));
        let first = unwrap.widen(Seq(4_000_000_000));
        let mut wide = first;
        for step in 1..100u64 {
            let next =
                unwrap.widen(Seq(4_000_000_000u32.wrapping_add((step * 1_000_000_000) as u32)));
            assert_eq!(next - wide, 1_000_000_000);
            wide = next;
        }
        let old = unwrap.widen(Seq((wide - 1460) as u32));
        assert_eq!(wide - old, 1460);
        assert_eq!(unwrap.peek(Seq(wide as u32)), wide);
    }

    #[test]
    fn spans_of_readable_times_are_exact_and_none_is_negative() {
        let (first, last) = (Nanos(i64::MIN).readable(), Nanos(i64::MAX).readable());
        assert_eq!((first, last), Nanos::READABLE);
        assert_eq!(last.since(first).0, (1 << 62) + (1 << 61));
        let slack = Nanos(1 << 59);
        assert!((last + slack).since(first - slack) > last.since(first));
        assert_eq!(first.since(last), Nanos(0));
        assert_eq!(last.since(Nanos::MAX), Nanos(0));
        assert_eq!(Nanos(7).readable(), Nanos(7));
    }

    #[test]
    fn a_rate_takes_a_span() {
        let rate = BitRate::of(1_250_000, Nanos::SECOND).unwrap();
        assert_eq!(rate, BitRate(1e7));
        assert_eq!(BitRate::of(1, Nanos(0)), None);
    }
}
