//! What the items said of the intervals before, fading.

use super::Case;
use super::items::{self, COUNT, Values};

/// What the items say of an interval, and what they said before it.
#[derive(Clone, Debug)]
pub struct Observed {
    /// Of the interval.
    pub values: Values,
    /// Of those before it.
    pub before: Values,
}

/// Means of the items over the intervals so far, the newest with the largest weight.
#[derive(Clone, Debug)]
pub struct Memory {
    means: Values,
}

impl Default for Memory {
    fn default() -> Memory {
        Memory { means: [f32::NAN; COUNT] }
    }
}

impl Memory {
    /// What the items say of a span that is not to be remembered.
    pub fn look(&self, case: &Case) -> Observed {
        Observed { values: items::values(case), before: self.means }
    }

    /// What the items say of the next interval; remembers it.
    pub fn observe(&mut self, case: &Case) -> Observed {
        let observed = self.look(case);
        for (mean, value) in self.means.iter_mut().zip(observed.values) {
            *mean = match (mean.is_nan(), value.is_nan()) {
                (true, _) => value,
                (_, true) => *mean,
                _ => *mean + (value - *mean) * NEWEST,
            };
        }
        observed
    }
}

/// Weight of the newest interval.
const NEWEST: f32 = 0.4;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::Facts;

    #[test]
    fn what_was_said_fades_and_what_was_not_said_stays() {
        let case =
            |idle: f64| Case { facts: Facts { idle, ..Facts::default() }, ..Case::default() };
        let mut memory = Memory::default();
        assert!(memory.observe(&case(1.0)).before[0].is_nan());
        assert_eq!(memory.observe(&case(0.0)).before[0], 1.0);
        assert!((memory.observe(&case(0.0)).before[0] - 0.6).abs() < 1e-6);
    }
}
