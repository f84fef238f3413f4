//! Inter-arrival times, kept as a histogram of bounded size.

use crate::flow::bins::Bins;
use crate::units::Nanos;

/// A histogram of gaps with eight bins an octave; a gap counts with the middle of its bin, which is
/// within 5 % of it.
#[derive(Clone, Debug, Default)]
pub struct Gaps {
    bins: Bins,
    total: u32,
}

impl Gaps {
    /// Adds one gap.
    #[inline]
    pub fn add(&mut self, gap: Nanos) {
        self.bins.add(bin(gap));
        self.total += 1;
    }

    /// How many gaps were added.
    pub fn len(&self) -> u32 {
        self.total
    }

    /// Mean of the `n` largest gaps.
    pub fn mean_of_largest(&self, n: u32) -> Option<Nanos> {
        if n == 0 || n > self.total {
            return None;
        }
        let (mut left, mut sum) = (n, 0.0f64);
        for (bin, count) in self.bins.met().rev() {
            let taken = left.min(u32::from(count));
            sum += middle_ns(bin) * f64::from(taken);
            left -= taken;
            if left == 0 {
                break;
            }
        }
        // Fewer than asked for only where a bin was full.
        Some(Nanos((sum / f64::from(n - left)) as i64))
    }

    /// The filled bins alone, for keeping.
    pub fn pack(&self) -> PackedGaps {
        let mut filled = Vec::with_capacity(self.bins.count_met());
        filled.extend(self.bins.met().map(|(bin, count)| (bin as u8, count)));
        PackedGaps(filled.into_boxed_slice())
    }

    /// Adds the gaps of `other`.
    pub fn merge(&mut self, other: &Gaps) {
        self.bins.merge(&other.bins);
        self.total += other.total;
    }

    /// Adds packed gaps.
    pub fn merge_packed(&mut self, other: &PackedGaps) {
        for &(bin, count) in &other.0 {
            self.bins.add_many(usize::from(bin), count);
            self.total += u32::from(count);
        }
    }
}

/// The filled bins of a histogram.
#[derive(Clone, Debug, Default)]
pub struct PackedGaps(Box<[(u8, u16)]>);

impl PackedGaps {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The histogram; `None` without gaps.
    pub fn unpack(&self) -> Option<Gaps> {
        (!self.0.is_empty()).then(|| {
            let mut gaps = Gaps::default();
            gaps.merge_packed(self);
            gaps
        })
    }
}

/// The bin of a gap: the octave, and the three bits below its leading one.
fn bin(gap: Nanos) -> usize {
    let ns = (gap.0.max(0) as u64).clamp(1 << FIRST_OCTAVE, (1 << LAST_OCTAVE) - 1);
    let octave = ns.ilog2();
    let fraction = (ns >> (octave - 3)) & 7;
    ((octave - FIRST_OCTAVE) * 8 + fraction as u32) as usize
}

/// The middle of a bin.
fn middle_ns(bin: usize) -> f64 {
    let octave = (1u64 << (FIRST_OCTAVE + bin as u32 / 8)) as f64;
    octave * (1.0 + ((bin % 8) as f64 + 0.5) / 8.0)
}

/// Gaps below 256 ns and above 137 s count with those.
const FIRST_OCTAVE: u32 = 8;
const LAST_OCTAVE: u32 = 37;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_of_the_largest_is_within_a_bin() {
        let mut gaps = Gaps::default();
        for _ in 0..90 {
            gaps.add(Nanos::from_micros(12));
        }
        for ms in [40, 41, 42, 43, 44, 45, 46, 47, 48, 49] {
            gaps.add(Nanos::from_millis(ms));
        }
        let mean = gaps.mean_of_largest(10).unwrap().as_secs_f64();
        assert!((mean / 0.0445 - 1.0).abs() < 0.05, "{mean}");
        assert_eq!(gaps.mean_of_largest(101), None);
        let mut other = Gaps::default();
        other.merge_packed(&gaps.pack());
        assert_eq!(other.mean_of_largest(10), gaps.mean_of_largest(10));
    }

    #[test]
    fn every_gap_has_a_bin() {
        for gap in [i64::MIN, -1, 0, 1, 255, 256, 1 << 36, i64::MAX] {
            assert!(bin(Nanos(gap)) < 8 * (LAST_OCTAVE - FIRST_OCTAVE) as usize);
        }
    }
}
