//! Percentiles of delays in bounded memory: a histogram with steps of 3 %, HDR-like (Tene 2012).

use crate::units::Nanos;

/// Counts of delays by size. A step is 1/32 of a power of two, so that a percentile is right to
/// 1.6 %; it takes four bytes for each step between the smallest and the largest delay.
#[derive(Clone, Debug, Default)]
pub struct Sketch {
    /// The step of the first count.
    first: usize,
    counts: Vec<u32>,
}

impl Sketch {
    /// Takes a delay.
    #[inline]
    pub fn add(&mut self, delay: Nanos) {
        let step = step(delay);
        match self.counts.get_mut(step.wrapping_sub(self.first)) {
            Some(count) => *count = count.saturating_add(1),
            None => self.grow(step),
        }
    }

    /// Forgets all delays, and keeps the room.
    pub fn clear(&mut self) {
        self.counts.clear();
        self.first = 0;
    }

    /// Makes room for a step, and takes a delay there.
    #[cold]
    fn grow(&mut self, step: usize) {
        let (from, to) = (step & !(ROOM - 1), (step | (ROOM - 1)) + 1);
        if self.counts.is_empty() {
            self.first = from;
        }
        if from < self.first {
            let more = self.first - from;
            self.counts.reserve_exact(more);
            self.counts.splice(..0, std::iter::repeat_n(0, more));
            self.first = from;
        }
        let len = self.counts.len().max(to - self.first);
        self.counts.reserve_exact(len - self.counts.len());
        self.counts.resize(len, 0);
        self.counts[step - self.first] += 1;
    }

    /// The delays that these shares of all delays, ascending, do not exceed; `None` without any.
    pub fn quantiles<const N: usize>(&self, shares: [f64; N]) -> [Option<Nanos>; N] {
        let all: u64 = self.counts.iter().map(|&count| u64::from(count)).sum();
        let (mut seen, mut steps) = (0, (self.first..).zip(&self.counts));
        let mut last = None;
        shares.map(|share| {
            let wanted = ((all as f64 * share).ceil() as u64).max(1);
            while seen < wanted {
                let (step, &count) = steps.next()?;
                (seen, last) = (seen + u64::from(count), Some(step));
            }
            last.map(middle)
        })
    }
}

/// The step of a delay: its highest bit, and the five bits below it.
#[inline]
fn step(delay: Nanos) -> usize {
    let ns = delay.0.max(0) as u64;
    if ns < STEPS {
        return ns as usize;
    }
    let shift = u64::from(63 - ns.leading_zeros()) - STEPS_LOG;
    ((shift << STEPS_LOG) + (ns >> shift)) as usize
}

/// The middle of a step.
fn middle(step: usize) -> Nanos {
    let step = step as u64;
    if step < 2 * STEPS {
        return Nanos(step as i64);
    }
    let shift = (step >> STEPS_LOG) - 1;
    let low = (step - (shift << STEPS_LOG)) << shift;
    Nanos((low + (1 << shift) / 2) as i64)
}

/// Steps of a power of two.
const STEPS: u64 = 1 << STEPS_LOG;
const STEPS_LOG: u64 = 5;
/// Steps for which room is made at a time.
const ROOM: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn percentiles_are_right_to_a_step(
            mut delays in prop::collection::vec(0i64..200_000_000_000, 1..400),
            mut shares in prop::array::uniform3(0.01f64..1.0),
        ) {
            let mut sketch = Sketch::default();
            delays.iter().for_each(|&ns| sketch.add(Nanos(ns)));
            delays.sort_unstable();
            shares.sort_by(f64::total_cmp);
            for (share, found) in shares.into_iter().zip(sketch.quantiles(shares)) {
                let at = ((delays.len() as f64 * share).ceil() as usize).max(1) - 1;
                let (exact, found) = (delays[at], found.expect("some delays").0);
                prop_assert!((found - exact).abs() <= exact / 60 + 1, "{} for {}", found, exact);
            }
        }
    }

    #[test]
    fn nothing_has_no_percentile_and_memory_is_bounded() {
        assert_eq!(Sketch::default().quantiles([0.1, 0.5]), [None, None]);
        let mut sketch = Sketch::default();
        (0..63).for_each(|bit| sketch.add(Nanos(1 << bit)));
        assert!(sketch.counts.len() <= 64 * STEPS as usize, "{}", sketch.counts.len());
        assert_eq!(sketch.quantiles([0.01]), [Some(Nanos(1))]);
    }
}
