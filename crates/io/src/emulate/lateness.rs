//! How late packets left: the measure of whether a run in real time was the run that was meant.

use tcpwhy_core::units::Nanos;

/// A histogram of times between when something was due and when it was done. Four buckets to a
/// factor of two, so that a quantile is right within a fifth.
#[derive(Clone, Debug)]
pub struct Lateness {
    counts: [u64; BUCKETS],
    total: u64,
    max: Nanos,
    sum_ns: u128,
}

impl Default for Lateness {
    fn default() -> Lateness {
        Lateness { counts: [0; BUCKETS], total: 0, max: Nanos(0), sum_ns: 0 }
    }
}

impl Lateness {
    /// Notes one.
    pub fn note(&mut self, late: Nanos) {
        let ns = late.0.max(0) as u64;
        self.counts[bucket(ns)] += 1;
        self.total += 1;
        self.sum_ns += u128::from(ns);
        self.max = self.max.max(late);
    }

    /// How many were noted.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The largest.
    pub fn max(&self) -> Nanos {
        self.max
    }

    /// The mean; `None` when none was noted.
    pub fn mean(&self) -> Option<Nanos> {
        let total = u128::from(self.total);
        (total > 0).then(|| Nanos((self.sum_ns / total) as i64))
    }

    /// The upper end of the bucket that has the quantile; `None` when none was noted.
    pub fn quantile(&self, share: f64) -> Option<Nanos> {
        let rank = (share * self.total as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        self.counts.iter().enumerate().find_map(|(bucket, count)| {
            seen += count;
            (seen >= rank).then(|| upper_end(bucket).min(self.max))
        })
    }

    /// The buckets that are not empty: upper end and count.
    pub fn buckets(&self) -> impl Iterator<Item = (Nanos, u64)> + '_ {
        let all = self.counts.iter().enumerate();
        all.filter(|(_, count)| **count > 0).map(|(bucket, count)| (upper_end(bucket), *count))
    }
}

/// The first bucket ends at 1 µs; from there on, every factor of two has four.
fn bucket(ns: u64) -> usize {
    if ns < FIRST_NS {
        return 0;
    }
    let octave = (ns / FIRST_NS).ilog2();
    let quarter = (ns >> octave) * 4 / FIRST_NS - 4;
    (1 + 4 * octave as usize + quarter as usize).min(BUCKETS - 1)
}

fn upper_end(bucket: usize) -> Nanos {
    if bucket == 0 {
        return Nanos(FIRST_NS as i64);
    }
    let (octave, quarter) = ((bucket - 1) / 4, (bucket - 1) % 4);
    Nanos(((FIRST_NS << octave) * (5 + quarter as u64) / 4) as i64)
}

const FIRST_NS: u64 = 1_000;
/// Up to 4.3 s; what is later counts there.
const BUCKETS: usize = 1 + 4 * 22;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_is_in_the_bucket_that_ends_behind_it() {
        for ns in (0..10_000_000).step_by(337) {
            let end = upper_end(bucket(ns)).0 as u64;
            assert!(ns < end, "{ns} {end}");
            assert!(ns < FIRST_NS || end - ns <= ns / 4 + 1, "{ns} {end}");
        }
    }

    #[test]
    fn quantiles() {
        let mut lateness = Lateness::default();
        assert_eq!(lateness.quantile(0.5), None);
        for us in 1..=1000 {
            lateness.note(Nanos::from_micros(us));
        }
        let near = |share: f64, us: i64| {
            let found = lateness.quantile(share).unwrap();
            (Nanos::from_micros(us)..=Nanos::from_micros(us * 5 / 4 + 1)).contains(&found)
        };
        assert!(near(0.5, 500) && near(0.99, 990) && near(0.001, 1));
        assert_eq!(lateness.quantile(1.0), Some(Nanos::from_micros(1000)));
        assert_eq!(lateness.mean(), Some(Nanos(500_500)));
    }
}
