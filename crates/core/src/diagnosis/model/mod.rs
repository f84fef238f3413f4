//! The evidence model: what the items of evidence say of each answer, added up tree by tree.
//!
//! Boosted trees (Friedman, "Greedy function approximation", Ann. Statist. 2001) whose leaves hold
//! log-odds of all answers at once; the softmax of their sums says how likely each answer is.
//! [`filter`] carries it from one interval to the next, and `weights.bin`, which `make fit` makes,
//! holds every number.

pub mod argument;
pub mod filter;
mod forest;
mod table;

use super::memory::Observed;
use super::{Confidence, Limitation};
use forest::Forest;
use std::sync::LazyLock;
use table::Table;

/// Answers of the model: every limitation but `mixed`, which comes last.
pub const ANSWERS: usize = Limitation::ALL.len() - 1;

/// One number by answer.
pub type ByAnswer = [f32; ANSWERS];

/// Outputs of the trees: the answers, of which a link of the connection's own has two. The last is
/// that of a link whose own rate varies.
const OUTPUTS: usize = ANSWERS + 1;
const VARYING: usize = ANSWERS;
/// The output of one whose rate does not.
const STEADY: usize = Limitation::UnsharedBottleneck as usize;

/// One number by output.
type ByOutput<T> = [T; OUTPUTS];

/// What the items say of an interval.
#[derive(Clone, Copy, Debug)]
pub struct Said {
    /// The log-odds of each answer.
    pub log_odds: ByAnswer,
    /// Whether the rate of the link, if it is one of the connection's own, varies by itself.
    pub varies: bool,
}

/// The model as fitted.
pub static MODEL: LazyLock<Model> = LazyLock::new(|| Model::read(WEIGHTS));

const WEIGHTS: &[u8] = include_bytes!("weights.bin");

/// Trees of log-odds, and what makes chances of them.
pub struct Model {
    /// Where it comes from: lines of text.
    #[cfg_attr(not(test), expect(dead_code, reason = "for people, and for the test of its items"))]
    pub provenance: String,
    forest: Forest,
    /// How an interval follows on the one before.
    pub filter: filter::Settings,
    /// Chance of the likeliest answer, and how often it is right.
    calibration: Vec<(f32, f32)>,
    /// Probabilities from which an answer is medium, and high.
    cuts: [f32; 2],
}

impl Model {
    /// What the items say.
    pub fn asked(&self, observed: &Observed) -> Said {
        let outputs = self.forest.log_odds(observed);
        let (steady, varying) = (outputs[STEADY], outputs[VARYING]);
        let mut log_odds = *outputs.first_chunk().expect("the answers come first");
        let (more, less) = (steady.max(varying), steady.min(varying));
        log_odds[STEADY] = more + (less - more).exp().ln_1p();
        Said { log_odds, varies: varying - steady >= VARIES }
    }

    /// How often an answer of this chance is right, as measured on what was not fitted.
    pub fn calibrated(&self, chance: f32) -> f32 {
        let after = self.calibration.partition_point(|&(from, _)| from <= chance);
        let (Some(&(a, right_a)), Some(&(b, right_b))) =
            (self.calibration.get(after.wrapping_sub(1)), self.calibration.get(after))
        else {
            let end = if after == 0 { self.calibration.first() } else { self.calibration.last() };
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

    fn read(bytes: &[u8]) -> Model {
        let mut table = Table::new(bytes);
        let provenance = table.text();
        let forest = Forest::read(&mut table);
        let filter = filter::Settings {
            stay_a_second: table.f32(),
            trust: table.f32(),
            prior: table.by_answer(),
        };
        let calibration = table.many(|table| (table.f32(), table.f32()));
        let cuts = [table.f32(), table.f32()];
        Model { provenance, forest, filter, calibration, cuts }
    }
}

/// Log-odds of a rate that varies against one that does not, from which it is said.
const VARIES: f32 = 0.85;

/// Chances of log-odds.
pub fn softmax(log_odds: &ByAnswer) -> ByAnswer {
    let most = log_odds.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut chances = log_odds.map(|odds| (odds - most).exp());
    let total: f32 = chances.iter().sum();
    chances.iter_mut().for_each(|chance| *chance /= total);
    chances
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::items;
    use crate::diagnosis::memory::Memory;
    use crate::diagnosis::{Case, Cause};

    #[test]
    fn the_weights_are_those_of_the_items() {
        let words: Vec<&str> = items::all().map(|item| item.word).collect();
        let fitted = MODEL.provenance.lines().find_map(|line| line.strip_prefix("items: "));
        assert_eq!(fitted.expect("named").split(' ').collect::<Vec<_>>(), words, "make fit");
        let named = MODEL.provenance.lines().find_map(|line| line.strip_prefix("outputs: "));
        let mut outputs: Vec<&str> =
            Limitation::ALL.iter().take(ANSWERS).map(|each| each.name()).collect();
        outputs.push(Cause::UnsharedVarying.name());
        assert_eq!(named.expect("named").split(' ').collect::<Vec<_>>(), outputs);
    }

    #[test]
    fn chances_add_up_to_one_whatever_is_known() {
        let observed = Memory::default().observe(&Case::default());
        let chances = softmax(&MODEL.asked(&observed).log_odds);
        assert!((chances.iter().sum::<f32>() - 1.0).abs() < 1e-5, "{chances:?}");
    }

    #[test]
    fn a_link_of_ones_own_is_as_likely_as_both_of_its_outputs() {
        let observed = Memory::default().observe(&Case::default());
        let outputs = MODEL.forest.log_odds(&observed);
        let said = MODEL.asked(&observed);
        let both = outputs[STEADY].exp() + outputs[VARYING].exp();
        assert!((said.log_odds[STEADY].exp() - both).abs() < 1e-4 * both, "{said:?} {outputs:?}");
        assert_eq!(said.varies, outputs[VARYING] - outputs[STEADY] >= VARIES);
    }

    #[test]
    fn a_surer_answer_is_right_more_often() {
        let right: Vec<f32> = (0..=100).map(|n| MODEL.calibrated(n as f32 / 100.0)).collect();
        assert!(right.is_sorted() && right.iter().all(|p| (0.0..=1.0).contains(p)), "{right:?}");
        assert_eq!(MODEL.confidence(0.0), Confidence::Low);
        assert_eq!(MODEL.confidence(1.0), Confidence::High);
    }
}
