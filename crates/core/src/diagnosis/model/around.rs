//! What the intervals before and after one say of it: a linear step from its own log-chances and
//! their mean chances to log-odds.
//!
//! The step is a multinomial logistic regression (McCullagh and Nelder, "Generalized linear
//! models", 1989, section 5.2) on intervals that the trees were not fitted on.

use super::curve::Curve;
use super::table::Table;
use super::{ANSWERS, ByAnswer};

/// A row of weights for each answer.
type ByPair = [ByAnswer; ANSWERS];

/// The step, and how often what it finds is right.
pub struct Around {
    /// What the log-chance of each answer adds to those of all.
    own: ByPair,
    /// The same of the mean chances before, and what is added where there are none.
    before: (ByPair, ByAnswer),
    /// The same of the mean chances after.
    after: (ByPair, ByAnswer),
    bias: ByAnswer,
    /// From chances to how often they are right.
    pub curve: Curve,
}

impl Around {
    /// The log-odds of the answers, by the chances of the interval and the mean chances of those
    /// before and after it; `None` where there are none.
    pub fn log_odds(
        &self,
        chances: &ByAnswer,
        before: Option<&ByAnswer>,
        after: Option<&ByAnswer>,
    ) -> ByAnswer {
        let mut log_odds = self.bias;
        add(&mut log_odds, &self.own, &chances.map(|chance| chance.max(LEAST).ln()));
        for (mean, (weights, none)) in [(before, &self.before), (after, &self.after)] {
            match mean {
                Some(mean) => add(&mut log_odds, weights, mean),
                None => log_odds.iter_mut().zip(none).for_each(|(sum, none)| *sum += none),
            }
        }
        log_odds
    }

    pub(super) fn read(table: &mut Table) -> Around {
        let pairs = |table: &mut Table| std::array::from_fn(|_| table.by_answer());
        Around {
            own: pairs(table),
            before: (pairs(table), table.by_answer()),
            after: (pairs(table), table.by_answer()),
            bias: table.by_answer(),
            curve: Curve::read(table),
        }
    }
}

/// Adds the weights of each answer, times what is known of it.
fn add(sums: &mut ByAnswer, weights: &ByPair, values: &ByAnswer) {
    for (weights, value) in weights.iter().zip(values) {
        for (sum, weight) in sums.iter_mut().zip(weights) {
            *sum += weight * value;
        }
    }
}

/// No chance counts as less.
const LEAST: f32 = 1e-4;
