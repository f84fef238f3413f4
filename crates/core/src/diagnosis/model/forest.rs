//! Trees whose nodes ask for one column each, and whose leaves hold log-odds of all outputs.
//!
//! A walk takes the same number of steps in every tree: nothing is left to be predicted, and
//! processors walk several trees at once. A step is seven instructions. Numbers of nodes have two
//! bytes, and there is room for one more than any of them, so that none needs a check.

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
    /// By output, what each node changed in the mean log-odds of what passed the node above it in
    /// the fit; behind all nodes stand the leaves.
    steps: Vec<Box<[f32; ROOM]>>,
}

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
/// A power of two above all of them.
const ROOM: usize = 2 * NUMBERS;
/// Where the steps of the first to the last question lead to: the last ones to leaves.
const BEHIND: [usize; DEPTH] = [0, 0, 0, 0, 0, NUMBERS];
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
    /// The log-odds of each output.
    pub fn log_odds(&self, observed: &Observed) -> ByOutput<f32> {
        let keys = keys(observed);
        let mut sums = [0i32; OUTPUTS];
        for (tree, leaves) in self.leaves.iter().enumerate() {
            let at = (0..DEPTH).fold(root(tree), |at, _| self.node(at).next(&keys));
            for (sum, &worth) in sums.iter_mut().zip(&leaves[usize::from(at) % LEAVES]) {
                *sum += i32::from(worth);
            }
        }
        sums.map(|sum| sum as f32 * self.scale)
    }

    /// How much each column moved the log-odds of an output against those of its rival: what the
    /// steps down the trees changed in them, by the column that was asked (Saabas 2014). All of it
    /// adds up to the difference at the leaves less that at the roots.
    pub fn moves(&self, observed: &Observed, output: usize, rival: usize) -> [f32; COLUMNS] {
        let keys = keys(observed);
        let (mine, other) = (&self.steps[output], &self.steps[rival]);
        let mut moves = [0.0; KEYS];
        for tree in 0..self.leaves.len() {
            // In the width of an address, since other places are found by it too.
            let mut at = usize::from(root(tree));
            for behind in BEHIND {
                let node = &self.nodes[at];
                at = usize::from(node.above) + usize::from(node.is_below(&keys));
                moves[node.column()] += mine[behind + at] - other[behind + at];
            }
        }
        std::array::from_fn(|column| moves[column] + moves[COLUMNS + column])
    }

    #[inline(always)]
    fn node(&self, at: u16) -> &Node {
        &self.nodes[usize::from(at)]
    }

    /// Reads trees: nodes from the root on, left before right.
    pub fn read(table: &mut Table) -> Forest {
        let scale = table.f32();
        let mut forest = Forest {
            nodes: room(),
            leaves: Vec::new(),
            scale,
            steps: (0..OUTPUTS).map(|_| room()).collect(),
        };
        table.many(|table| {
            let tree = forest.leaves.len();
            assert!(tree < NUMBERS / LEAVES, "too many trees: see ROUNDS of tools/fit");
            let first = tree * LEAVES;
            forest.leaves.push([[0; OUTPUTS]; LEAVES]);
            // Where nothing is asked, both ways lead to the same leaf.
            for node in 1..LEAVES {
                forest.nodes[first + node].above = (first + 2 * node % LEAVES) as u16;
            }
            forest.grow(table, first, 1, false);
        });
        forest
    }

    /// Reads a node of the tree that begins at `tree`, and all below it; its mean log-odds in the
    /// fit.
    fn grow(
        &mut self,
        table: &mut Table,
        tree: usize,
        node: usize,
        is_leaf: bool,
    ) -> ByOutput<f32> {
        if is_leaf {
            let (leaf, height) = (table.leaf(), DEPTH as u32 - node.ilog2());
            let leaves = self.leaves.last_mut().expect("of this tree");
            leaves[(node << height) - LEAVES..((node + 1) << height) - LEAVES].fill(leaf);
            return leaf.map(|worth| f32::from(worth) * self.scale);
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
        let under = BEHIND[node.ilog2() as usize] + tree + 2 * node % LEAVES;
        let mut mean = [0.0; OUTPUTS];
        for (output, steps) in self.steps.iter_mut().enumerate() {
            mean[output] = share * below[output] + (1.0 - share) * above[output];
            steps[under + 1] = below[output] - mean[output];
            steps[under] = above[output] - mean[output];
        }
        mean
    }
}

impl Node {
    /// Where it leads to.
    #[inline(always)]
    fn next(&self, keys: &Keys) -> u16 {
        // In two bytes: an addition with carry, where a wider sum would become part of an address.
        self.above.wrapping_add(u16::from(self.is_below(keys)))
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
fn room<T: Clone + Default>() -> Box<[T; ROOM]> {
    let room = vec![T::default(); ROOM].into_boxed_slice().try_into();
    room.unwrap_or_else(|_| unreachable!("as long as it was made"))
}

/// The number of the first node of a tree.
fn root(tree: usize) -> u16 {
    (tree * LEAVES + 1) as u16
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
