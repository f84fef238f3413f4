//! The refined diagnosis: from facts to one cause, with what speaks for it.
//!
//! Whose time it was decides first ([`crate::flow::time::clock`]): the application's, the
//! receiver's, or the network's. What the network's time was spent on is told apart by queueing,
//! losses and the shape of the flight ([`network`]).

mod application;
mod density;
pub mod evidence;
pub mod facts;
pub mod headroom;
mod loss;
mod network;
mod receiver;
pub mod remedy;
mod sender;
mod shares;
mod silence;
pub mod tally;
pub mod threshold;
pub mod words;

pub use crate::limit::{Cause, Confidence, Limitation};
pub use facts::{Context, Facts};
pub use loss::loss_cause;
pub use shares::Shares;

use crate::flow::loss::burst::Density;
use crate::flow::loss::losses::Shape;
use crate::flow::loss::policer::Policer;

/// A stretch of a half to be judged.
#[derive(Clone, Copy, Debug, Default)]
pub struct Case {
    /// Its facts.
    pub facts: Facts,
    /// What is known of the half.
    pub context: Context,
    /// The policer that the losses of the half show.
    pub policer: Option<Policer>,
    /// How losses without a queue lie.
    pub losses: Option<Shape>,
    /// Whether its losses meet the ends of dense bursts.
    pub density: Option<Density>,
    /// What the stretch before was found to be limited by.
    pub before: Option<Cause>,
    /// How sure that was when it was found.
    pub before_sure: Confidence,
}

impl Case {
    /// Whether nothing of the other side was seen, on a link that was not visibly full.
    pub fn is_untold(&self) -> bool {
        let full = self.facts.load.is_some_and(|load| load >= threshold::UNSHARED_UTILISATION);
        self.context.acks_unseen && !full
    }
}

/// The answer for a stretch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Finding {
    /// What limited it.
    pub cause: Cause,
    /// Another cause that limited it as much: then the limitation is `mixed`.
    pub rival: Option<Cause>,
    /// How sure that is.
    pub confidence: Confidence,
    /// Shares of the time.
    pub shares: Shares,
}

/// Why nothing is said of a direction whose acknowledgements are not in the capture.
pub const ONE_WAY: &str =
    "no acknowledgements in the capture: nothing tells what the sender waited for";

/// What limited the stretch. `None` when it shows nothing at all, or nothing of what it waited for.
pub fn diagnose(case: &Case) -> Option<Finding> {
    let facts = &case.facts;
    if facts.span_s <= 0.0 {
        return None;
    }
    let silent = silence::cause(case);
    if silent.is_none() && case.is_untold() {
        return None;
    }
    let blind = application::is_blind(case);
    let paced = !blind && application::is_paced(case);
    let if_so = |so: bool, share: f64| if so { share } else { 0.0 };
    let shares = Shares {
        application: if_so(!blind, facts.idle) + facts.dry + if_so(paced, facts.unused),
        receiver_window: facts.receiver,
        network: facts.network + if_so(blind, facts.idle) + if_so(!paced, facts.unused),
        recovery: facts.recovery,
    };
    if let Some((cause, confidence)) = silent {
        return Some(confirm(case, Finding { cause, rival: None, confidence, shares }));
    }
    let mut rivals: [(f64, Test); 3] = [
        (shares.application, application::cause),
        (shares.receiver_window, receiver::cause),
        (shares.network + shares.recovery, network::cause),
    ];
    if sender::is_woken(case) {
        let (cause, confidence) = sender::cause(case);
        return Some(confirm(case, Finding { cause, rival: None, confidence, shares }));
    }
    // A sender that a window keeps closing on is paced, or probes, in between.
    if facts.closures >= 2 && facts.receiver >= threshold::CLOSING && facts.losses == 0 {
        rivals[1].0 = rivals[1].0.max(rivals[2].0 + LEAD);
    }
    // What keeps running dry is no full link's, whatever else waits in its round-trip times.
    if application::runs_dry(case) && !network::is_buffered(case) {
        rivals[0].0 = rivals[0].0.max(rivals[2].0 + LEAD);
    }
    rivals.sort_by(|a, b| b.0.total_cmp(&a.0));
    let [(most, first), (next, second), _] = rivals;
    let (cause, mut confidence) = first(case);
    let mut rival = None;
    if most - next < threshold::CLEAR_LEAD {
        confidence = Confidence::Low;
        rival = Some(second(case).0).filter(|rival| rival.limitation() != cause.limitation());
    } else if most < threshold::CLEAR_SHARE {
        confidence = confidence.less();
    }
    Some(confirm(case, Finding { cause, rival, confidence, shares }))
}

/// More than a clear lead, whatever rounding takes of it.
const LEAD: f64 = 1.5 * threshold::CLEAR_LEAD;

/// Which cause, given that the time was of this kind, and how sure.
type Test = fn(&Case) -> (Cause, Confidence);

/// Lowers the confidence where the capture does not allow more, and gives the cause its time.
fn confirm(case: &Case, mut finding: Finding) -> Finding {
    let (facts, context) = (&case.facts, &case.context);
    let silent = finding.cause.limitation() == Limitation::Unresponsive;
    let blind = !silent && (context.position.is_none() || context.missed > threshold::MISSED);
    if blind {
        finding.confidence = finding.confidence.less();
    }
    // A queue holds acknowledgements back as pacing does segments.
    if finding.cause == Cause::ApplicationPaced && facts.is_queued() {
        finding.confidence = finding.confidence.less();
    }
    let shaped = finding.cause == Cause::ApplicationPaced && application::may_be_shaped(case);
    if shaped && finding.confidence == Confidence::High {
        finding.confidence = Confidence::Medium;
    }
    if finding.cause.limitation() == Limitation::ReceiverWindow && receiver::is_overrun(case) {
        finding.confidence = Confidence::Low;
    }
    if finding.cause.is_of_network() && !silent && facts.rounds < threshold::SHAPED_ROUNDS {
        finding.confidence = finding.confidence.less();
    }
    finding.shares.settle(case, finding.cause);
    finding
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_that_keeps_closing_goes_before_any_rival() {
        for percent in 36..65 {
            let receiver = f64::from(percent) / 100.0;
            let facts = Facts {
                span_s: 3.0,
                receiver,
                network: 1.0 - receiver,
                closures: 3,
                ..Facts::default()
            };
            let found = diagnose(&Case { facts, ..Case::default() }).expect("it lasted");
            assert_eq!((found.cause, found.rival), (Cause::ReceiverSlowReader, None), "{receiver}");
        }
    }

    #[test]
    fn a_window_that_nobody_keeps_to_is_a_guess() {
        let sure = |flight_segments: f64| {
            let facts = Facts {
                span_s: 3.0,
                receiver: 1.0,
                openness: Some(1.0),
                at_edge: 1.0,
                flight_segments,
                ..Facts::default()
            };
            let context = Context {
                position: Some(0.0),
                mss_bytes: 1460,
                rwnd_max: Some(64_240),
                ..Context::default()
            };
            let found = diagnose(&Case { facts, context, ..Case::default() }).expect("it lasted");
            (found.cause, found.confidence)
        };
        assert_eq!(sure(44.0), (Cause::ReceiverBuffer, Confidence::High));
        assert_eq!(sure(11_491.0), (Cause::ReceiverBuffer, Confidence::Low));
    }
}
