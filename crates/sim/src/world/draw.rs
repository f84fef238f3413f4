//! Draws in the words of the rooms.

use crate::random::Random;

/// A stream of random numbers.
pub(super) struct Draw(pub Random);

impl Draw {
    /// Uniform between two numbers.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.0.unit()
    }

    /// Uniform in the logarithm: as often from 1 to 10 as from 10 to 100.
    pub fn log(&mut self, low: f64, high: f64) -> f64 {
        self.between(low.ln(), high.ln()).exp()
    }

    /// A whole number from `low` to `high`, both included.
    pub fn whole(&mut self, low: u64, high: u64) -> u64 {
        low + (self.0.unit() * (high - low + 1) as f64) as u64
    }

    /// True with this probability.
    pub fn chance(&mut self, p: f64) -> bool {
        self.0.chance(p)
    }

    /// One of the choices, each as often as its weight says.
    pub fn pick<T: Copy>(&mut self, choices: &[(f64, T)]) -> T {
        let total: f64 = choices.iter().map(|(weight, _)| weight).sum();
        let mut left = self.0.unit() * total;
        for (weight, choice) in choices {
            left -= weight;
            if left < 0.0 {
                return *choice;
            }
        }
        choices[choices.len() - 1].1
    }
}

/// A number with four digits, as a person would write it into a file.
pub(super) fn short(x: f64) -> f64 {
    if x == 0.0 {
        return 0.0;
    }
    let unit = 10f64.powi(3 - x.abs().log10().floor() as i32);
    (x * unit).round() / unit
}

/// A whole number of at least 1 with four digits.
pub(super) fn count(x: f64) -> u64 {
    short(x).round().max(1.0) as u64
}
