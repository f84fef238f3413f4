//! The delay of data on its way to the observer, above its least: the queues before the observer.
//!
//! The timestamp of a segment says when it was sent (RFC 7323 section 3). Its arrival less that
//! time is the one-way delay, but for a constant that nobody knows. The least such delay so far is
//! taken as that of empty queues, as LEDBAT does (RFC 6817 section 2.4.2). Unlike a round-trip
//! time it holds nothing of the way back, and no time in which a program had nothing to send.

use crate::flow::entry::Entry;
use crate::units::Nanos;

/// The clock of the sender's timestamps against that of the capture, and the least delay.
#[derive(Clone, Copy, Debug, Default)]
pub struct OneWay {
    /// Arrival and timestamp of the first segment.
    first: Option<(Nanos, u32)>,
    /// Length of a tick in ns; 0 while it is unknown.
    tick_ns: i64,
    /// The least difference of arrival and sending, against the first.
    base_ns: i64,
    /// The delay of the last segment above the least.
    last_ns: i64,
}

impl OneWay {
    /// New data arrives: its delay above the least so far, within a tick. `None` without
    /// timestamps, and as long as the length of their ticks is not known.
    #[inline(always)]
    pub fn data(&mut self, entry: &Entry) -> Option<Nanos> {
        if !entry.has_timestamps() {
            return None;
        }
        let (begin, tsval) = *self.first.get_or_insert((entry.ts, entry.tsval));
        let since = entry.ts.since(begin);
        // Of data that was overtaken it is less than the first.
        let ticks = i64::from(entry.tsval.wrapping_sub(tsval) as i32);
        if self.tick_ns == 0 {
            self.find_tick(since, ticks);
            return None;
        }
        let offset_ns = (since.0 - (since.0 >> DRIFT)).saturating_sub(ticks * self.tick_ns);
        self.base_ns = self.base_ns.min(offset_ns);
        let delay = Nanos(offset_ns.saturating_sub(self.base_ns));
        if delay >= LONGEST {
            // No queue lasts so long: a clock was set, or stood still.
            *self = OneWay::default();
            return None;
        }
        self.last_ns = delay.0;
        Some(delay)
    }

    /// The delay of the last segment above the least, less what may be the coarseness of the clock;
    /// `None` if nothing is left.
    #[inline(always)]
    pub fn queue(&self) -> Option<Nanos> {
        (self.last_ns > QUEUED_TICKS * self.tick_ns).then(|| Nanos(self.last_ns - self.tick_ns / 2))
    }

    /// Finds out how long a tick is, once enough time has passed.
    #[inline(always)]
    fn find_tick(&mut self, since: Nanos, ticks: i64) {
        if since >= LONG_ENOUGH {
            self.tick_ns = tick_ns(since.0 as f64 / ticks.max(1) as f64);
            if self.tick_ns == 0 {
                // No clock that is known: perhaps later, when a queue does not grow meanwhile.
                self.first = None;
            }
        }
    }
}

/// The tick that such a mean length is of, in ns; 0 if none. A queue that grows makes it longer.
#[cold]
#[inline(never)]
fn tick_ns(mean_ns: f64) -> i64 {
    let near = |tick: &i64| (mean_ns / *tick as f64).ln().abs() < NEAR.ln();
    TICKS_NS.into_iter().find(near).unwrap_or(0)
}

/// Delays above the least. Two can be added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Excess {
    /// How many.
    pub count: u32,
    /// Their sum in ns.
    pub sum_ns: u64,
    /// The least of them in ns; 0 of none.
    pub least_ns: u64,
}

impl Excess {
    /// Adds one.
    #[inline(always)]
    pub fn add(&mut self, delay: Nanos) {
        let ns = delay.0 as u64;
        self.least_ns = if self.count == 0 { ns } else { self.least_ns.min(ns) };
        self.count += 1;
        self.sum_ns += ns;
    }

    /// Adds those of another span.
    pub fn merge(&mut self, other: &Excess) {
        if other.count > 0 {
            self.least_ns =
                if self.count == 0 { other.least_ns } else { self.least_ns.min(other.least_ns) };
            self.count += other.count;
            self.sum_ns += other.sum_ns;
        }
    }

    /// Their mean in s; `None` of none.
    pub fn mean_s(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / f64::from(self.count) / 1e9)
    }

    /// The least in s; `None` of none.
    pub fn least_s(&self) -> Option<f64> {
        (self.count > 0).then_some(self.least_ns as f64 / 1e9)
    }
}

/// The base rises by this power of two, 15 in a million, since clocks drift apart as fast at most
/// (PHI of RFC 5905 section 7.1).
const DRIFT: u32 = 16;
/// Delays are below this.
const LONGEST: Nanos = Nanos(10 * Nanos::SECOND.0);
/// Time after which the length of a tick is clear.
const LONG_ENOUGH: Nanos = Nanos::SECOND;
/// Ticks of timestamp clocks in use: 1 ms (Linux since 4.13, Windows, BSD), 4 and 10 ms (Linux
/// before, by its HZ).
const TICKS_NS: [i64; 3] = [1_000_000, 4_000_000, 10_000_000];
/// Less than so many ticks are no measure of a queue.
const QUEUED_TICKS: i64 = 2;
/// A mean length within this factor is that of a tick; the next one is farther away.
const NEAR: f64 = 1.5;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::marks;

    /// Delays in ms of segments sent each 100 ms, which arrive so many ms late.
    fn delays(tick_ms: i64, late_ms: impl Fn(i64) -> i64, count: i64) -> Vec<Option<i64>> {
        let mut one_way = OneWay::default();
        (0..count)
            .map(|n| {
                let sent_ms = n * 100;
                let tsval = 4_000_000_000_u32.wrapping_add((sent_ms / tick_ms) as u32);
                let ts = Nanos::from_millis(sent_ms + late_ms(n));
                let entry = Entry { ts, tsval, marks: marks::TIMESTAMPS, ..Entry::default() };
                one_way.data(&entry).map(|delay| (delay.0 + 500_000) / 1_000_000)
            })
            .collect()
    }

    #[test]
    fn a_queue_shows_in_the_delay_of_data() {
        for tick_ms in [1, 4, 10] {
            // From a second on: 5 ms late, then by turns 45 and 5 ms.
            let found = delays(tick_ms, |n| 5 + 40 * i64::from(n > 20 && n % 2 == 1), 40);
            assert_eq!(found[..=10], [None; 11], "its tick is not known");
            assert!(found[11..20].iter().all(|&found| found == Some(0)));
            assert_eq!(found[21..25], [Some(40), Some(0), Some(40), Some(0)]);
        }
    }

    #[test]
    fn a_clock_that_nobody_has_gives_no_delay() {
        assert!(delays(2, |_| 0, 40).iter().all(Option::is_none));
        // A queue that grows as fast looks like it. The tick is found later, and what is queued by
        // then is not seen.
        let found = delays(1, |n| 90 * n.min(10), 40);
        assert!(found[..16].iter().all(Option::is_none));
        assert_eq!(found[16..], [Some(270); 24]);
    }

    #[test]
    fn a_queue_of_a_tick_or_two_may_be_the_clock() {
        let queue = |late_ms| {
            let mut one_way = OneWay::default();
            for n in 0..20 {
                let ts = Nanos::from_millis(n * 100 + i64::from(n == 19) * late_ms);
                let marks = marks::TIMESTAMPS;
                let entry = Entry { ts, tsval: n as u32 * 100, marks, ..Entry::default() };
                one_way.data(&entry);
            }
            one_way.queue()
        };
        assert_eq!((queue(0), queue(2)), (None, None));
        let rest = Nanos::from_millis(40).0 - queue(40).expect("a queue").0;
        assert!((450_000..600_000).contains(&rest), "half a tick, and the drift: {rest}");
    }

    #[test]
    fn clocks_may_drift_apart_and_jump() {
        // For an hour the capture's clock gains 10 in a million, 36 ms in all.
        let drifting = delays(1, |n| n / 1_000, 36_000);
        assert!(drifting[20..].iter().all(|&found| found < Some(2)), "a tick, and its rounding");
        // The sender sleeps for 20 s: all after that is measured anew.
        let slept = delays(1, |n| 20_000 * i64::from(n > 20), 60);
        assert_eq!((slept[21], slept[22], slept[59]), (None, None, Some(0)));
    }

    #[test]
    fn delays_of_two_spans_add_up() {
        let [mut one, mut two] = [Excess::default(); 2];
        one.add(Nanos(5_000_000));
        one.add(Nanos(1_000_000));
        two.merge(&one);
        two.merge(&Excess::default());
        assert_eq!((two.mean_s(), two.least_s()), (Some(0.003), Some(0.001)));
        assert_eq!(Excess::default().least_s(), None);
    }
}
