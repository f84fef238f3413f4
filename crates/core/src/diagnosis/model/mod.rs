//! The evidence model: what each item of evidence is worth for each answer, added up.
//!
//! An item, or a pair of items, has a table of log-odds by answer; the bins that a stretch falls
//! into are looked up and added, and the softmax of the sums says how likely each answer is (a
//! generalised additive model with pairs: Lou et al., KDD 2013). [`filter`] carries it from one
//! stretch to the next, and `weights.bin`, which `make fit` makes, holds every number.

pub mod argument;
pub mod filter;
mod table;

use super::memory::Observed;
use crate::limit::{Confidence, Limitation};
use std::sync::LazyLock;
use table::Table;

/// Answers of the model: every limitation but `mixed`, which comes last.
pub const ANSWERS: usize = Limitation::ALL.len() - 1;

/// One number by answer.
pub type ByAnswer = [f32; ANSWERS];

/// The bin of every column of a stretch.
pub type Bins = Vec<u8>;

/// The model as fitted.
pub static MODEL: LazyLock<Model> = LazyLock::new(|| Model::read(WEIGHTS));

const WEIGHTS: &[u8] = include_bytes!("weights.bin");

/// Tables of log-odds, and what makes chances of them.
pub struct Model {
    /// Where it comes from: lines of text.
    #[cfg_attr(not(test), expect(dead_code, reason = "for people, and for the test of its items"))]
    pub provenance: String,
    columns: Vec<Column>,
    terms: Vec<Term>,
    offset: ByAnswer,
    /// How a stretch follows on the one before.
    pub filter: filter::Settings,
    /// Chance of the likeliest answer, and how often it is right.
    calibration: Vec<(f32, f32)>,
    /// Probabilities from which an answer is medium, and high.
    cuts: [f32; 2],
}

/// How an item is cut into bins: bin 0 is for no value.
struct Column {
    /// Its number: that of the item, or of what it was before after all items.
    number: usize,
    edges: Vec<f32>,
}

/// The table of an item or a pair.
struct Term {
    /// Places in the columns, with the coarse bin of each bin.
    axes: Vec<Axis>,
    /// One row for each cell.
    rows: Vec<ByAnswer>,
}

struct Axis {
    column: usize,
    coarse: Vec<u8>,
    size: usize,
}

impl Model {
    /// The bins of what the items say.
    pub fn bins(&self, observed: &Observed) -> Bins {
        let bin = |column: &Column| {
            let value = observed.column(column.number);
            let above = column.edges.iter().filter(|&&edge| value >= edge).count() as u8;
            if value.is_nan() { 0 } else { 1 + above }
        };
        self.columns.iter().map(bin).collect()
    }

    /// The log-odds of each answer.
    pub fn log_odds(&self, bins: &Bins) -> ByAnswer {
        let mut sums = self.offset;
        for term in &self.terms {
            for (sum, weight) in sums.iter_mut().zip(term.row(bins)) {
                *sum += weight;
            }
        }
        sums
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
        let columns = table.many(|table| Column {
            number: usize::from(table.u16()),
            edges: (0..table.u8()).map(|_| table.f32()).collect(),
        });
        let terms = table.many(|table| {
            let axes: Vec<Axis> = (0..table.u8()).map(|_| Axis::read(table)).collect();
            let scale = table.f32();
            let cells: usize = axes.iter().map(|axis| axis.size).product();
            let row = |table: &mut Table| -> ByAnswer {
                std::array::from_fn(|_| f32::from(table.i16()) * scale)
            };
            let rows = (0..cells).map(|_| row(table)).collect();
            Term { axes, rows }
        });
        let offset = table.by_answer();
        let filter = filter::Settings {
            stay_a_second: table.f32(),
            trust: table.f32(),
            prior: table.by_answer(),
        };
        let calibration = table.many(|table| (table.f32(), table.f32()));
        let cuts = [table.f32(), table.f32()];
        Model { provenance, columns, terms, offset, filter, calibration, cuts }
    }
}

impl Axis {
    fn read(table: &mut Table) -> Axis {
        let column = usize::from(table.u16());
        let coarse: Vec<u8> = (0..table.u8()).map(|_| table.u8()).collect();
        let size = coarse.iter().max().map_or(0, |&most| usize::from(most) + 1);
        Axis { column, coarse, size }
    }
}

impl Term {
    fn row(&self, bins: &Bins) -> &ByAnswer {
        let cell = self.axes.iter().fold(0, |cell, axis| {
            let bin = usize::from(bins[axis.column]);
            cell * axis.size + usize::from(axis.coarse[bin])
        });
        &self.rows[cell]
    }
}

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
    use crate::diagnosis::Case;
    use crate::diagnosis::items;
    use crate::diagnosis::memory::Memory;

    #[test]
    fn the_weights_are_those_of_the_items() {
        let words: Vec<&str> = items::all().map(|item| item.word).collect();
        let fitted = MODEL.provenance.lines().find_map(|line| line.strip_prefix("items: "));
        assert_eq!(fitted.expect("named").split(' ').collect::<Vec<_>>(), words, "make fit");
        let answers = MODEL.provenance.lines().find_map(|line| line.strip_prefix("answers: "));
        let limitations: Vec<&str> =
            Limitation::ALL.iter().take(ANSWERS).map(|each| each.name()).collect();
        assert_eq!(answers.expect("named").split(' ').collect::<Vec<_>>(), limitations);
    }

    #[test]
    fn chances_add_up_to_one_whatever_is_known() {
        let observed = Memory::default().observe(&Case::default());
        let chances = softmax(&MODEL.log_odds(&MODEL.bins(&observed)));
        assert!((chances.iter().sum::<f32>() - 1.0).abs() < 1e-5, "{chances:?}");
    }

    #[test]
    fn a_surer_answer_is_right_more_often() {
        let right: Vec<f32> = (0..=100).map(|n| MODEL.calibrated(n as f32 / 100.0)).collect();
        assert!(right.is_sorted() && right.iter().all(|p| (0.0..=1.0).contains(p)), "{right:?}");
        assert_eq!(MODEL.confidence(0.0), Confidence::Low);
        assert_eq!(MODEL.confidence(1.0), Confidence::High);
    }
}
