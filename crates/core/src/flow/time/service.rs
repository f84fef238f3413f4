//! How evenly the path serves a direction: what is acknowledged in spans of four lengths, while
//! data is outstanding and nothing is repaired. A link of fixed rate serves a queue evenly at all
//! lengths. Cross traffic, aggregated frames and rates that walk show at theirs.

use crate::flow::time::moments::Moments;
use crate::units::{Nanos, float};

/// The spans under way.
#[derive(Clone, Debug, Default)]
pub struct Service {
    /// Number of the shortest span.
    number: u64,
    /// Bytes acknowledged in the span of each length.
    bytes: [u64; LENGTHS],
    /// The newest acknowledgement of new data.
    last: Nanos,
    /// Spans that begin before are not the path's alone.
    disturbed: Nanos,
}

/// What was acknowledged in spans of each length, in bytes. Those of two times can be added.
#[derive(Clone, Debug, Default)]
pub struct Served {
    /// By length.
    pub spans: [Moments; LENGTHS],
    /// Spans of the second length without an acknowledgement.
    pub empty: u32,
    /// Gaps between acknowledgements of new data, in ns,
    pub gaps: Moments,
    /// and the longest.
    pub gap_most: Nanos,
}

impl Served {
    /// Adds what came later.
    pub fn merge(&mut self, later: &Served) {
        for (mine, theirs) in self.spans.iter_mut().zip(&later.spans) {
            mine.merge(theirs);
        }
        self.empty += later.empty;
        self.gaps.merge(&later.gaps);
        self.gap_most = self.gap_most.max(later.gap_most);
    }
}

impl Service {
    /// A sender that knew of nothing in flight sends again at `ts`.
    #[inline]
    pub fn begin(&mut self, ts: Nanos) {
        self.disturbed = ts;
    }

    /// `bytes` were acknowledged at `ts`; `repairing` tells whether a loss is being repaired.
    #[inline(always)]
    pub fn acknowledged(
        &mut self,
        ts: Nanos,
        bytes: u64,
        repairing: bool,
        served: &mut Option<Box<Served>>,
    ) {
        if repairing || ts < self.last || self.last == Nanos(0) {
            self.disturbed = ts;
        } else if self.disturbed <= self.last {
            let served = served.get_or_insert_default();
            let gap = ts.since(self.last);
            served.gaps.add(gap.0 as f64);
            served.gap_most = served.gap_most.max(gap);
        }
        let number = number_of(ts);
        if number != self.number {
            self.end_spans(number, served);
        }
        self.bytes.iter_mut().for_each(|span| *span += bytes);
        self.last = ts;
    }

    fn end_spans(&mut self, number: u64, served: &mut Option<Box<Served>>) {
        let (mut before, mut now, mut shift) = (self.number, number, SHORTEST_SHIFT);
        for (length, bytes) in self.bytes.iter_mut().enumerate() {
            if before == now {
                break;
            }
            let bytes = std::mem::take(bytes);
            if now > before && (before << shift) as i64 >= self.disturbed.0 {
                let served = served.get_or_insert_default();
                served.spans[length].add(float(bytes));
                let empty = u32::try_from(now - before - 1).unwrap_or(u32::MAX);
                if empty > 0 {
                    served.spans[length].add_zeros(empty);
                    served.empty = served.empty.saturating_add(if length == 1 { empty } else { 0 });
                }
            }
            (before, now, shift) =
                (before >> LONGER_SHIFT, now >> LONGER_SHIFT, shift + LONGER_SHIFT);
        }
        self.number = number;
    }
}

fn number_of(ts: Nanos) -> u64 {
    ts.0.max(0) as u64 >> SHORTEST_SHIFT
}

/// How many lengths there are.
pub const LENGTHS: usize = 4;
/// The shortest span is 2²³ ns, 8.4 ms; frames of Wi-Fi are aggregated over less.
const SHORTEST_SHIFT: u32 = 23;
/// The others are 34, 134 and 537 ms.
const LONGER_SHIFT: u32 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    fn served(times_ms: impl Iterator<Item = i64>) -> Served {
        let (mut service, mut served) = (Service::default(), None);
        service.begin(Nanos(0));
        for ms in times_ms {
            service.acknowledged(Nanos::from_millis(ms), 1000, false, &mut served);
        }
        *served.unwrap_or_default()
    }

    #[test]
    fn a_steady_link_serves_evenly_and_bursts_show_at_their_length() {
        let even = served(0..4000);
        let bursts = served((0..4000).map(|n| n / 40 * 40));
        let variation = |served: &Served, length: usize| served.spans[length].variation().unwrap();
        assert!((0..LENGTHS).all(|length| variation(&even, length) < 0.1));
        assert_eq!((even.empty, even.spans[0].count), (0, 475));
        assert!(variation(&bursts, 0) > 1.5 && variation(&bursts, 3) < 0.1);
        assert_eq!(bursts.gap_most, Nanos::from_millis(40));
    }

    #[test]
    fn time_without_data_in_flight_or_of_repairs_is_not_the_paths() {
        let (mut service, mut kept) = (Service::default(), None);
        let at = Nanos::from_millis;
        service.begin(at(10));
        service.acknowledged(at(30), 1000, false, &mut kept);
        service.begin(at(500));
        for (ms, repairs) in [(530, false), (900, true), (950, false), (1150, false)] {
            service.acknowledged(at(ms), 1000, repairs, &mut kept);
        }
        let served = kept.unwrap();
        assert_eq!(served.gap_most, at(200));
        // Of 34 ms: that of the acknowledgement at 950 ms, and those up to the one of 1,150.
        assert_eq!((served.gaps.count, served.spans[1].count), (2, 6));
    }

    #[test]
    fn time_that_goes_back_counts_for_nothing() {
        let (mut service, mut kept) = (Service::default(), None);
        for ms in [100, 50, 20, i64::MIN / 2_000_000] {
            service.acknowledged(Nanos::from_millis(ms), 1000, false, &mut kept);
        }
        assert!(kept.is_none_or(|served| served.spans.iter().all(|span| span.count == 0)));
    }
}
