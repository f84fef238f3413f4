//! Trees whose nodes ask for one column each, and whose leaves hold log-odds of all outputs.
//!
//! A walk takes the same number of steps in every tree: nothing is left to be predicted. A step is
//! nine instructions that wait for a cache, so several trees are walked side by side. Numbers of
//! nodes have two bytes, and there is room for one more than any of them: none needs a check.

use super::table::Table;
use super::{ByOutput, OUTPUTS};
use crate::diagnosis::items::{COUNT, Values};
use crate::diagnosis::memory::Observed;

/// All trees, each complete: below the node with number `n` of a tree stand `2 n`, and `2 n + 1`
/// for what is below the threshold. Below the last questions stand leaves, numbered from 0 on. A
/// leaf higher up stands for all that would be under it.
pub struct Forest {
    nodes: Box<[Node; ROOM]>,
    /// By tree, as short as they are stored: what does not fit a cache costs more than widening.
    leaves: Vec<[ByOutput<i16>; LEAVES]>,
    /// What a step of a leaf is worth in log-odds.
    scale: f32,
    /// By output, how the way to a node or leaf moved the mean of what passed in the fit, in steps
    /// of a leaf. Below the node with number `n` of a tree are `2 n` and `2 n + 1`, be they nodes
    /// or leaves.
    ways: Vec<Box<[i16; 2 * NUMBERS]>>,
}

/// The leaf where the walk through each tree ends.
#[derive(Clone, Debug)]
pub struct Ends([u8; TREES]);

/// A question, and where it leads to if the column is not below the threshold: the next node is for
/// what is.
#[derive(Clone, Copy, Default)]
struct Node {
    threshold: u32,
    column: u16,
    above: u16,
}

/// The most questions that a tree asks on its way.
const DEPTH: usize = 6;
const LEAVES: usize = 1 << DEPTH;
/// Numbers of nodes.
const NUMBERS: usize = 1 << 16;
/// The most trees.
const TREES: usize = NUMBERS / LEAVES;
/// Trees that are walked side by side; there are no registers for more.
const TOGETHER: usize = 4;
/// A power of two above all of them.
const ROOM: usize = 2 * NUMBERS;
/// Columns: the items, and what they said before.
const COLUMNS: usize = 2 * COUNT;
/// A question is its column, and by these bits where what is unknown goes and which ways end.
const UNKNOWN_BELOW: u16 = 0x8000;
const LEAF_BELOW: u16 = 0x4000;
const LEAF_ABOVE: u16 = 0x2000;
const COLUMN: u16 = 0x1fff;
/// A power of two, so that a column needs no check.
const KEYS: usize = (2 * COLUMNS).next_power_of_two();

/// The columns of an interval as integers of the same order, with what is unknown below all
/// thresholds, then with it above them.
type Keys = [u32; KEYS];

impl Forest {
    /// Walks down all trees.
    pub fn ends(&self, observed: &Observed) -> Ends {
        let keys = keys(observed);
        let mut ends = [0; TREES];
        let blocks = ends.chunks_exact_mut(TOGETHER).take(self.leaves.len().div_ceil(TOGETHER));
        for (block, ends) in blocks.enumerate() {
            let mut at: [usize; TOGETHER] = std::array::from_fn(|n| root(block * TOGETHER + n));
            for _ in 0..DEPTH {
                at = at.map(|at| self.nodes[at].next(&keys));
            }
            ends.iter_mut().zip(at).for_each(|(end, at)| *end = (at % LEAVES) as u8);
        }
        Ends(ends)
    }

    /// The log-odds of each output.
    pub fn log_odds(&self, ends: &Ends) -> ByOutput<f32> {
        let mut sums = [0i32; OUTPUTS];
        for (leaves, &end) in self.leaves.iter().zip(&ends.0) {
            for (sum, &worth) in sums.iter_mut().zip(&leaves[usize::from(end) % LEAVES]) {
                *sum += i32::from(worth);
            }
        }
        sums.map(|sum| sum as f32 * self.scale)
    }

    /// How much each column moved the log-odds of an output against those of its rival: what the
    /// steps down the trees changed in them, by the column that was asked (Saabas 2014). All of it
    /// adds up to the difference at the leaves less that at the roots.
    pub fn moves(&self, ends: &Ends, output: usize, rival: usize) -> [f32; COLUMNS] {
        let (mine, other) = (&self.ways[output], &self.ways[rival]);
        let mut moves = [0i32; KEYS];
        for (tree, &end) in ends.0[..self.leaves.len()].iter().enumerate() {
            // What is above a leaf has its number without the last digits.
            let leaf = LEAVES + usize::from(end) % LEAVES;
            for questions in 1..=DEPTH {
                let way = (2 * tree * LEAVES + (leaf >> (DEPTH - questions))) % (2 * NUMBERS);
                let asked = tree * LEAVES + (leaf >> (DEPTH + 1 - questions));
                let moved = i32::from(mine[way]) - i32::from(other[way]);
                moves[self.nodes[asked % ROOM].column()] += moved;
            }
        }
        std::array::from_fn(|column| (moves[column] + moves[COLUMNS + column]) as f32 * self.scale)
    }

    /// Reads trees: nodes from the root on, left before right.
    pub fn read(table: &mut Table) -> Forest {
        let scale = table.f32();
        let mut forest = Forest {
            nodes: room(),
            leaves: Vec::new(),
            scale,
            ways: (0..OUTPUTS).map(|_| room()).collect(),
        };
        table.many(|table| {
            let tree = forest.leaves.len();
            assert!(tree < TREES, "too many trees: see ROUNDS of tools/fit");
            let first = tree * LEAVES;
            forest.leaves.push([[0; OUTPUTS]; LEAVES]);
            // Where nothing is asked, both ways lead to the same leaf.
            for node in 1..LEAVES {
                forest.nodes[first + node].above = (first + 2 * node % LEAVES) as u16;
            }
            table.tree();
            forest.grow(table, first, 1, false);
        });
        forest
    }

    /// Reads a node of the tree that begins at `tree`, and all below it; the mean of what passed it
    /// in the fit, in steps of a leaf.
    fn grow(
        &mut self,
        table: &mut Table,
        tree: usize,
        node: usize,
        is_leaf: bool,
    ) -> ByOutput<f32> {
        if is_leaf {
            let leaf = table.leaf();
            let height = DEPTH - node.ilog2() as usize;
            let under = (node << height) - LEAVES..((node + 1) << height) - LEAVES;
            self.leaves.last_mut().expect("of this tree")[under].fill(leaf);
            return leaf.map(f32::from);
        }
        assert!(node < LEAVES, "a tree too deep: see max_depth of tools/fit");
        let word = table.u16();
        let column = word & COLUMN;
        let asked = &mut self.nodes[tree + node];
        asked.column = if word & UNKNOWN_BELOW > 0 { column } else { column + COLUMNS as u16 };
        asked.threshold = key(table.f32());
        let share = f32::from(table.u8()) / 255.0;
        let below = self.grow(table, tree, 2 * node + 1, word & LEAF_BELOW > 0);
        let above = self.grow(table, tree, 2 * node, word & LEAF_ABOVE > 0);
        std::array::from_fn(|at| {
            let mean = share * below[at] + (1.0 - share) * above[at];
            let ways = &mut self.ways[at][2 * (tree + node)..];
            ways[1] = nearest(below[at] - mean);
            ways[0] = nearest(above[at] - mean);
            mean
        })
    }
}

impl Node {
    /// Where it leads to.
    #[inline(always)]
    fn next(&self, keys: &Keys) -> usize {
        usize::from(self.above) + usize::from(self.is_below(keys))
    }

    #[inline(always)]
    fn is_below(&self, keys: &Keys) -> bool {
        keys[self.column()] < self.threshold
    }

    #[inline(always)]
    fn column(&self) -> usize {
        usize::from(self.column) % KEYS
    }
}

/// Room for all numbers, made on the heap.
fn room<T: Clone + Default, const LEN: usize>() -> Box<[T; LEN]> {
    let room = vec![T::default(); LEN].into_boxed_slice().try_into();
    room.unwrap_or_else(|_| unreachable!("as long as it was made"))
}

/// The nearest integer, or the largest one; the library's is a call on a plain processor.
fn nearest(value: f32) -> i16 {
    (value + 0.5f32.copysign(value)) as i16
}

/// The number of the first node of a tree.
fn root(tree: usize) -> usize {
    tree * LEAVES + 1
}

fn keys(observed: &Observed) -> Keys {
    let mut keys = [0; KEYS];
    for (values, from) in [(&observed.values, 0), (&observed.before, COUNT)] {
        let (low, high) = keys.split_at_mut(COLUMNS);
        keys_of(values, &mut low[from..], &mut high[from..]);
    }
    keys
}

/// Several values at once, since none depends on another.
fn keys_of(values: &Values, low: &mut [u32], high: &mut [u32]) {
    for ((low, high), &value) in low.iter_mut().zip(high).zip(values) {
        let (unknown, key) = (u32::from(value.is_nan()).wrapping_neg(), key(value));
        (*low, *high) = (key & !unknown, key | unknown);
    }
}

/// An integer in the order of numbers: the larger, the less below zero; zeros are the same.
#[inline(always)]
fn key(value: f32) -> u32 {
    let bits = (value + 0.0).to_bits();
    bits ^ ((bits as i32 >> 31) as u32 | 1 << 31)
}

#[cfg(test)]
mod tests;
