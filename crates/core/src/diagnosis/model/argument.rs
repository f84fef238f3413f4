//! What speaks for an answer and what against it: the items that moved its log-odds most against
//! those of the likeliest other answer.

use super::{Asked, ByAnswer, Model, STEADY};
use crate::diagnosis::items::{self, COUNT, Item, Unit};
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
    /// The argument for `answer`, where these are the chances of all, and the intervals around it
    /// `moved` the log-odds so far.
    pub fn argument(
        &self,
        asked: &Asked,
        (chances, moved): (&ByAnswer, Option<&ByAnswer>),
        answer: usize,
    ) -> Argument {
        let Asked { observed, ends, own, .. } = asked;
        let unlike = |at: &usize| *at != answer;
        let rival =
            (0..chances.len()).filter(unlike).max_by(|&a, &b| chances[a].total_cmp(&chances[b]));
        let output = |answer| if answer == STEADY { *own } else { answer };
        let rival = rival.expect("several answers");
        let (mine, other) = (output(answer), output(rival));
        let moves = self.forest.moves(ends, mine, other);
        let (values, before) = moves.split_at(COUNT);
        // Of what is unknown nothing is said. Last come the intervals around this one.
        let weights: [f32; COUNT + 1] =
            std::array::from_fn(|item| match observed.values.get(item) {
                None => moved.map_or(0.0, |moved| moved[answer] - moved[rival]),
                Some(value) if value.is_nan() => 0.0,
                Some(_) => values[item] + before[item],
            });
        let listed = |items: Weightiest| {
            let mut text = String::with_capacity(items.count * PHRASE_BYTES);
            for &(item, _) in &items.items[..items.count] {
                if !text.is_empty() {
                    text.push_str("; ");
                }
                phrase(&mut text, item, observed.values.get(item).copied(), weights[item]);
            }
            text
        };
        Argument {
            speaks_for: listed(Weightiest::of(weights.into_iter().enumerate())),
            speaks_against: {
                let against = weights.into_iter().enumerate().rev();
                listed(Weightiest::of(against.map(|(item, weight)| (item, -weight))))
            },
        }
    }
}

/// The few items that weigh most, the weightiest first.
#[derive(Default)]
struct Weightiest {
    items: [(usize, f32); MOST],
    count: usize,
}

impl Weightiest {
    /// Of items with their weights; of equal ones those that come first.
    fn of(items: impl Iterator<Item = (usize, f32)>) -> Weightiest {
        let mut most = Weightiest::default();
        for (item, weight) in items.filter(|&(_, weight)| weight >= LEAST) {
            let at = most.items[..most.count].partition_point(|&(_, other)| other >= weight);
            if at < MOST {
                most.count = (most.count + 1).min(MOST);
                most.items[at..most.count].rotate_right(1);
                most.items[at] = (item, weight);
            }
        }
        most
    }
}

/// Adds an item with its value and weight: `round trips with a queue 82 % (+1.9)`.
///
/// Without a value it is what the intervals before and after weighed.
fn phrase(text: &mut String, item: usize, value: Option<f32>, weight: f32) {
    match value {
        Some(value) => named(text, items::at(item), f64::from(value)),
        None => text.push_str(AROUND),
    }
    text.push_str(if weight < 0.0 { " (" } else { " (+" });
    text.push_str(&words::decimal(f64::from(weight), 1));
    text.push(')');
}

fn named(text: &mut String, item: &Item, value: f64) {
    text.push_str(item.plain);
    text.push(' ');
    match item.unit {
        Unit::Share => text.push_str(&words::percent(value)),
        Unit::Times => text.push_str(&words::decimal(value, 2)),
        Unit::Count => text.push_str(&words::grouped(value.round() as u64)),
        Unit::Seconds => text.push_str(&words::seconds(value)),
        Unit::Rate => text.push_str(&words::rate(value)),
        Unit::Bytes => text.push_str(&words::bytes(value)),
        Unit::Flag => text.push_str(if value > 0.5 { "yes" } else { "no" }),
    }
}

/// What the answers for the intervals before and after are called.
const AROUND: &str = "the intervals before and after";
/// Items named on each side.
const MOST: usize = 4;
/// Log-odds below which an item is not worth a word.
const LEAST: f32 = 0.15;
/// What a phrase takes, about.
const PHRASE_BYTES: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn order(weights: &[f32]) -> Vec<usize> {
        let most = Weightiest::of(weights.iter().copied().enumerate());
        most.items[..most.count].iter().map(|&(item, _)| item).collect()
    }

    #[test]
    fn the_weightiest_come_first_and_of_equals_the_first() {
        assert_eq!(order(&[0.2, 3.0, 0.1, 0.2, 5.0, -9.0, 0.2]), [4, 1, 0, 3]);
        assert_eq!(order(&[0.1, -1.0, 0.4]), [2]);
    }

    #[test]
    fn a_phrase_ends_with_its_value_and_weight() {
        let mut text = String::new();
        phrase(&mut text, 0, Some(0.824), 1.94);
        assert!(text.ends_with(" 82 % (+1.9)"), "{text}");
    }
}
