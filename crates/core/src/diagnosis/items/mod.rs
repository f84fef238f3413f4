//! The items of evidence: each one number of an interval, or nothing where the capture shows none.
//!
//! One declaration per item, grouped by theme in the files beside this one. What an item is worth
//! for each answer is not written here: `make fit` learns it ([`super::model`]).

mod delay;
mod flight;
mod history;
mod loss;
mod path;
mod rate;
mod service;
mod time;
mod window;
mod writes;

use super::Case;

/// One number that may speak for or against an answer.
pub struct Item {
    /// Its name in the table of weights.
    pub word: &'static str,
    /// What it is, as the beginning of a phrase that its value ends.
    pub plain: &'static str,
    /// How its value is written.
    pub unit: Unit,
}

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A part of one.
    Share,
    /// A ratio, with two digits after the point.
    Times,
    /// A number of things.
    Count,
    /// Seconds.
    Seconds,
    /// Bits per second.
    Rate,
    /// Bytes.
    Bytes,
    /// Yes or no: one or zero.
    Flag,
}

/// Declares the themes in the order of the columns of the table of observations.
macro_rules! themes {
    ($($theme:ident),+) => {
        /// All of them, by theme. The order is that of the columns of the table of observations.
        pub const THEMES: [&[Item]; [$(stringify!($theme)),+].len()] = [$($theme::ITEMS),+];

        /// What the items say of an interval.
        pub fn values(case: &Case) -> Values {
            let mut values = [f32::NAN; COUNT];
            let mut left = values.iter_mut();
            $($theme::fill(case, &mut left);)+
            values
        }
    };
}
themes!(time, rate, delay, loss, flight, window, writes, path, service, history);

/// How many there are.
pub const COUNT: usize = {
    let (mut count, mut theme) = (0, 0);
    while theme < THEMES.len() {
        count += THEMES[theme].len();
        theme += 1;
    }
    count
};

/// The values of all items in their order; NaN where there is none.
pub type Values = [f32; COUNT];

/// Every item in its order.
pub fn all() -> impl Iterator<Item = &'static Item> {
    THEMES.iter().copied().flatten()
}

/// The item with this number.
pub fn at(mut number: usize) -> &'static Item {
    for theme in THEMES {
        match theme.get(number) {
            Some(item) => return item,
            None => number -= theme.len(),
        }
    }
    unreachable!("there are {COUNT} items")
}

/// Declares the items of a theme: name, unit, words, and the value of a case.
macro_rules! items {
    ($($word:literal $unit:ident $plain:literal |$case:pat_param| $value:expr;)+) => {
        /// The items of this theme.
        pub const ITEMS: &[super::Item] = &[$(super::Item {
            word: $word,
            plain: $plain,
            unit: super::Unit::$unit,
        },)+];

        /// Their values, one after the other; where there is none, it says neither yes nor no.
        pub fn fill(case: &super::Case, values: &mut std::slice::IterMut<f32>) {
            $(
                let value = |$case: &super::Case| -> Option<f64> { $value };
                let found = value(case).filter(|found| found.is_finite());
                if let (Some(place), Some(found)) = (values.next(), found) {
                    *place = found as f32;
                }
            )+
        }
    };
}
use items;

/// One over the other, where there is something to divide by.
fn over(a: f64, b: f64) -> Option<f64> {
    (b > 0.0).then(|| a / b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_two_items_share_a_name() {
        assert_eq!(all().map(|item| item.word).collect::<HashSet<_>>().len(), COUNT);
    }

    #[test]
    fn items_are_found_by_their_number() {
        assert!(all().enumerate().all(|(number, item)| at(number).word == item.word));
    }

    #[test]
    fn an_empty_case_gives_no_infinite_number() {
        assert!(values(&Case::default()).iter().all(|value| !value.is_infinite()));
    }
}
