//! Inter-arrival times, kept as a histogram of constant size.

use crate::units::Nanos;

/// A histogram of gaps with four bins an octave; each bin keeps the sum of its gaps, so that means
/// over whole bins are exact.
#[derive(Clone, Debug)]
pub struct Gaps {
    count: [u32; BINS],
    sum_ns: [f32; BINS],
    total: u32,
}

impl Default for Gaps {
    fn default() -> Gaps {
        Gaps { count: [0; BINS], sum_ns: [0.0; BINS], total: 0 }
    }
}

impl Gaps {
    /// Adds one gap.
    #[inline]
    pub fn add(&mut self, gap: Nanos) {
        let bin = bin(gap);
        self.count[bin] += 1;
        self.sum_ns[bin] += gap.0 as f32;
        self.total += 1;
    }

    /// How many gaps were added.
    pub fn len(&self) -> u32 {
        self.total
    }

    /// Whether none was added.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// Mean of the `n` largest gaps. The bin in which the n-th falls counts with its mean.
    pub fn mean_of_largest(&self, n: u32) -> Option<Nanos> {
        if n == 0 || n > self.total {
            return None;
        }
        let (mut left, mut sum) = (n, 0.0f64);
        for bin in (0..BINS).rev().filter(|&bin| self.count[bin] > 0) {
            let taken = left.min(self.count[bin]);
            let mean = f64::from(self.sum_ns[bin]) / f64::from(self.count[bin]);
            sum += mean * f64::from(taken);
            left -= taken;
            if left == 0 {
                break;
            }
        }
        Some(Nanos((sum / f64::from(n)) as i64))
    }

    /// The filled bins alone, for keeping.
    pub fn pack(&self) -> PackedGaps {
        let filled = (0..BINS).filter(|&bin| self.count[bin] > 0);
        PackedGaps(filled.map(|bin| (bin as u8, self.count[bin], self.sum_ns[bin])).collect())
    }

    /// Adds the gaps of `other`.
    pub fn merge(&mut self, other: &Gaps) {
        for bin in 0..BINS {
            self.count[bin] += other.count[bin];
            self.sum_ns[bin] += other.sum_ns[bin];
        }
        self.total += other.total;
    }

    /// Adds packed gaps.
    pub fn merge_packed(&mut self, other: &PackedGaps) {
        for &(bin, count, sum_ns) in &other.0 {
            self.count[usize::from(bin)] += count;
            self.sum_ns[usize::from(bin)] += sum_ns;
            self.total += count;
        }
    }
}

/// The filled bins of a histogram.
#[derive(Clone, Debug, Default)]
pub struct PackedGaps(Box<[(u8, u32, f32)]>);

/// The bin of a gap: the octave, and the two bits below its leading one.
fn bin(gap: Nanos) -> usize {
    let ns = (gap.0.max(0) as u64).clamp(1 << FIRST_OCTAVE, (1 << LAST_OCTAVE) - 1);
    let octave = ns.ilog2();
    let fraction = (ns >> (octave - 2)) & 3;
    ((octave - FIRST_OCTAVE) * 4 + fraction as u32) as usize
}

/// Gaps below 256 ns and above 137 s count with those.
const FIRST_OCTAVE: u32 = 8;
const LAST_OCTAVE: u32 = 37;
const BINS: usize = ((LAST_OCTAVE - FIRST_OCTAVE) * 4) as usize;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_of_the_largest_is_exact_over_whole_bins() {
        let mut gaps = Gaps::default();
        for _ in 0..90 {
            gaps.add(Nanos::from_micros(12));
        }
        for ms in [40, 41, 42, 43, 44, 45, 46, 47, 48, 49] {
            gaps.add(Nanos::from_millis(ms));
        }
        let mean = gaps.mean_of_largest(10).unwrap().as_secs_f64();
        assert!((mean - 0.0445).abs() < 1e-6, "{mean}");
        assert_eq!(gaps.mean_of_largest(101), None);
        let mut other = Gaps::default();
        other.merge_packed(&gaps.pack());
        assert_eq!(other.mean_of_largest(10), gaps.mean_of_largest(10));
    }

    #[test]
    fn every_gap_has_a_bin() {
        for gap in [i64::MIN, -1, 0, 1, 255, 256, 1 << 36, i64::MAX] {
            assert!(bin(Nanos(gap)) < BINS);
        }
    }
}
