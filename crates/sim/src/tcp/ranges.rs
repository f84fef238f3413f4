//! Sets of sequence ranges: what was received out of order, what was selectively acknowledged.

use std::collections::VecDeque;

/// Disjoint, non-adjacent half-open ranges in ascending order.
#[derive(Clone, Debug, Default)]
pub struct Ranges {
    ranges: VecDeque<(u64, u64)>,
}

impl Ranges {
    /// Adds `start..end`. `fresh` is called with every part that was not yet in the set. Returns
    /// the range that now holds it.
    pub fn insert(&mut self, start: u64, end: u64, mut fresh: impl FnMut(u64, u64)) -> (u64, u64) {
        let first = self.ranges.partition_point(|range| range.1 < start);
        let (mut merged, mut cursor, mut next) = ((start, end), start, first);
        while let Some(&(low, high)) = self.ranges.get(next)
            && low <= end
        {
            if cursor < low {
                fresh(cursor, low);
            }
            cursor = cursor.max(high);
            merged = (merged.0.min(low), merged.1.max(high));
            next += 1;
        }
        if cursor < end {
            fresh(cursor, end);
        }
        if next == first {
            self.ranges.insert(first, merged);
        } else {
            self.ranges[first] = merged;
            self.ranges.drain(first + 1..next);
        }
        merged
    }

    /// Forgets everything below `edge`.
    pub fn remove_below(&mut self, edge: u64) {
        while let Some(range) = self.ranges.front_mut() {
            if range.1 > edge {
                range.0 = range.0.max(edge);
                return;
            }
            self.ranges.pop_front();
        }
    }

    /// The range that holds `point`.
    pub fn containing(&self, point: u64) -> Option<(u64, u64)> {
        let index = self.ranges.partition_point(|range| range.1 <= point);
        self.ranges.get(index).copied().filter(|range| range.0 <= point)
    }

    /// The end of the highest range.
    pub fn end(&self) -> Option<u64> {
        self.ranges.back().map(|range| range.1)
    }

    /// All ranges, ascending.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, u64)> + '_ {
        self.ranges.iter().copied()
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn it_agrees_with_a_set_of_points() {
        let mut random = Random::stream(1, 0);
        let (mut ranges, mut points) = (Ranges::default(), [false; 200]);
        for step in 0..2_000 {
            let start = random.bits() % 190;
            let end = start + 1 + random.bits() % 9;
            let mut fresh = Vec::new();
            let merged = ranges.insert(start, end, |low, high| fresh.extend(low..high));
            let expected: Vec<u64> = (start..end).filter(|&p| !points[p as usize]).collect();
            assert_eq!(fresh, expected, "step {step}");
            points[start as usize..end as usize].fill(true);
            assert!(merged.0 <= start && end <= merged.1);
            for point in 0..200 {
                let holds = ranges.containing(point).is_some();
                assert_eq!(holds, points[point as usize], "step {step} point {point}");
            }
            if step % 17 == 0 {
                let edge = random.bits() % 200;
                ranges.remove_below(edge);
                points[..edge as usize].fill(false);
            }
        }
        let all: Vec<_> = ranges.iter().collect();
        assert!(all.windows(2).all(|pair| pair[0].1 < pair[1].0), "{all:?}");
    }
}
