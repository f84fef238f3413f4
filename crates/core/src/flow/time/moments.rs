//! Moments of values, for their mean and variation.

/// Count, sum and sum of squares.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moments {
    /// How many values.
    pub count: u32,
    sum: f64,
    squares: f64,
}

/// The same of values that something else counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Powers {
    sum: f64,
    squares: f64,
}

impl Powers {
    /// Adds a value.
    #[inline]
    pub fn add(&mut self, value: f64) {
        self.sum += value;
        self.squares += value * value;
    }

    /// Adds other values.
    pub fn merge(&mut self, other: &Powers) {
        self.sum += other.sum;
        self.squares += other.squares;
    }
}

impl Moments {
    /// Those of so many values.
    pub fn of(count: u32, Powers { sum, squares }: Powers) -> Moments {
        Moments { count, sum, squares }
    }

    /// Adds a value.
    #[inline]
    pub fn add(&mut self, value: f64) {
        self.count += 1;
        self.sum += value;
        self.squares += value * value;
    }

    /// Adds `count` zeros.
    pub fn add_zeros(&mut self, count: u32) {
        self.count = self.count.saturating_add(count);
    }

    /// Forgets half of every value.
    pub fn halve(&mut self) {
        let before = f64::from(self.count);
        self.count /= 2;
        // An odd count does not halve: the rest keeps its mean.
        let kept = if before > 0.0 { f64::from(self.count) / before } else { 0.0 };
        self.sum *= kept;
        self.squares *= kept;
    }

    /// Mean.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / f64::from(self.count))
    }

    /// Mean weighted by the values themselves: where most of their sum lies.
    pub fn weighted_mean(&self) -> Option<f64> {
        (self.sum > 0.0).then(|| self.squares / self.sum)
    }

    /// Standard deviation over mean of values that are not negative; `None` with fewer than two.
    pub fn variation(&self) -> Option<f64> {
        let count = f64::from(self.count);
        let mean = self.mean().filter(|&mean| mean > 0.0 && self.count > 1)?;
        let variance = (self.squares / count - mean * mean).max(0.0);
        // So many values vary no more: one of them is all there is. A value that is forgotten by
        // halves among zeros would seem to vary without bounds.
        Some((variance.sqrt() / mean).min((count - 1.0).sqrt()))
    }

    /// Adds other values.
    pub fn merge(&mut self, other: &Moments) {
        self.count = self.count.saturating_add(other.count);
        self.sum += other.sum;
        self.squares += other.squares;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_is_nearly_forgotten_among_zeros_varies_no_more_than_it_may() {
        let mut moments = Moments::default();
        moments.add(5.0);
        moments.add_zeros(3);
        assert!(moments.variation().is_some_and(|it| (it - 3_f64.sqrt()).abs() < 1e-12));
        for _ in 0..2_000 {
            moments.add_zeros(32 - moments.count);
            moments.halve();
            assert!(moments.variation().is_none_or(|it| it <= 15_f64.sqrt() + 1e-12));
        }
    }

    #[test]
    fn halves_keep_the_mean_and_the_variation() {
        let mut moments = Moments::default();
        [1.0, 3.0, 1.0, 3.0].into_iter().for_each(|value| moments.add(value));
        assert_eq!((moments.mean(), moments.variation()), (Some(2.0), Some(0.5)));
        moments.halve();
        assert_eq!((moments.count, moments.mean(), moments.variation()), (2, Some(2.0), Some(0.5)));
    }
}
