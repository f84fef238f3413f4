//! Bytes that were acknowledged before the capture showed them, if it ever does.

use std::collections::VecDeque;

/// The last ranges that an acknowledgement covered and the capture had not shown.
#[derive(Debug, Default)]
pub struct Missed {
    ranges: VecDeque<(u64, u64)>,
}

impl Missed {
    /// `start..end` was acknowledged unseen.
    pub fn add(&mut self, start: u64, end: u64) {
        if start < end {
            if self.ranges.len() >= MAX_RANGES {
                self.ranges.pop_front();
            }
            self.ranges.push_back((start, end));
        }
    }

    /// `start..end` is seen after all: how many of its bytes had been missed. They are no longer.
    pub fn find(&mut self, start: u64, end: u64) -> u64 {
        let mut found = 0;
        for at in 0..self.ranges.len() {
            let (from, to) = self.ranges[at];
            let (low, high) = (from.max(start), to.min(end));
            if low < high {
                found += high - low;
                // What is left on the far side; both sides are left only of a segment in the
                // middle.
                self.ranges[at] = (from, low);
                self.add(high, to);
            }
        }
        self.ranges.retain(|&(from, to)| from < to);
        found
    }
}

/// A mirror port that delivers one direction late is late by some tens of segments.
const MAX_RANGES: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_missed_is_found_once() {
        let mut missed = Missed::default();
        missed.add(100, 200);
        missed.add(300, 400);
        assert_eq!(missed.find(150, 160), 10);
        assert_eq!(missed.find(150, 160), 0);
        assert_eq!(missed.find(0, 1000), 190);
        assert_eq!(missed.find(0, 1000), 0);
    }
}
