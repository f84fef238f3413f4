//! Trees whose nodes ask for one column each, and whose leaves hold log-odds of all outputs.
//!
//! A walk takes the same number of steps in every tree: nothing is left to be predicted. Each step
//! waits for a cache, so several trees are walked side by side, and what they are asked for lies
//! close together.

use super::table::Table;
use super::{ByOutput, OUTPUTS};
use crate::diagnosis::items::{COUNT, Values};
use crate::diagnosis::memory::Observed;

/// All trees, each complete: below the node with number `n` of a tree stand `2 n`, and `2 n + 1`
/// for what is below the threshold. Below the last questions stand leaves, numbered from 0 on. A
/// leaf higher up stands for all that would be under it.
pub struct Forest {
    trees: Vec<Tree>,
    /// By tree; short, since what does not fit a cache costs more than widening.
    leaves: Vec<[Leaf; LEAVES]>,
    /// What a step of the forest is worth in log-odds.
    scale: f32,
    /// By output and tree, how the way to a node or leaf moved the mean of what passed in the fit.
    /// It stands in two steps of the forest, as leaves may differ by twice the largest; leaves are
    /// numbered on from the nodes.
    ways: [Vec<[i16; 2 * LEAVES]>; OUTPUTS],
}

/// The questions of a tree by the numbers of its nodes, the first of which is 1: whether a column
/// is below a threshold.
struct Tree {
    thresholds: [u32; LEAVES],
    columns: [u16; LEAVES],
}

/// What a leaf says of each output in steps of the forest, with room up to what is added at once.
type Leaf = [i16; OUTPUTS.next_multiple_of(4)];

/// The leaf where the walk through each tree ends.
#[derive(Clone, Debug)]
pub struct Ends([u8; TREES]);

/// The most questions that a tree asks on its way.
const DEPTH: usize = 6;
const LEAVES: usize = 1 << DEPTH;
/// The most trees.
const TREES: usize = 1024;
/// Trees that are walked side by side.
const TOGETHER: usize = 8;
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
        let (trees, _) = self.trees.as_chunks::<TOGETHER>();
        for (ends, trees) in ends.as_chunks_mut().0.iter_mut().zip(trees) {
            *ends = walked(trees, &keys);
        }
        Ends(ends)
    }

    /// The log-odds of each output.
    pub fn log_odds(&self, ends: &Ends) -> ByOutput<f32> {
        let reached = || {
            self.leaves.iter().zip(&ends.0).map(|(leaves, &end)| &leaves[usize::from(end) % LEAVES])
        };
        // Leaves that no cache has are asked for at once: sums would wait for a few at a time.
        std::hint::black_box(reached().fold(0, |all, leaf| all ^ leaf[0]));
        let mut sums = Leaf::default().map(i32::from);
        for leaf in reached() {
            for (sum, &worth) in sums.iter_mut().zip(leaf) {
                *sum += i32::from(worth);
            }
        }
        std::array::from_fn(|output| sums[output] as f32 * self.scale)
    }

    /// How much each column moved the log-odds of an output against those of its rival: what the
    /// steps down the trees changed in them, by the column that was asked (Saabas 2014). All of it
    /// adds up to the difference at the leaves less that at the roots.
    pub fn moves(&self, ends: &Ends, output: usize, rival: usize) -> [f32; COLUMNS] {
        let ways = self.ways[output].iter().zip(&self.ways[rival]);
        let mut moves = [0i32; KEYS];
        for (((mine, other), tree), &end) in ways.zip(&self.trees).zip(&ends.0) {
            // What is above a leaf has its number without the last digits.
            let leaf = LEAVES + usize::from(end) % LEAVES;
            for above in 0..DEPTH {
                let way = leaf >> above;
                let moved = i32::from(mine[way]) - i32::from(other[way]);
                moves[tree.column(way / 2)] += moved;
            }
        }
        let scale = 2.0 * self.scale;
        std::array::from_fn(|column| (moves[column] + moves[COLUMNS + column]) as f32 * scale)
    }

    /// Reads trees: nodes from the root on, left before right.
    pub fn read(table: &mut Table) -> Forest {
        let scale = table.f32();
        let mut forest = Forest {
            trees: Vec::new(),
            leaves: Vec::new(),
            scale,
            ways: std::array::from_fn(|_| Vec::new()),
        };
        table.many(|table| {
            assert!(forest.trees.len() < TREES, "too many trees: see ROUNDS of tools/fit");
            forest.begin();
            table.tree();
            forest.grow(table, 1, false);
        });
        // Trees that say nothing make the last ones as many as are walked together.
        while !forest.trees.len().is_multiple_of(TOGETHER) {
            forest.begin();
        }
        forest
    }

    /// Begins a tree that asks nothing: both ways lead to the same leaf.
    fn begin(&mut self) {
        self.trees.push(Tree { thresholds: [0; LEAVES], columns: [0; LEAVES] });
        self.leaves.push([Leaf::default(); LEAVES]);
        self.ways.iter_mut().for_each(|ways| ways.push([0; 2 * LEAVES]));
    }

    /// Reads a node of the last tree and all below it; the mean of what passed it in the fit, in
    /// steps of a leaf.
    fn grow(&mut self, table: &mut Table, node: usize, is_leaf: bool) -> ByOutput<f32> {
        if is_leaf {
            let leaf = table.leaf();
            let height = DEPTH - node.ilog2() as usize;
            let under = (node << height) - LEAVES..((node + 1) << height) - LEAVES;
            let leaves = self.leaves.last_mut().expect("of this tree");
            for each in &mut leaves[under] {
                each[..OUTPUTS].copy_from_slice(&leaf);
            }
            return leaf.map(f32::from);
        }
        assert!(node < LEAVES, "a tree too deep: see max_depth of tools/fit");
        let word = table.u16();
        let column = word & COLUMN;
        let tree = self.trees.last_mut().expect("this tree");
        tree.columns[node] =
            if word & UNKNOWN_BELOW > 0 { column } else { column + COLUMNS as u16 };
        tree.thresholds[node] = key(table.f32());
        let share = f32::from(table.u8()) / 255.0;
        let below = self.grow(table, 2 * node + 1, word & LEAF_BELOW > 0);
        let above = self.grow(table, 2 * node, word & LEAF_ABOVE > 0);
        std::array::from_fn(|at| {
            let mean = share * below[at] + (1.0 - share) * above[at];
            let ways = self.ways[at].last_mut().expect("of this tree");
            ways[2 * node + 1] = nearest((below[at] - mean) / 2.0);
            ways[2 * node] = nearest((above[at] - mean) / 2.0);
            mean
        })
    }
}

impl Tree {
    #[inline(always)]
    fn is_below(&self, node: usize, keys: &Keys) -> bool {
        keys[self.column(node)] < self.thresholds[node % LEAVES]
    }

    #[inline(always)]
    fn column(&self, node: usize) -> usize {
        usize::from(self.columns[node % LEAVES]) % KEYS
    }
}

/// The leaves where walks down these trees end.
#[inline(always)]
fn walked(trees: &[Tree; TOGETHER], keys: &Keys) -> [u8; TOGETHER] {
    let mut nodes = [1; TOGETHER];
    for _ in 0..DEPTH {
        for (node, tree) in nodes.iter_mut().zip(trees) {
            *node = 2 * *node + usize::from(tree.is_below(*node, keys));
        }
    }
    nodes.map(|node| (node % LEAVES) as u8)
}

/// The nearest integer, or the largest one; the library's is a call on a plain processor.
fn nearest(value: f32) -> i16 {
    (value + 0.5f32.copysign(value)) as i16
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
