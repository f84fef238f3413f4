//! The windowed maximum of BBR: the greatest of the samples not older than the window.

/// A maximum over a window of virtual time. It keeps the samples that can still become the
/// maximum: later than a greater one, greater than all later ones.
#[derive(Debug, Default)]
pub struct MaxFilter {
    candidates: std::collections::VecDeque<(u64, u64)>,
}

impl MaxFilter {
    /// Takes a sample at `time`, forgets what is older than `window` and gives the maximum.
    pub fn update(&mut self, value: u64, time: u64, window: u64) -> u64 {
        while self.candidates.back().is_some_and(|&(_, last)| last <= value) {
            self.candidates.pop_back();
        }
        self.candidates.push_back((time, value));
        self.expire(time, window);
        self.max()
    }

    /// Forgets what is older than `window` at `time`, but keeps the newest sample.
    pub fn expire(&mut self, time: u64, window: u64) {
        while self.candidates.len() > 1 && self.candidates[0].0 + window <= time {
            self.candidates.pop_front();
        }
    }

    /// The maximum; 0 before the first sample.
    pub fn max(&self) -> u64 {
        self.candidates.front().map_or(0, |&(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_maximum_is_that_of_the_window() {
        let mut filter = MaxFilter::default();
        let values = [5u64, 3, 9, 1, 2, 2, 8, 0, 0, 0, 4];
        for (time, &value) in values.iter().enumerate() {
            let first = time.saturating_sub(2);
            let expected = *values[first..=time].iter().max().unwrap();
            assert_eq!(filter.update(value, time as u64, 3), expected, "at {time}");
        }
    }
}
