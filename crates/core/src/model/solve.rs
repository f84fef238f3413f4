//! Models backwards: which value of a parameter gives a rate.

use super::{Domain, Model, Outside};

impl Model {
    /// The value of `parameter` that is just good enough for `rate_bps`, the others as in `values`:
    /// the largest loss or RTT, the smallest window or capacity. An error when no value is, or when
    /// every value is.
    pub fn solve(&self, parameter: usize, rate_bps: f64, values: &[f64]) -> Result<f64, Outside> {
        let name = self.parameters[parameter].name;
        let outside = |reason| Outside { parameter: name, reason };
        let (low, high) = match self.parameters[parameter].domain {
            Domain::Probability | Domain::Share => LOSSES,
            Domain::Positive | Domain::Limit | Domain::NotNegative => NUMBERS,
            Domain::Choice => return Err(outside("has no order to search in")),
        };
        let mut values = values.to_vec();
        let mut last = None;
        let mut good = |x: f64| {
            values[parameter] = x;
            match self.predict(&values) {
                // What is a rounding error short of the rate is good enough.
                Ok(prediction) => Some(prediction.rate_bps >= rate_bps * (1.0 - 1e-12)),
                Err(problem) => {
                    last = Some(problem);
                    None
                }
            }
        };
        let step = (high / low).powf(1.0 / f64::from(STEPS));
        let grid = (0..=STEPS).map(|i| low * step.powi(i as i32));
        let judged: Vec<(f64, bool)> = grid.filter_map(|x| good(x).map(|good| (x, good))).collect();
        let Some(edge) = judged.windows(2).rposition(|pair| pair[0].1 != pair[1].1) else {
            return Err(match judged.first() {
                Some((_, true)) => outside("may have any value: the rate is reached anyhow"),
                Some((_, false)) => outside("has no value that gives the rate"),
                None => last.unwrap_or(outside("has no value that gives the rate")),
            });
        };
        let (mut a, mut b) = (judged[edge], judged[edge + 1]);
        for _ in 0..BISECTIONS {
            let middle = (a.0 * b.0).sqrt();
            match good(middle) {
                Some(good) if good == a.1 => a.0 = middle,
                Some(_) => b.0 = middle,
                None => break,
            }
        }
        Ok(if a.1 { a.0 } else { b.0 })
    }
}

/// Where losses are sought: below, no transfer lives to see one.
const LOSSES: (f64, f64) = (1e-15, 0.999);
/// Where everything else is sought: a nanosecond, a byte or a bit/s, up to a Pbit/s.
const NUMBERS: (f64, f64) = (1e-3, 1e15);
/// Points of the first search: far enough apart to be few, near enough that models are monotonous
/// between them.
const STEPS: u32 = 180;
/// A step of the grid halved so often is a rounding error.
const BISECTIONS: u32 = 60;
