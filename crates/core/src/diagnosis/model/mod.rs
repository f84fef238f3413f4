//! The evidence model: what the items of evidence say of each answer, added up tree by tree.
//!
//! Boosted trees (Friedman, "Greedy function approximation", Ann. Statist. 2001) whose leaves hold
//! log-odds of all answers at once; the softmax of their sums says how likely each answer is.
//! [`filter`] carries it from one interval to the next, and `weights.bin`, which `make fit` makes,
//! holds every number.

pub mod argument;
pub mod around;
pub mod curve;
pub mod filter;
mod forest;
mod table;

use super::memory::Observed;
use super::{Cause, Limitation};
use around::Around;
use curve::Curve;
use forest::{Ends, Forest};
use std::sync::LazyLock;
use table::Table;

/// Answers of the model: every limitation but `mixed`, which comes last.
pub const ANSWERS: usize = Limitation::ALL.len() - 1;

/// One number by answer.
pub type ByAnswer = [f32; ANSWERS];

/// Kinds of links of the connection's own whose rate varies by itself.
const VARYING: [Cause; 2] = [Cause::UnsharedWifi, Cause::UnsharedCellular];
/// Outputs of the trees: the answers, then these kinds.
const OUTPUTS: usize = ANSWERS + VARYING.len();
/// The output of a link of the connection's own whose rate is steady.
const STEADY: usize = Limitation::UnsharedBottleneck as usize;

/// One number by output.
type ByOutput<T> = [T; OUTPUTS];

/// What the items say of an interval.
#[derive(Clone, Copy, Debug)]
pub struct Said {
    /// The log-odds of each answer.
    pub log_odds: ByAnswer,
    /// What link of the connection's own it is, if it is one whose rate varies by itself.
    pub varying: Option<Cause>,
}

/// What the items say of an interval, and where that led to in the trees: an argument needs both.
#[derive(Clone, Debug)]
pub struct Asked {
    /// What the items say.
    pub observed: Observed,
    /// What the trees make of it.
    pub said: Said,
    ends: Ends,
    /// The output that stands for a link of the connection's own.
    own: usize,
}

/// The model as fitted.
pub static MODEL: LazyLock<Model> = LazyLock::new(|| Model::read(WEIGHTS));

const WEIGHTS: &[u8] = include_bytes!("weights.bin");

/// Trees of log-odds, and what makes chances of them.
pub struct Model {
    /// Where it comes from: lines of text.
    #[cfg_attr(not(test), expect(dead_code, reason = "for people, and for the test of its items"))]
    pub provenance: String,
    forest: Forest,
    /// How an interval follows on the one before.
    pub filter: filter::Settings,
    /// How often an answer is right that rests on an interval and those before it.
    pub alone: Curve,
    /// What the intervals around one say of it.
    pub around: Around,
    /// How often the answer for a direction of several intervals is right.
    pub whole: Curve,
}

impl Model {
    /// Asks the trees about what the items say.
    pub fn ask(&self, observed: Observed) -> Box<Asked> {
        let ends = self.forest.ends(&observed);
        let outputs = self.forest.log_odds(&ends);
        let mut log_odds = *outputs.first_chunk().expect("the answers come first");
        log_odds[STEADY] = together(outputs[STEADY], varies(&outputs));
        let varying = varying(&outputs);
        let own = varying.map_or(STEADY, |_| ANSWERS + likeliest_kind(&outputs));
        Box::new(Asked { said: Said { log_odds, varying }, ends, own, observed })
    }

    fn read(bytes: &[u8]) -> Model {
        let mut table = Table::new(bytes);
        let provenance = table.text();
        let forest = Forest::read(&mut table);
        let filter = filter::Settings {
            stay_a_second: table.f32(),
            trust: table.f32(),
            prior: table.by_answer(),
        };
        let (alone, around) = (Curve::read(&mut table), Around::read(&mut table));
        let whole = Curve::read(&mut table);
        Model { provenance, forest, filter, alone, around, whole }
    }
}

/// The log-odds of a rate that varies, of whichever kind the link is.
fn varies(outputs: &ByOutput<f32>) -> f32 {
    outputs[ANSWERS..].iter().copied().fold(f32::NEG_INFINITY, together)
}

/// The likeliest kind of a link whose rate varies, by its number.
fn likeliest_kind(outputs: &ByOutput<f32>) -> usize {
    let kinds = &outputs[ANSWERS..];
    (0..kinds.len()).max_by(|&a, &b| kinds[a].total_cmp(&kinds[b])).expect("there are some")
}

/// The cause of a link of the connection's own whose rate varies by itself, if it does.
fn varying(outputs: &ByOutput<f32>) -> Option<Cause> {
    let varies = varies(outputs);
    let kind = likeliest_kind(outputs);
    let chance = (outputs[ANSWERS + kind] - varies).exp();
    let cause = if chance >= IS_OF_KIND { VARYING[kind] } else { Cause::UnsharedVarying };
    (varies - outputs[STEADY] >= VARIES).then_some(cause)
}

/// The log-odds of either of two.
fn together(a: f32, b: f32) -> f32 {
    let (more, less) = (a.max(b), a.min(b));
    if less == f32::NEG_INFINITY { more } else { more + (less - more).exp().ln_1p() }
}

/// Log-odds of a rate that varies against one that does not, from which it is said.
const VARIES: f32 = 0.85;
/// Chance of a kind among links whose rate varies from which the kind is said.
const IS_OF_KIND: f32 = 0.8;

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
    use crate::diagnosis::items;
    use crate::diagnosis::memory::Memory;
    use crate::diagnosis::{Case, Cause};

    #[test]
    fn the_weights_are_those_of_the_items() {
        let words: Vec<&str> = items::all().map(|item| item.word).collect();
        let fitted = MODEL.provenance.lines().find_map(|line| line.strip_prefix("items: "));
        assert_eq!(fitted.expect("named").split(' ').collect::<Vec<_>>(), words, "make fit");
        let named = MODEL.provenance.lines().find_map(|line| line.strip_prefix("outputs: "));
        let mut outputs: Vec<&str> =
            Limitation::ALL.iter().take(ANSWERS).map(|each| each.name()).collect();
        outputs.extend(VARYING.map(Cause::name));
        assert_eq!(named.expect("named").split(' ').collect::<Vec<_>>(), outputs);
    }

    #[test]
    fn chances_add_up_to_one_whatever_is_known() {
        let observed = Memory::default().observe(&Case::default());
        let chances = softmax(&MODEL.ask(observed).said.log_odds);
        assert!((chances.iter().sum::<f32>() - 1.0).abs() < 1e-5, "{chances:?}");
    }

    #[test]
    fn a_link_of_ones_own_is_as_likely_as_all_of_its_outputs() {
        let observed = Memory::default().observe(&Case::default());
        let asked = MODEL.ask(observed);
        let outputs = MODEL.forest.log_odds(&asked.ends);
        let said = asked.said;
        let kinds: f32 = outputs[ANSWERS..].iter().map(|odds| odds.exp()).sum();
        let all = outputs[STEADY].exp() + kinds;
        assert!((said.log_odds[STEADY].exp() - all).abs() < 1e-4 * all, "{said:?} {outputs:?}");
    }

    #[test]
    fn a_kind_of_link_is_said_where_it_is_likely_and_that_it_varies_where_none_is() {
        let said = |steady, wifi, cellular| {
            let mut outputs = [-9.0; OUTPUTS];
            outputs[STEADY] = steady;
            outputs[ANSWERS..].copy_from_slice(&[wifi, cellular]);
            varying(&outputs)
        };
        assert_eq!(said(0.0, 3.0, 0.0), Some(Cause::UnsharedWifi));
        assert_eq!(said(0.0, 0.0, 3.0), Some(Cause::UnsharedCellular));
        assert_eq!(said(0.0, 3.0, 2.5), Some(Cause::UnsharedVarying));
        assert_eq!(said(0.0, 0.5, -9.0), None);
        assert_eq!(said(0.0, 0.5, 0.5), Some(Cause::UnsharedVarying));
    }
}
