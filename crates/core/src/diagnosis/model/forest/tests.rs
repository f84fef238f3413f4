//! The forest against a plain reading of the same file.

use super::*;
use crate::diagnosis::model::WEIGHTS;

/// A tree as it stands in the file.
enum Plain {
    Leaf(ByOutput<f32>),
    Node {
        column: usize,
        threshold: f32,
        unknown_is_below: bool,
        share: f32,
        ways: Box<[Plain; 2]>,
    },
}

impl Plain {
    fn read(table: &mut Table, scale: f32, is_leaf: bool) -> Plain {
        if is_leaf {
            return Plain::Leaf(table.leaf().map(|worth| f32::from(worth) * scale));
        }
        let word = table.u16();
        let (column, unknown_is_below) = (word & COLUMN, word & UNKNOWN_BELOW > 0);
        let (threshold, share) = (table.f32(), f32::from(table.u8()) / 255.0);
        let ways = [LEAF_BELOW, LEAF_ABOVE];
        let ways = Box::new(ways.map(|way| Plain::read(table, scale, word & way > 0)));
        Plain::Node { column: usize::from(column), threshold, unknown_is_below, share, ways }
    }

    fn mean(&self) -> ByOutput<f32> {
        match self {
            Plain::Leaf(worth) => *worth,
            Plain::Node { share, ways, .. } => {
                let [below, above] = [ways[0].mean(), ways[1].mean()];
                std::array::from_fn(|at| share * below[at] + (1.0 - share) * above[at])
            }
        }
    }

    /// Notes the thresholds of each column.
    fn gather(&self, thresholds: &mut [Vec<f32>]) {
        if let Plain::Node { column, threshold, ways, .. } = self {
            thresholds[*column].push(*threshold);
            ways.iter().for_each(|way| way.gather(thresholds));
        }
    }

    /// Walks to a leaf, and notes what each step changed by column.
    fn walk(&self, observed: &Observed, moves: &mut [ByOutput<f32>]) -> ByOutput<f32> {
        match self {
            Plain::Leaf(worth) => *worth,
            Plain::Node { column, threshold, unknown_is_below, ways, .. } => {
                let values = observed.values.iter().chain(&observed.before);
                let value = values.copied().nth(*column).expect("a column");
                let below = if value.is_nan() { *unknown_is_below } else { value < *threshold };
                let way = &ways[usize::from(!below)];
                let (from, to) = (self.mean(), way.mean());
                for output in 0..OUTPUTS {
                    moves[*column][output] += to[output] - from[output];
                }
                way.walk(observed, moves)
            }
        }
    }
}

/// The forest of the model, and the same trees plainly.
fn both() -> (Forest, Vec<Plain>) {
    let table = || {
        let mut table = Table::new(WEIGHTS);
        table.text();
        table
    };
    let mut plain = table();
    let scale = plain.f32();
    let trees = plain.many(|table| {
        table.tree();
        Plain::read(table, scale, false)
    });
    (Forest::read(&mut table()), trees)
}

/// Intervals with values about the thresholds of their columns, or on one, and some unknown.
fn intervals(plain: &[Plain]) -> impl Iterator<Item = Observed> {
    let mut thresholds = vec![Vec::new(); COLUMNS];
    plain.iter().for_each(|tree| tree.gather(&mut thresholds));
    let mut state = 1u64;
    let mut draw = move |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    (0..200).map(move |round| {
        let mut value = |column: usize| {
            let thresholds = &thresholds[column];
            match draw(1 + round % 5) {
                0 if round % 5 > 0 => f32::NAN,
                _ if thresholds.is_empty() => draw(9) as f32,
                at => thresholds[draw(thresholds.len())] * [1.0, 0.999, 1.001, -1.0, 3.0][at],
            }
        };
        let values = std::array::from_fn(&mut value);
        Observed { values, before: std::array::from_fn(|item| value(COUNT + item)) }
    })
}

#[test]
fn keys_are_in_the_order_of_numbers() {
    let numbers = [f32::MIN, -2.0, -1e-40, 0.0, 1e-40, 0.1, 0.100_000_01, 7e8, f32::MAX];
    assert!(numbers.map(key).is_sorted_by(|a, b| a < b));
    assert_eq!(key(-0.0), key(0.0));
    assert!(0 < key(f32::MIN) && key(f32::MAX) < u32::MAX);
}

#[test]
fn trees_lead_where_the_file_says() {
    let (forest, plain) = both();
    for observed in intervals(&plain) {
        let mut sums = [0.0f64; OUTPUTS];
        let mut moves = vec![[0.0; OUTPUTS]; COLUMNS];
        for tree in &plain {
            let leaf = tree.walk(&observed, &mut moves);
            sums.iter_mut().zip(leaf).for_each(|(sum, worth)| *sum += f64::from(worth));
        }
        let ends = forest.ends(&observed);
        let found = forest.log_odds(&ends);
        for (found, sum) in found.iter().zip(sums) {
            assert!((f64::from(*found) - sum).abs() < 1e-3, "{found} {sum}");
        }
        let found = forest.moves(&ends, 3, 7);
        for (found, moved) in found.iter().zip(&moves) {
            assert!((found - (moved[3] - moved[7])).abs() < 1e-3, "{found} {moved:?}");
        }
    }
}

/// One question on column 0: below 0.5 or unknown, the first answer; else the second. Its leaves
/// count in two steps of the forest, each of half a unit.
fn one_question() -> Forest {
    let mut bytes = 0.5f32.to_le_bytes().to_vec();
    bytes.extend(1u16.to_le_bytes());
    bytes.push(2);
    bytes.extend((UNKNOWN_BELOW | LEAF_BELOW | LEAF_ABOVE).to_le_bytes());
    bytes.extend(0.5f32.to_le_bytes());
    bytes.push(255);
    for answer in 0..2 {
        bytes.extend((0..OUTPUTS).map(|at| u8::from(at == answer)));
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
    assert_eq!(forest.log_odds(&forest.ends(&seen(0.4)))[..2], [1.0, 0.0]);
    assert_eq!(forest.log_odds(&forest.ends(&seen(0.5)))[..2], [0.0, 1.0]);
    assert_eq!(forest.log_odds(&forest.ends(&seen(f32::NAN)))[..2], [1.0, 0.0]);
}

#[test]
fn moves_add_up_to_the_log_odds() {
    let forest = one_question();
    let moves = forest.moves(&forest.ends(&seen(0.7)), 1, 0);
    // All of the fit went below, so that the root's means are those of the leaf there.
    let root = 0.0 - 1.0;
    let leaf = forest.log_odds(&forest.ends(&seen(0.7)));
    assert_eq!(root + moves[0], leaf[1] - leaf[0]);
    assert!(moves[1..].iter().all(|&moved| moved == 0.0));
}
