//! Periods of a half: Isolate while it sends, Merge when it ended (Siekkinen et al. 2007).

use crate::flow::time::gaps::PackedGaps;
use crate::flow::time::sums::{Sums, Window};
use crate::units::Nanos;

/// Kinds of periods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PeriodKind {
    /// Application limited: nothing, or not enough, to send.
    Alp,
    /// Short transfer: fewer than 130 packets.
    Stp,
    /// Bulk transfer.
    Btp,
}

impl PeriodKind {
    /// The word in the tables.
    pub fn name(self) -> &'static str {
        match self {
            PeriodKind::Alp => "ALP",
            PeriodKind::Stp => "STP",
            PeriodKind::Btp => "BTP",
        }
    }

    /// The kind of a transfer of `data_packets`.
    pub fn of_transfer(data_packets: u64) -> PeriodKind {
        if data_packets >= BTP_MIN_PACKETS { PeriodKind::Btp } else { PeriodKind::Stp }
    }
}

/// A period that has ended.
#[derive(Clone, Debug)]
pub struct Period {
    /// Application limited or a transfer of either size.
    pub kind: PeriodKind,
    /// Begin.
    pub start: Nanos,
    /// End, the start of the next one.
    pub end: Nanos,
    /// What was sent in it.
    pub sums: Sums,
    /// Gaps between its segments.
    pub gaps: PackedGaps,
    /// How many periods Merge joined into it.
    pub merged: u32,
    /// Product of the ratios at which it was merged: what earlier merges cost already.
    ratio: f64,
}

impl Period {
    /// A period from `start` to `end` with what `window` holds.
    pub fn new(transfer: bool, start: Nanos, end: Nanos, window: Window) -> Period {
        let kind = if transfer {
            PeriodKind::of_transfer(window.sums.data_packets)
        } else {
            PeriodKind::Alp
        };
        let (gaps, sums) = (window.packed(), window.sums);
        Period { kind, start, end, sums, gaps, merged: 1, ratio: 1.0 }
    }

    /// The period's sums and gaps as a window.
    pub fn window(&self) -> Window {
        Window { sums: self.sums.clone(), gaps: self.gaps.unpack().map(Box::new) }
    }

    fn duration(&self) -> Nanos {
        self.end.since(self.start)
    }

    /// What merging this one with the next two keeps of the throughput of the transfers alone.
    /// `None` unless those are an application-limited one and a transfer, or if it is below the
    /// share `drop`.
    fn merge_ratio(&self, alp: &Period, next: &Period, drop: f64) -> Option<f64> {
        let is_transfer = |period: &Period| period.kind != PeriodKind::Alp;
        if !is_transfer(self) || is_transfer(alp) || !is_transfer(next) {
            return None;
        }
        let bytes = |period: &Period| period.sums.unique_bytes as f64;
        // The transfer time of a merged period counts only as far as merging has not spent it.
        let busy = |period: &Period| period.duration().0 as f64 * period.ratio;
        let transfer = (bytes(self) + bytes(next)) / (busy(self) + busy(next));
        let joined_time = next.end.since(self.start).0 as f64;
        let joined = (bytes(self) + bytes(alp) + bytes(next)) / joined_time;
        let ratio = joined / transfer;
        (ratio >= drop).then_some(ratio)
    }

    /// This one and the next two as one.
    fn merge(&self, alp: &Period, next: &Period, ratio: f64) -> Period {
        let mut window = self.window();
        window.take(&mut alp.window());
        window.take(&mut next.window());
        let merged = self.merged + alp.merged + next.merged;
        Period { merged, ratio: ratio.min(1.0), ..Period::new(true, self.start, next.end, window) }
    }
}

/// Merges transfers over short application limited periods until nothing changes.
pub fn merge(mut periods: Vec<Period>, drop: f64) -> Vec<Period> {
    loop {
        let merges = |trio: &[Period]| trio[0].merge_ratio(&trio[1], &trio[2], drop).is_some();
        if !periods.windows(3).any(merges) {
            return periods;
        }
        let mut out: Vec<Period> = Vec::with_capacity(periods.len());
        for period in periods {
            let joined = match out.as_slice() {
                [.., before, alp] => before
                    .merge_ratio(alp, &period, drop)
                    .map(|ratio| before.merge(alp, &period, ratio)),
                _ => None,
            };
            if let Some(joined) = joined {
                out.truncate(out.len() - 2);
                out.push(joined);
            } else {
                out.push(period);
            }
        }
        periods = out;
    }
}

/// What a data segment does to the division into periods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The period goes on.
    Stay,
    /// A transfer began with the run of full segments that this one completes.
    Transfer {
        /// When the first of the run was sent.
        start: Nanos,
    },
    /// The application had run out of data.
    Alp {
        /// When the sender fell silent, or sent its last full segments.
        start: Nanos,
    },
    /// The application had run out of data, and went on at once with a transfer.
    Pause {
        /// When the sender fell silent.
        start: Nanos,
    },
}

/// What Isolate has to know of the gap before a segment.
#[derive(Clone, Copy, Debug)]
pub struct Before {
    /// How long nothing had held the sender back: window left and no loss being repaired.
    pub free: Nanos,
    /// How long, besides, everything had been acknowledged.
    pub drained: Nanos,
    /// Idle time that counts: max(RTT, 10 ms).
    pub idle: Nanos,
}

/// The Isolate automaton of one half, fed with new data only.
#[derive(Clone, Copy, Debug, Default)]
pub struct Isolate {
    transfer: bool,
    full_run: u32,
    run_start: Nanos,
    /// The last packets, one bit each: 1 is small. The newest is the lowest.
    smalls: u16,
    seen: u8,
    last: Option<(Nanos, bool)>,
}

impl Isolate {
    /// A segment of `full` full packets, and a small one if `small`.
    #[inline(always)]
    pub fn segment(&mut self, ts: Nanos, full: u32, small: bool, before: Before) -> Step {
        let mut step = Step::Stay;
        if let Some((last, last_small)) = self.last.filter(|_| self.transfer) {
            let silent = last_small && ts.since(last).min(before.free) > before.idle;
            if silent || before.drained > before.idle {
                step = Step::Alp { start: last };
                self.enter_alp();
            }
        }
        self.full_packets(ts, full.min(WINDOW));
        if small {
            self.small_packet();
        }
        if self.transfer {
            if self.smalls & NEWEST != 0
                && u32::from(self.seen) >= WINDOW
                && (self.smalls & NEWEST).count_ones() >= SMALL_PACKETS
            {
                step = Step::Alp { start: ts };
                self.enter_alp();
            }
        } else if self.full_run >= FULL_PACKETS {
            self.transfer = true;
            step = match step {
                Step::Alp { start } => Step::Pause { start },
                _ => Step::Transfer { start: self.run_start },
            };
        }
        self.last = Some((ts, small));
        step
    }

    /// Whether a transfer goes on in which no small packet counts: full ones are only counted.
    #[inline(always)]
    pub fn is_steady(&self) -> bool {
        let last_is_full = matches!(self.last, Some((_, false)));
        self.transfer && self.smalls & NEWEST == 0 && self.full_run > 0 && last_is_full
    }

    /// Counts full packets of a steady transfer, of which the last was sent at `ts`.
    pub fn count_steady(&mut self, ts: Nanos, count: u32) {
        self.full_packets(ts, count);
        self.last = Some((ts, false));
    }

    fn full_packets(&mut self, ts: Nanos, count: u32) {
        if self.full_run == 0 {
            self.run_start = ts;
        }
        self.full_run += count;
        self.smalls = self.smalls.checked_shl(count).unwrap_or(0);
        self.seen = self.seen.saturating_add(count.min(u32::from(u8::MAX)) as u8);
    }

    fn small_packet(&mut self) {
        self.full_run = 0;
        self.smalls = self.smalls << 1 | 1;
        self.seen = self.seen.saturating_add(1);
    }

    fn enter_alp(&mut self) {
        self.transfer = false;
        self.full_run = 0;
        self.smalls = 0;
        self.seen = 0;
    }
}

/// Packets of a bulk transfer period (Siekkinen et al. 2008; IM 2021 section II.A).
pub const BTP_MIN_PACKETS: u64 = 130;
/// Share of the throughput that a merge must keep (algorithms 6).
pub const MERGE_DROP: f64 = 0.9;
/// Full packets in a row that end an application limited period.
const FULL_PACKETS: u32 = 3;
/// An application limited period begins when half of the last ten packets are small.
const WINDOW: u32 = 10;
const SMALL_PACKETS: u32 = 5;
/// The bits of those ten.
const NEWEST: u16 = (1 << WINDOW) - 1;

#[cfg(test)]
mod tests {
    use super::*;

    const IDLE: Before =
        Before { free: Nanos(i64::MAX), drained: Nanos(0), idle: Nanos(100_000_000) };

    fn ms(ms: i64) -> Nanos {
        Nanos::from_millis(ms)
    }

    #[test]
    fn three_full_segments_begin_a_transfer_and_silence_after_a_small_one_ends_it() {
        let mut isolate = Isolate::default();
        assert_eq!(isolate.segment(ms(0), 1, false, IDLE), Step::Stay);
        assert_eq!(isolate.segment(ms(1), 1, false, IDLE), Step::Stay);
        assert_eq!(isolate.segment(ms(2), 1, false, IDLE), Step::Transfer { start: ms(0) });
        assert_eq!(isolate.segment(ms(3), 0, true, IDLE), Step::Stay);
        assert_eq!(isolate.segment(ms(104), 1, false, IDLE), Step::Alp { start: ms(3) });
        assert!(!isolate.transfer);
    }

    #[test]
    fn silence_while_something_holds_the_sender_back_is_not_the_application() {
        let mut isolate = Isolate::default();
        isolate.segment(ms(0), 3, true, IDLE);
        let held = Before { free: Nanos(0), ..IDLE };
        assert_eq!(isolate.segment(ms(900), 1, false, held), Step::Stay);
    }

    #[test]
    fn many_small_packets_end_a_transfer_without_silence() {
        let mut isolate = Isolate::default();
        let steps: Vec<Step> = (0..12).map(|i| isolate.segment(ms(i), 1, i >= 6, IDLE)).collect();
        assert_eq!(steps[2], Step::Transfer { start: ms(0) });
        assert_eq!(steps[10], Step::Alp { start: ms(10) }, "{steps:?}");
    }

    #[test]
    fn a_short_pause_is_merged_and_a_long_one_is_not() {
        let transfer = |start: i64, end: i64| {
            let sums = Sums {
                data_packets: 100,
                unique_bytes: (end - start) as u64 * 1_000,
                ..Sums::default()
            };
            Period::new(true, ms(start), ms(end), Window { sums, gaps: None })
        };
        let pause = |start, end| Period::new(false, ms(start), ms(end), Window::default());
        let periods = vec![
            transfer(0, 1_000),
            pause(1_000, 1_050),
            transfer(1_050, 2_000),
            pause(2_000, 4_000),
            transfer(4_000, 5_000),
        ];
        let merged = merge(periods, MERGE_DROP);
        let kinds: Vec<&str> = merged.iter().map(|period| period.kind.name()).collect();
        assert_eq!(kinds, ["BTP", "ALP", "STP"]);
        assert_eq!(merged[0].merged, 3);
        assert_eq!(merged[0].sums.data_packets, 200);
    }
}
