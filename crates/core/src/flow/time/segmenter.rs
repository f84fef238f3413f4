//! Cutting a half into intervals and periods while it sends.

use crate::flow::time::clock::{WaitReason, WaitSpan};
use crate::flow::time::interval_stats::IntervalStats;
use crate::flow::time::period::{self, MERGE_DROP, Period, PeriodKind, Step};
use crate::flow::time::service::Service;
use crate::flow::time::sums::{Sums, Window};
use crate::units::Nanos;

/// The window of scores under way, and the interval and the period that it belongs to.
///
/// Segments are added to `window`. The ends of intervals and application-limited periods empty it
/// into the period, as the paper resets its sliding windows (IM 2021 section II.B). Full segments
/// in an application-limited period wait in `run`: three in a row begin a transfer, and then they
/// belong to it.
#[derive(Debug, Default)]
pub struct Segmenter {
    window: Window,
    /// Made with the first of an interval.
    run: Option<Box<Window>>,
    period: Window,
    period_start: Nanos,
    in_transfer: bool,
    /// Of the interval under way, before the period under way; made where one ended in it.
    interval: Option<Box<Sums>>,
    interval_start: Nanos,
    interval_alp: Nanos,
    /// The last periods that have ended: Merge may still join them.
    periods: Vec<Period>,
    /// End and data packets of the last one, before any merge.
    last: (Nanos, u64),
    /// How evenly the path serves it.
    service: Service,
    /// When the last period ends, once nothing but what the last interval holds is missing in it.
    end: Option<Nanos>,
    /// Intervals that have ended, to be reported.
    pub intervals: Vec<Interval>,
}

/// A periodic calculation.
#[derive(Debug)]
pub struct Interval {
    /// Begin.
    pub start: Nanos,
    /// End.
    pub end: Nanos,
    /// The kind of period that filled most of it.
    pub kind: PeriodKind,
    /// All that was sent in it, where that is more than `window`.
    whole: Option<Box<Sums>>,
    /// What was sent since its begin or since the last application limited period.
    pub window: Window,
}

impl Interval {
    /// All that was sent in it.
    pub fn sums(&self) -> &Sums {
        self.whole.as_deref().unwrap_or(&self.window.sums)
    }
}

/// The time of a segment, for what has to be cut there.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    /// Time of the segment.
    pub ts: Nanos,
    /// Length of an interval.
    pub interval: Nanos,
}

impl Segmenter {
    /// Begins at the first data segment; the intervals are those of the flow, from `flow_start` on.
    pub fn new(ts: Nanos, flow_start: Nanos, interval: Nanos) -> Segmenter {
        let whole = ts.since(flow_start).0 / interval.0;
        Segmenter {
            period_start: ts,
            interval_start: flow_start + Nanos(whole * interval.0),
            ..Segmenter::default()
        }
    }

    /// Begins anew like [`Segmenter::new`], in the same memory.
    pub fn renew(&mut self, ts: Nanos, flow_start: Nanos, interval: Nanos) {
        let stats = self.window.sums.stats.take().map(|mut stats| {
            *stats = IntervalStats::default();
            stats
        });
        let mut intervals = std::mem::take(&mut self.intervals);
        let mut periods = std::mem::take(&mut self.periods);
        intervals.clear();
        periods.clear();
        periods.shrink_to(KEPT_WHEN_RENEWED);
        *self = Segmenter { intervals, periods, ..Segmenter::new(ts, flow_start, interval) };
        self.window.sums.stats = stats;
    }

    /// Where the interval under way ends, when intervals are of this length.
    #[inline(always)]
    pub fn interval_end(&self, interval: Nanos) -> Nanos {
        self.interval_start + interval
    }

    /// Where the next segment is added.
    #[inline(always)]
    pub fn window(&mut self, full: bool) -> &mut Window {
        if self.in_transfer {
            return &mut self.window;
        }
        if full {
            return self.run.get_or_insert_default();
        }
        self.take_run();
        &mut self.window
    }

    /// Lets the full segments that wait belong to what is under way.
    #[inline]
    fn take_run(&mut self) {
        if let Some(run) = self.run.as_mut().filter(|run| run.sums.data_packets > 0) {
            self.window.take(run);
        }
    }

    /// The window that holds what was added last, for facts that come later.
    #[inline]
    pub fn late(&mut self) -> &mut Window {
        &mut self.window
    }

    /// Takes the time up to `now`: what Isolate decided, and whose time it was.
    #[inline(always)]
    pub fn pass(&mut self, step: Step, now: &Now, pieces: &[WaitSpan]) {
        if step == Step::Stay && now.ts.since(self.interval_start) < now.interval {
            for piece in pieces {
                self.charge(piece.reason, piece.end.since(piece.start));
            }
        } else {
            self.pass_end(step, *now, pieces);
        }
    }

    /// The same where a period or an interval may end.
    #[inline(never)]
    fn pass_end(&mut self, step: Step, now: Now, pieces: &[WaitSpan]) {
        // What follows a full segment is the pause; small packets alone begin with the last one.
        if let Step::Alp { start } | Step::Pause { start } = step
            && start < now.ts
        {
            self.switch(false, start);
        }
        if now.ts.since(self.interval_start) < now.interval {
            pieces.iter().for_each(|piece| self.charge(piece.reason, piece.end.since(piece.start)));
        } else {
            self.pass_intervals(&now, pieces);
        }
        match step {
            Step::Alp { start } if start >= now.ts => self.switch(false, start),
            Step::Stay | Step::Alp { .. } => {}
            Step::Transfer { start } => self.switch(true, start),
            Step::Pause { .. } => self.switch(true, now.ts),
        }
    }

    /// A sender that knew of nothing in flight sends again at `ts`.
    #[inline]
    pub fn begin_service(&mut self, ts: Nanos) {
        self.service.begin(ts);
    }

    /// Takes an acknowledgement of `bytes`; `repairing` tells whether a loss is being repaired.
    #[inline]
    pub fn acknowledged(&mut self, ts: Nanos, bytes: u64, repairing: bool) {
        if let Some(stats) = &mut self.window.sums.stats {
            stats.advances += 1;
            self.service.acknowledged(ts, bytes, repairing, &mut stats.served);
        }
    }

    #[inline]
    fn charge(&mut self, reason: WaitReason, time: Nanos) {
        self.late().sums.stats_mut().times.add(reason, time);
    }

    /// The same where intervals end in between.
    #[cold]
    fn pass_intervals(&mut self, now: &Now, pieces: &[WaitSpan]) {
        let mut ends = self.interval_ends(now);
        for piece in pieces {
            let mut start = piece.start;
            while let Some(end) = ends[0].filter(|&end| piece.end > end) {
                self.charge(piece.reason, end.since(start));
                self.end_interval(end);
                start = start.max(end);
                ends = [ends[1], None];
            }
            self.charge(piece.reason, piece.end.since(start));
        }
        ends.into_iter().flatten().for_each(|end| self.end_interval(end));
    }

    fn switch(&mut self, to_transfer: bool, at: Nanos) {
        let at = at.max(self.period_start);
        self.close_period(at);
        self.interval.get_or_insert_default().merge(&self.window.sums);
        self.period.take(&mut self.window);
        self.end_period(at);
        self.in_transfer = to_transfer;
        if to_transfer {
            self.take_run();
        }
    }

    /// Charges the time of the period under way, up to `at`, to the interval under way.
    fn close_period(&mut self, at: Nanos) {
        if !self.in_transfer {
            self.interval_alp += at.since(self.period_start.max(self.interval_start));
        }
    }

    fn end_period(&mut self, at: Nanos) {
        let period = std::mem::take(&mut self.period);
        self.last = (at, period.sums.data_packets);
        if at > self.period_start || period.sums.data_packets > 0 {
            if self.periods.len() == self.periods.capacity() {
                // Most halves have one or two, and they are large.
                self.periods.reserve_exact(1 + self.periods.len() / 2);
            }
            self.periods.push(Period::new(self.in_transfer, self.period_start, at, period));
        }
        self.period_start = at;
    }

    /// Whether intervals have ended, or so many periods that some have to settle.
    #[inline]
    pub fn has_ended_some(&self) -> bool {
        !self.intervals.is_empty() || self.periods.len() >= MAX_PERIODS
    }

    /// The periods, to be given back, and how many of the first are final. Too many are left after
    /// Merge, and later ones hardly ever reach the oldest. None if there is room.
    pub fn crowded_periods(&mut self) -> Option<(Vec<Period>, usize)> {
        if self.periods.len() < MAX_PERIODS {
            return None;
        }
        let periods = period::merge(std::mem::take(&mut self.periods), MERGE_DROP);
        let done = periods.len().saturating_sub(KEPT_PERIODS);
        Some((periods, done))
    }

    /// Takes the periods back that Merge may still join.
    pub fn keep_periods(&mut self, periods: Vec<Period>) {
        self.periods = periods;
    }

    /// The periods that are left at the end, merged.
    pub fn last_periods(&mut self) -> Vec<Period> {
        period::merge(std::mem::take(&mut self.periods), MERGE_DROP)
    }

    /// Where intervals end up to now. Whole ones without a segment become one row.
    #[inline]
    fn interval_ends(&self, now: &Now) -> [Option<Nanos>; 2] {
        let over = now.ts.since(self.interval_start);
        if over < now.interval {
            return [None; 2];
        }
        let first = self.interval_start + now.interval;
        let idle = over.0 / now.interval.0 - 1;
        [Some(first), (idle > 0).then(|| first + Nanos(idle * now.interval.0))]
    }

    fn end_interval(&mut self, end: Nanos) {
        let interval = self.cut_interval(end);
        self.period.take(&mut interval.window.clone());
        self.add_interval(interval);
    }

    /// What was sent in the interval that ends at `end`. Its window goes to the period as well.
    fn cut_interval(&mut self, end: Nanos) -> Interval {
        self.take_run();
        // Most that go on are within a transfer by now.
        self.run = None;
        let mut alp = std::mem::take(&mut self.interval_alp);
        if !self.in_transfer {
            alp += end.since(self.period_start.max(self.interval_start));
        }
        let mut whole = self.interval.take();
        whole.iter_mut().for_each(|whole| whole.merge(&self.window.sums));
        let length = end.since(self.interval_start);
        let kind = if 2 * alp.0 > length.0 {
            PeriodKind::Alp
        } else {
            let so_far = self.period.sums.data_packets + self.window.sums.data_packets;
            PeriodKind::of_transfer(so_far.max(self.last_transfer_packets()))
        };
        let window = std::mem::take(&mut self.window);
        let start = std::mem::replace(&mut self.interval_start, end);
        Interval { start, end, kind, whole, window }
    }

    fn add_interval(&mut self, interval: Interval) {
        // One at a time, mostly, and a vector would begin with room for four.
        self.intervals.reserve_exact(1);
        self.intervals.push(interval);
    }

    /// Packets of the transfer that ended within this interval, when one did.
    fn last_transfer_packets(&self) -> u64 {
        let (end, packets) = self.last;
        if !self.in_transfer && end > self.interval_start { packets } else { 0 }
    }

    /// Ends everything at `end`, the time of the last data segment. The last period ends when the
    /// intervals come back.
    pub fn finish(&mut self, end: Nanos, interval: Nanos) {
        let now = Now { ts: end, interval };
        self.pass(Step::Stay, &now, &[]);
        self.take_run();
        if end > self.interval_start || self.window.sums.data_packets > 0 {
            let last = self.cut_interval(end.max(self.interval_start));
            self.add_interval(last);
            self.end = Some(end);
        } else {
            self.period.take(&mut self.window);
            self.end_period(end.max(self.period_start));
        }
    }

    /// Takes judged intervals back. The last one at the end leaves what it holds to the last
    /// period: most flows have one of each, and nothing is copied.
    pub fn take_back(&mut self, mut intervals: Vec<Interval>) {
        let Some(end) = self.end.take() else { return };
        if let Some(mut last) = intervals.pop() {
            self.period.take(&mut last.window);
        }
        self.end_period(end.max(self.period_start));
        intervals.clear();
        self.intervals = intervals;
    }

    /// Keeps what a flow that has ended leaves, for the next one.
    pub fn keep_for_next(&mut self, periods: Vec<Period>, stats: Option<Box<IntervalStats>>) {
        self.keep_periods(periods);
        self.window.sums.stats = stats;
    }
}

/// Periods that wait for others to be merged with, some 500 bytes each. Programs that pause have
/// thousands, and most flows do.
const MAX_PERIODS: usize = 10;
/// Periods that Merge may still join when others are final.
const KEPT_PERIODS: usize = 4;
/// Periods that the next flow in the same memory has room for: few have more at first.
const KEPT_WHEN_RENEWED: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_last_interval_holds_moves_to_the_last_period() {
        let (begin, end, interval) = (Nanos(0), Nanos::from_millis(500), Nanos(3_000_000_000));
        let mut segmenter = Segmenter::new(begin, begin, interval);
        let sums = &mut segmenter.window(false).sums;
        sums.data_packets = 4;
        sums.stats_mut().segments = 4;
        segmenter.finish(end, interval);
        let intervals = std::mem::take(&mut segmenter.intervals);
        let seen: *const IntervalStats = intervals[0].sums().stats.as_deref().expect("made");
        segmenter.take_back(intervals);
        let [period] = &segmenter.last_periods()[..] else { panic!("one period") };
        assert_eq!((period.sums.data_packets, period.end), (4, end));
        assert!(std::ptr::eq(period.sums.stats.as_deref().expect("moved"), seen), "it was copied");
        assert!(segmenter.intervals.capacity() > 0, "room for the next flow");
    }
}
