//! What a token bucket would have held at losses and at what passed, and what that says.

/// A policer that fits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policer {
    /// Rate in bit/s of payload.
    pub rate_bps: f64,
    /// Losses that the fit rests on.
    pub losses: u32,
}

/// What a token bucket would have held.
pub struct Tokens {
    /// The rate at which it is filled in bytes/s.
    pub rate: f64,
    /// What that is in a round trip.
    pub flight: f64,
    /// Its level at each loss,
    pub at_loss: Vec<f64>,
    /// and at points of the curve of what was sent.
    pub at_pass: Vec<f64>,
}

/// How the level of the bucket at losses lies against that at what passed. A policer's is the same
/// at every loss, and lower than at what passes; other losses come at any level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Levels {
    /// The mean share of what passed that found a lower level than a loss: 0 for a policer, a half
    /// for what does not depend on the level (Mann and Whitney 1947).
    pub rank: f32,
    /// Interquartile range at losses over that at what passed.
    pub spread: f32,
    /// Interquartile range at losses in what is delivered in a round trip.
    pub trips: f32,
}

impl Tokens {
    /// The policer that they show, if they do.
    pub fn policer(&self) -> Option<Policer> {
        let Tokens { rate, flight, at_loss, at_pass } = self;
        if at_loss.len().min(at_pass.len()) < MIN_SAMPLES {
            return None;
        }
        let (loss_median, pass_median) = (median(at_loss), median(at_pass));
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        if loss_median >= pass_median || mean(at_loss) >= mean(at_pass) {
            return None;
        }
        let share = |values: &[f64], bad: &dyn Fn(f64) -> bool| {
            values.iter().filter(|&&value| bad(value)).count() as f64 / values.len() as f64
        };
        let far = share(at_loss, &|value| (value - loss_median).abs() > LOSS_TOLERANCE * flight);
        let empty = share(at_pass, &|value| value - loss_median < -PASS_TOLERANCE * flight);
        let fits = far <= LOSSES_FAR && empty <= PASSES_EMPTY;
        fits.then_some(Policer { rate_bps: rate * 8.0, losses: at_loss.len() as u32 })
    }

    /// How their level at losses lies; `None` of fewer than [`LEVELS_MIN`] of either.
    pub fn levels(&self) -> Option<Levels> {
        if self.at_loss.len().min(self.at_pass.len()) < LEVELS_MIN {
            return None;
        }
        let (at_loss, at_pass) = (sorted(&self.at_loss), sorted(&self.at_pass));
        let below = |level: &f64| {
            let fewer = at_pass.partition_point(|pass| pass < level);
            let alike = at_pass.partition_point(|pass| pass <= level) - fewer;
            (fewer as f64 + alike as f64 / 2.0) / at_pass.len() as f64
        };
        let rank = at_loss.iter().map(below).sum::<f64>() / at_loss.len() as f64;
        let width = |sorted: &[f64]| sorted[sorted.len() * 3 / 4] - sorted[sorted.len() / 4];
        // No narrower than a byte, so that nothing is divided by nothing.
        let spread = width(&at_loss) / width(&at_pass).max(1.0);
        let trips = width(&at_loss) / self.flight.max(1.0);
        Some(Levels { rank: rank as f32, spread: spread as f32, trips: trips as f32 })
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    let middle = sorted.len() / 2;
    *sorted.select_nth_unstable_by(middle, f64::total_cmp).1
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

/// Losses, and passes, that a fit needs; Flach et al. take 15.
pub const MIN_SAMPLES: usize = 15;
/// Losses, and passes, from which on their levels say something.
pub const LEVELS_MIN: usize = 6;
/// Tokens at a loss lie within so many round trips' worth of their median, but for so many losses.
const LOSS_TOLERANCE: f64 = 2.0;
const LOSSES_FAR: f64 = 0.10;
/// Tokens at a pass lie at most so much below it, but for so many passes.
const PASS_TOLERANCE: f64 = 0.75;
const PASSES_EMPTY: f64 = 0.03;
