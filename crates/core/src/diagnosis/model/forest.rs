//! Trees whose nodes ask for one column each, and whose leaves hold log-odds of all answers.

use super::table::Table;
use super::{ANSWERS, ByAnswer};
use crate::diagnosis::items::COUNT;
use crate::diagnosis::memory::Observed;

/// All trees, node after node.
///
/// A leaf is its own child, so that a walk takes the same number of steps in every tree: nothing is
/// left to be predicted, and processors walk several trees at once.
pub struct Forest {
    nodes: Vec<Node>,
    /// For each node the mean log-odds of what passed it in the fit; in a leaf, what it adds.
    means: Vec<ByAnswer>,
    roots: Vec<u32>,
    depth: u32,
}

/// A question: is the column below the threshold?
#[derive(Clone, Copy)]
struct Node {
    threshold: f32,
    column: u16,
    /// Where it goes if not, and if so.
    children: [u32; 2],
}

/// The column of a node that asks nothing.
const LEAF: u16 = u16::MAX;
/// Columns: the items, and what they said before.
const COLUMNS: usize = 2 * COUNT;

/// The columns of a stretch, with what is unknown below all thresholds, then above them.
type Answers = [f32; 2 * COLUMNS];

fn answers(observed: &Observed) -> Answers {
    let mut answers = [0.0; 2 * COLUMNS];
    for column in 0..COLUMNS {
        let value = observed.column(column);
        answers[column] = if value.is_nan() { f32::NEG_INFINITY } else { value };
        answers[COLUMNS + column] = if value.is_nan() { f32::INFINITY } else { value };
    }
    answers
}

impl Forest {
    /// The log-odds of each answer.
    pub fn log_odds(&self, observed: &Observed) -> ByAnswer {
        let answers = answers(observed);
        let mut sums = [0.0; ANSWERS];
        for &root in &self.roots {
            let leaf = (0..self.depth).fold(root as usize, |at, _| self.next(at, &answers));
            for (sum, mean) in sums.iter_mut().zip(&self.means[leaf]) {
                *sum += mean;
            }
        }
        sums
    }

    /// How much each column moved the log-odds of an answer against those of its rival: what the
    /// steps down the trees changed in them, by the column that was asked (Saabas 2014). All of it
    /// adds up to the difference at the leaves less that at the roots.
    pub fn moves(&self, observed: &Observed, answer: usize, rival: usize) -> [f32; COLUMNS] {
        let answers = answers(observed);
        let side = |at: usize| self.means[at][answer] - self.means[at][rival];
        let mut moves = [0.0; COLUMNS];
        for &root in &self.roots {
            let (mut at, mut before) = (root as usize, side(root as usize));
            for _ in 0..self.depth {
                let next = self.next(at, &answers);
                if next == at {
                    break;
                }
                let after = side(next);
                moves[usize::from(self.nodes[at].column) % COLUMNS] += after - before;
                (at, before) = (next, after);
            }
        }
        moves
    }

    #[inline(always)]
    fn next(&self, at: usize, answers: &Answers) -> usize {
        let node = &self.nodes[at];
        let below = answers[usize::from(node.column)] < node.threshold;
        node.children[usize::from(below)] as usize
    }

    /// Reads trees: nodes from the root on, left before right.
    pub fn read(table: &mut Table) -> Forest {
        let scale = table.f32();
        let mut forest =
            Forest { nodes: Vec::new(), means: Vec::new(), roots: Vec::new(), depth: 0 };
        forest.roots = table.many(|table| forest.grow(table, scale, 0));
        forest
    }

    fn grow(&mut self, table: &mut Table, scale: f32, depth: u32) -> u32 {
        let at = self.nodes.len();
        let column = table.u16();
        self.nodes.push(Node { threshold: 0.0, column: 0, children: [at as u32; 2] });
        self.means.push([0.0; ANSWERS]);
        self.depth = self.depth.max(depth);
        if column == LEAF {
            self.means[at] = std::array::from_fn(|_| f32::from(table.i16()) * scale);
            return at as u32;
        }
        let unknown_is_below = table.u8() > 0;
        let threshold = table.f32();
        let share_left = f32::from(table.u8()) / 255.0;
        let left = self.grow(table, scale, depth + 1);
        let right = self.grow(table, scale, depth + 1);
        let column = if unknown_is_below { column } else { column + COLUMNS as u16 };
        self.nodes[at] = Node { threshold, column, children: [right, left] };
        self.means[at] = std::array::from_fn(|answer| {
            let (a, b) = (self.means[left as usize][answer], self.means[right as usize][answer]);
            share_left * a + (1.0 - share_left) * b
        });
        at as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn moves_add_up_to_the_log_odds() {
        let forest = one_question();
        let moves = forest.moves(&seen(0.7), 1, 0);
        let root = forest.means[0][1] - forest.means[0][0];
        let leaf = forest.log_odds(&seen(0.7));
        assert_eq!(root + moves[0], leaf[1] - leaf[0]);
        assert!(moves[1..].iter().all(|&moved| moved == 0.0));
    }
}
