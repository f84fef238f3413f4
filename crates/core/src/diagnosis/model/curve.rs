//! From a chance to how often such an answer is right.

use super::ByAnswer;
use super::table::Table;
use crate::diagnosis::{Confidence, Limitation};

/// A rising curve, measured on what was not fitted, and where confidences begin on it.
pub struct Curve {
    /// Chance of the likeliest answer, and how often it is right.
    knots: Vec<(f32, f32)>,
    /// What each answer multiplies the odds of that with: some are right more often than others.
    lean: ByAnswer,
    /// Probabilities from which an answer is medium, and high.
    cuts: [f32; 2],
}

impl Curve {
    /// How often this answer is right, of this chance.
    pub fn calibrated(&self, chance: f32, answer: Limitation) -> f32 {
        let shared = self.shared(chance);
        let odds = shared / (1.0 - shared) * self.lean[answer as usize];
        odds / (1.0 + odds)
    }

    /// How often any answer of this chance is right; neither never nor always.
    fn shared(&self, chance: f32) -> f32 {
        let after = self.knots.partition_point(|&(from, _)| from <= chance);
        let (Some(&(a, right_a)), Some(&(b, right_b))) =
            (self.knots.get(after.wrapping_sub(1)), self.knots.get(after))
        else {
            let end = if after == 0 { self.knots.first() } else { self.knots.last() };
            return end.map_or(chance, |&(_, right)| right);
        };
        right_a + (right_b - right_a) * (chance - a) / (b - a)
    }

    /// The confidence of an answer that is right so often.
    pub fn confidence(&self, probability: f32) -> Confidence {
        match self.cuts {
            [_, high] if probability >= high => Confidence::High,
            [medium, _] if probability >= medium => Confidence::Medium,
            _ => Confidence::Low,
        }
    }

    pub(super) fn read(table: &mut Table) -> Curve {
        let knots = table.many(|table| (table.f32(), table.f32()));
        let lean = table.by_answer().map(f32::exp);
        Curve { knots, lean, cuts: [table.f32(), table.f32()] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::model::{ANSWERS, MODEL};

    #[test]
    fn a_surer_answer_is_right_more_often() {
        for curve in [&MODEL.alone, &MODEL.around.curve, &MODEL.whole] {
            for &answer in &Limitation::ALL[..ANSWERS] {
                let right: Vec<f32> =
                    (0..=100).map(|n| curve.calibrated(n as f32 / 100.0, answer)).collect();
                assert!(
                    right.is_sorted() && right.iter().all(|p| (0.0..=1.0).contains(p)),
                    "{answer:?}: {right:?}"
                );
            }
            assert_eq!(curve.confidence(0.0), Confidence::Low);
            assert_eq!(curve.confidence(1.0), Confidence::High);
        }
    }
}
