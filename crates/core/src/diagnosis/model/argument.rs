//! What speaks for an answer and what against it: the items that moved its log-odds most against
//! those of the likeliest other answer.

use super::{ByAnswer, Model};
use crate::diagnosis::items::{self, COUNT, Unit};
use crate::diagnosis::memory::Observed;
use crate::diagnosis::words;

/// Items with their values and what they weighed, in log-odds against the likeliest other answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Argument {
    /// For the answer, the weightiest first.
    pub speaks_for: String,
    /// Against it.
    pub speaks_against: String,
}

impl Model {
    /// The argument for `answer`, where these are the chances of all.
    pub fn argument(&self, observed: &Observed, chances: &ByAnswer, answer: usize) -> Argument {
        let mut weights = [0.0; COUNT];
        let unlike = |at: &usize| *at != answer;
        let rival =
            (0..chances.len()).filter(unlike).max_by(|&a, &b| chances[a].total_cmp(&chances[b]));
        let moves = self.forest.moves(observed, answer, rival.expect("several answers"));
        for (column, moved) in moves.into_iter().enumerate() {
            weights[column % COUNT] += moved;
        }
        let mut order: Vec<usize> =
            (0..COUNT).filter(|&item| !observed.values[item].is_nan()).collect();
        order.sort_by(|&a, &b| weights[b].total_cmp(&weights[a]));
        let told = |items: &mut dyn Iterator<Item = &usize>| {
            let telling = items.take(MOST).filter(|&&item| weights[item].abs() >= LEAST);
            let told = telling.map(|&item| phrase(item, observed.values[item], weights[item]));
            told.collect::<Vec<_>>().join("; ")
        };
        let speaks_for = told(&mut order.iter().filter(|&&item| weights[item] > 0.0));
        let speaks_against = told(&mut order.iter().rev().filter(|&&item| weights[item] < 0.0));
        Argument { speaks_for, speaks_against }
    }
}

/// An item with its value and weight: `round trips with a queue 82 % (+1.9)`.
fn phrase(item: usize, value: f32, weight: f32) -> String {
    let item = items::all().nth(item).expect("one of all");
    let value = f64::from(value);
    let said = match item.unit {
        Unit::Share => words::percent(value),
        Unit::Times => format!("{value:.2}"),
        Unit::Count => words::grouped(value.round() as u64),
        Unit::Seconds => words::seconds(value),
        Unit::Rate => words::rate(value),
        Unit::Bytes => words::bytes(value),
        Unit::Flag => if value > 0.5 { "yes" } else { "no" }.to_owned(),
    };
    format!("{} {said} ({weight:+.1})", item.plain)
}

/// Items named on each side.
const MOST: usize = 4;
/// Log-odds below which an item is not worth a word.
const LEAST: f32 = 0.15;
