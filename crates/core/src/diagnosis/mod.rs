//! The refined diagnosis: from facts to one cause, with what speaks for it.
//!
//! Whose time it was is one layer ([`crate::flow::time::clock`], [`shares`]). What limited the
//! interval is another: items of evidence ([`items`]), each worth so much for each answer
//! ([`model`]). Which cause made the limitation, facts say; each limitation has
//! a file ([`limit`]).

pub mod adviser;
pub mod brief;
mod decimal;
pub mod doubt;
pub mod evidence;
pub mod facts;
pub mod headroom;
pub mod history;
pub mod items;
pub mod limit;
pub mod memory;
pub mod model;
mod possible;
pub mod remedy;
mod sentence;
mod shares;
mod silence;
pub mod so_far;
pub mod tally;
pub mod threshold;
pub mod words;

pub use facts::{Context, Facts};
pub use limit::{Cause, Confidence, Limitation};
pub use shares::Shares;
pub use so_far::SoFar;

use crate::flow::loss::bucket::{Levels, Policer};
use crate::flow::loss::burst::Density;
use crate::flow::loss::episodes::Evenness;
use crate::flow::loss::losses::Shape;
use history::History;
#[cfg(test)]
use memory::Memory;
use memory::Observed;
use model::filter::Belief;
use model::{Asked, ByAnswer, MODEL, Said};

/// An interval of a half, a period or the whole, to be judged.
#[derive(Clone, Copy, Debug, Default)]
pub struct Case {
    /// Its facts.
    pub facts: Facts,
    /// What is known of the half.
    pub context: Context,
    /// The policer that the losses of the half show.
    pub policer: Option<Policer>,
    /// What a token bucket would have held at its losses.
    pub levels: Option<Levels>,
    /// How even its loss episodes are.
    pub evenness: Option<Evenness>,
    /// How losses without a queue lie.
    pub losses: Option<Shape>,
    /// Whether its losses meet the ends of dense bursts.
    pub density: Option<Density>,
    /// What is known of the half from its begin on.
    pub so_far: SoFar,
    /// The intervals before it; of a period or the whole, none.
    pub history: History,
    /// What was sent over all of its duration, also while nothing is accounted for, in bit/s of
    /// payload; of a period, nothing.
    pub over_all_bps: Option<f64>,
}

impl Case {
    /// Least round-trip time in s.
    pub fn rtt_min_s(&self) -> Option<f64> {
        self.context.rtt_min.map(|rtt| rtt.as_secs_f64())
    }

    /// Payload bytes of a full segment.
    pub fn mss(&self) -> f64 {
        f64::from(self.context.mss_bytes.max(1))
    }

    /// Whether nothing of the other side was seen, on a link that was not visibly full.
    pub fn is_one_way(&self) -> bool {
        let full = self.facts.load.is_some_and(|load| load >= threshold::UNSHARED_UTILISATION);
        self.context.acks_unseen && !full
    }

    /// Why an interval in which data was sent has no finding.
    pub fn why_unknown(&self) -> &'static str {
        if self.is_one_way() { ONE_WAY } else { NO_ROUND_TRIP }
    }
}

/// The answer for an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Finding {
    /// What limited it.
    pub cause: Cause,
    /// How often such an answer is right.
    pub probability: f32,
    /// What it is called.
    pub confidence: Confidence,
    /// The likeliest other limitation, and how likely it is.
    pub alternative: Option<(Limitation, f32)>,
    /// Chances of all limitations, before calibration.
    pub chances: ByAnswer,
    /// Shares of the time.
    pub shares: Shares,
}

/// Why nothing is said of a direction whose acknowledgements are not in the capture.
const ONE_WAY: &str =
    "no acknowledgements in the capture: it is unknown what the sender waited for";
/// Why nothing is said of one whose acknowledgements cannot be timed.
const NO_ROUND_TRIP: &str =
    "no round trip in the capture: it is unknown what held back the sender's flight";

/// What limited an interval, where `belief` is what was believed before: no finding when it shows
/// nothing at all, or nothing of what the answer would rest on. Second: what the items say of it,
/// by `look`, if they had to be asked.
pub fn diagnose(
    case: &Case,
    belief: &mut Belief,
    look: impl FnOnce(&Case) -> Observed,
) -> (Option<Finding>, Option<Box<Asked>>) {
    if case.facts.span_s <= 0.0 {
        return (None, None);
    }
    let certain = silence::is_certain(case);
    if !certain && case.is_one_way() {
        return (None, None);
    }
    if let Some(finding) = brief::waited(case) {
        belief.settle(finding.chances);
        return (Some(finding), None);
    }
    let asked = MODEL.ask(look(case));
    let Said { mut log_odds, varying } = MODEL.said(&asked);
    possible::rule_out(&mut log_odds, case);
    if certain {
        log_odds[Limitation::Unresponsive as usize] += CERTAIN;
    }
    let chances = belief.follow(&MODEL.filter, &log_odds, case.facts.span_s as f32);
    let found = found(case, chances);
    if possible::lacks_a_round_trip(found.cause.limitation(), case) {
        return (None, Some(asked));
    }
    let cause = match found.cause.limitation() {
        Limitation::UnsharedBottleneck => varying.unwrap_or(found.cause),
        _ => found.cause,
    };
    let finding = Finding { cause, shares: Shares::of(case, cause), ..found };
    let confidence = doubt::tempered(&finding, case);
    (Some(Finding { confidence, ..finding }), Some(asked))
}

/// A finding of which only the cause is known.
#[cfg(test)]
pub fn blamed(cause: Cause) -> Finding {
    Finding { cause, ..found(&Case::default(), [0.0; model::ANSWERS]) }
}

/// The same of a span that stands alone.
#[cfg(test)]
pub fn diagnose_alone(case: &Case) -> Option<Finding> {
    diagnose(case, &mut Belief::default(), |case| Memory::default().look(case)).0
}

/// What chances of all limitations make of an interval; its shares are not known yet.
fn found(case: &Case, chances: ByAnswer) -> Finding {
    let answer = most_likely(&chances);
    let probability = MODEL.calibrated(chances[answer as usize]);
    Finding {
        cause: answer.cause(case),
        probability,
        confidence: MODEL.confidence(probability),
        alternative: next_to(answer, &chances, probability),
        chances,
        shares: Shares::default(),
    }
}

/// The likeliest limitation but `answer`, which is right as often as `probability` says, and how
/// likely it is; no likelier than the answer, also where that is right less often than it seems.
fn next_to(answer: Limitation, chances: &ByAnswer, probability: f32) -> Option<(Limitation, f32)> {
    let mut others = *chances;
    others[answer as usize] = 0.0;
    let next = most_likely(&others);
    let left = (1.0 - probability) / (1.0 - chances[answer as usize]).max(1e-6);
    let chance = (others[next as usize] * left.min(1.0)).min(probability);
    (chance > 0.0).then_some((next, chance))
}

fn most_likely(chances: &ByAnswer) -> Limitation {
    let most = (0..chances.len()).max_by(|&a, &b| chances[a].total_cmp(&chances[b]));
    Limitation::ALL[most.expect("there are answers")]
}

/// Log-odds of a hard fact.
const CERTAIN: f32 = 12.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_name_the_likeliest_and_the_next() {
        let mut chances = [0.0; model::ANSWERS];
        (chances[3], chances[6]) = (0.7, 0.3);
        let found = found(&Case::default(), chances);
        assert_eq!(found.cause.limitation(), Limitation::UnsharedBottleneck);
        let (next, chance) = found.alternative.expect("two");
        assert_eq!(next, Limitation::RandomLoss);
        assert!(chance + found.probability <= 1.0 + 1e-6, "{found:?}");
    }
}
