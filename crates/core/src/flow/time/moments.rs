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

    /// Standard deviation over mean; `None` with fewer than two values.
    pub fn variation(&self) -> Option<f64> {
        let mean = self.mean().filter(|&mean| mean > 0.0 && self.count > 1)?;
        let variance = (self.squares / f64::from(self.count) - mean * mean).max(0.0);
        Some(variance.sqrt() / mean)
    }

    /// Adds other values.
    pub fn merge(&mut self, other: &Moments) {
        self.count = self.count.saturating_add(other.count);
        self.sum += other.sum;
        self.squares += other.squares;
    }
}
