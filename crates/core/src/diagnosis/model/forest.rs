//! Trees whose nodes ask for one column each, and whose leaves hold log-odds of all answers.

use super::table::Table;
use super::{ANSWERS, ByAnswer};
use crate::diagnosis::memory::Observed;

/// All trees, node after node; the left child of a node follows it.
pub struct Forest {
    nodes: Vec<Node>,
    /// For each node the mean log-odds of what passed it in the fit; in a leaf, what it adds.
    means: Vec<ByAnswer>,
    roots: Vec<u32>,
}

/// A question: is the column below the threshold? In a leaf, none.
#[derive(Clone, Copy)]
struct Node {
    threshold: f32,
    right: u32,
    column: u16,
    unknown_goes_left: bool,
}

/// The column of a node that asks nothing.
const LEAF: u16 = u16::MAX;

impl Forest {
    /// The log-odds of each answer.
    pub fn log_odds(&self, observed: &Observed) -> ByAnswer {
        let mut sums = [0.0; ANSWERS];
        for &root in &self.roots {
            let mut at = root as usize;
            while self.nodes[at].column != LEAF {
                at = self.next(at, observed);
            }
            for (sum, mean) in sums.iter_mut().zip(&self.means[at]) {
                *sum += mean;
            }
        }
        sums
    }

    /// What each step down a tree changed in the mean log-odds, and the column that it asked: the
    /// contributions of a path, which add up to the log-odds less those of the roots (Saabas 2014).
    pub fn steps(&self, observed: &Observed, mut step: impl FnMut(usize, &ByAnswer, &ByAnswer)) {
        for &root in &self.roots {
            let mut at = root as usize;
            while self.nodes[at].column != LEAF {
                let next = self.next(at, observed);
                step(usize::from(self.nodes[at].column), &self.means[at], &self.means[next]);
                at = next;
            }
        }
    }

    fn next(&self, at: usize, observed: &Observed) -> usize {
        let node = self.nodes[at];
        let value = observed.column(usize::from(node.column));
        let left = if value.is_nan() { node.unknown_goes_left } else { value < node.threshold };
        if left { at + 1 } else { node.right as usize }
    }

    /// Reads trees: nodes from the root on, left before right.
    pub fn read(table: &mut Table) -> Forest {
        let scale = table.f32();
        let mut forest = Forest { nodes: Vec::new(), means: Vec::new(), roots: Vec::new() };
        forest.roots = table.many(|table| forest.grow(table, scale));
        forest
    }

    fn grow(&mut self, table: &mut Table, scale: f32) -> u32 {
        let at = self.nodes.len();
        let column = table.u16();
        self.nodes.push(Node { threshold: 0.0, right: 0, column, unknown_goes_left: false });
        self.means.push([0.0; ANSWERS]);
        if column == LEAF {
            self.means[at] = std::array::from_fn(|_| f32::from(table.i16()) * scale);
            return at as u32;
        }
        let unknown_goes_left = table.u8() > 0;
        let threshold = table.f32();
        let share_left = f32::from(table.u8()) / 255.0;
        let left = self.grow(table, scale) as usize;
        let right = self.grow(table, scale);
        self.nodes[at] = Node { threshold, right, column, unknown_goes_left };
        self.means[at] = std::array::from_fn(|answer| {
            let (a, b) = (self.means[left][answer], self.means[right as usize][answer]);
            share_left * a + (1.0 - share_left) * b
        });
        at as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::items::COUNT;

    /// One question on column 0: below 0.5 or unknown, the first answer; else the second.
    fn one_question() -> Forest {
        let mut bytes = 1.0f32.to_le_bytes().to_vec();
        bytes.extend(1u16.to_le_bytes());
        bytes.extend(0u16.to_le_bytes());
        bytes.push(1);
        bytes.extend(0.5f32.to_le_bytes());
        bytes.push(255);
        for answer in 0..2 {
            bytes.extend(LEAF.to_le_bytes());
            (0..ANSWERS).for_each(|at| bytes.extend(i16::from(at == answer).to_le_bytes()));
        }
        Forest::read(&mut Table::new(&bytes))
    }

    fn seen(value: f32) -> Observed {
        let mut observed = Observed { values: [f32::NAN; COUNT], before: [f32::NAN; COUNT] };
        observed.values[0] = value;
        observed
    }

    #[test]
    fn a_question_splits_and_what_is_unknown_has_its_side() {
        let forest = one_question();
        assert_eq!(forest.log_odds(&seen(0.4))[..2], [1.0, 0.0]);
        assert_eq!(forest.log_odds(&seen(0.5))[..2], [0.0, 1.0]);
        assert_eq!(forest.log_odds(&seen(f32::NAN))[..2], [1.0, 0.0]);
    }

    #[test]
    fn steps_add_up_to_the_log_odds() {
        let forest = one_question();
        let mut sum = forest.means[0];
        forest.steps(&seen(0.7), |column, from, to| {
            assert_eq!(column, 0);
            for ((sum, from), to) in sum.iter_mut().zip(from).zip(to) {
                *sum += to - from;
            }
        });
        assert_eq!(sum, forest.log_odds(&seen(0.7)));
    }
}
