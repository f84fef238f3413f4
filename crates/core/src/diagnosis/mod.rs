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
pub mod hindsight;
pub mod history;
pub mod items;
pub mod limit;
pub mod memory;
pub mod model;
mod possible;
mod prospect;
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
use model::{Asked, ByAnswer, MODEL, softmax};

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
    /// Share that others between the same hosts have of all that these send, in the same
    /// direction.
    pub beside: f64,
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

    /// Full segments that wait in the queue, by the round-trip time.
    pub fn queued_segments(&self) -> Option<f64> {
        let excess_s = (self.facts.inflation? - 1.0) * self.rtt_min_s()?;
        Some(self.facts.rate_bps()? / 8.0 * excess_s / self.mss())
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

/// What is said of an interval by itself and by those before it.
#[derive(Debug, Default)]
pub struct Diagnosis {
    /// What limited it; nothing where it shows nothing at all, or nothing of what the answer would
    /// rest on.
    pub finding: Option<Finding>,
    /// What the items say of it, if they had to be asked.
    pub asked: Option<Box<Asked>>,
}

impl Diagnosis {
    /// Chances of the answers by this interval alone, for those beside it to be weighed against;
    /// none where nothing is found.
    pub fn chances(&self) -> Option<ByAnswer> {
        let alone = self.asked.as_ref().map(|asked| softmax(&asked.said.log_odds));
        self.finding.map(|finding| alone.unwrap_or(finding.chances))
    }

    /// Whether those that follow may tell more: the items were asked, and are not sure.
    pub fn is_in_doubt(&self) -> bool {
        let is_high =
            |finding: Finding| MODEL.alone.confidence(finding.probability) == Confidence::High;
        self.asked.is_some() && !self.finding.is_none_or(is_high)
    }
}

/// What limited an interval, where `belief` is what was believed before, and `look` asks the items.
pub fn diagnose(
    case: &Case,
    belief: &mut Belief,
    look: impl FnOnce(&Case) -> Observed,
) -> Diagnosis {
    if case.facts.span_s <= 0.0 || (case.is_one_way() && !silence::is_certain(case)) {
        return Diagnosis::default();
    }
    if let Some(finding) = brief::waited(case) {
        belief.settle(finding.chances);
        return Diagnosis { finding: Some(finding), asked: None };
    }
    let asked = MODEL.ask(look(case));
    let mut log_odds = asked.said.log_odds;
    possible::Ruling::of(case).rule(&mut log_odds);
    let chances = belief.follow(&MODEL.filter, &log_odds, case.facts.span_s as f32);
    Diagnosis {
        finding: prospect::concluded(case, chances, asked.said.varying, &MODEL.alone),
        asked: Some(asked),
    }
}

/// A finding of which only the cause is known.
#[cfg(test)]
pub fn blamed(cause: Cause) -> Finding {
    let (chances, shares) = ([0.0; model::ANSWERS], Shares::default());
    let (probability, confidence, alternative) = (0.0, Confidence::Low, None);
    Finding { cause, probability, confidence, alternative, chances, shares }
}

/// The same of a span that stands alone.
#[cfg(test)]
pub fn diagnose_alone(case: &Case) -> Option<Finding> {
    diagnose(case, &mut Belief::default(), |case| Memory::default().look(case)).finding
}

/// The likeliest limitation but `answer`, which is right as often as `probability` says, and how
/// likely it is; no likelier than the answer, also where that is right less often than it seems.
fn next_to(answer: Limitation, chances: &ByAnswer, probability: f32) -> Option<(Limitation, f32)> {
    let mut others = *chances;
    others[answer as usize] = 0.0;
    let next = most_likely(&others);
    let left = (1.0 - probability) / others.iter().sum::<f32>().max(1e-6);
    let chance = (others[next as usize] * left.min(1.0)).min(probability);
    (chance > 0.0).then_some((next, chance))
}

fn most_likely(chances: &ByAnswer) -> Limitation {
    let most = (0..chances.len()).max_by(|&a, &b| chances[a].total_cmp(&chances[b]));
    Limitation::ALL[most.expect("there are answers")]
}
