//! The refined diagnosis: from facts to one cause, with what speaks for it.
//!
//! Whose time it was decides first ([`crate::flow::clock`]): the application's, the receiver's, or
//! the network's. What the network's time was spent on is told apart by queueing, losses and the
//! shape of the flight ([`network`]).

mod application;
pub mod cause;
mod density;
pub mod evidence;
pub mod facts;
pub mod headroom;
mod network;
mod receiver;
pub mod remedy;
mod sender;
pub mod tally;
pub mod threshold;
pub mod words;

pub use cause::{Cause, Confidence};
pub use facts::{Context, Facts};
pub use network::loss_cause;

use crate::flow::burst::Density;
use crate::flow::losses::Shape;
use crate::flow::policer::Policer;

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

/// Shares of the time of a stretch, which sum to one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shares {
    /// The application had nothing to send.
    pub application: f64,
    /// The receiver's window held the sender back.
    pub receiver_window: f64,
    /// The network or congestion control did.
    pub network: f64,
    /// Losses were repaired.
    pub recovery: f64,
}

impl Shares {
    /// Adds `other`, weighted.
    pub fn add(&mut self, other: &Shares, weight: f64) {
        self.application += other.application * weight;
        self.receiver_window += other.receiver_window * weight;
        self.network += other.network * weight;
        self.recovery += other.recovery * weight;
    }

    /// All of it times `factor`.
    pub fn scaled(&self, factor: f64) -> Shares {
        let mut scaled = Shares::default();
        scaled.add(self, factor);
        scaled
    }
}

/// What limited the stretch. `None` when it shows nothing at all.
pub fn diagnose(case: &Case) -> Option<Finding> {
    let facts = &case.facts;
    if facts.span_s <= 0.0 {
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
        rivals[1].0 = rivals[1].0.max(rivals[2].0 + threshold::CLEAR_LEAD);
    }
    // What keeps running dry is no full link's, whatever else waits in its round-trip times.
    if application::runs_dry(case) && !network::is_buffered(case) {
        rivals[0].0 = rivals[0].0.max(rivals[2].0 + threshold::CLEAR_LEAD);
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

/// Which cause, given that the time was of this kind, and how sure.
type Test = fn(&Case) -> (Cause, Confidence);

/// Lowers the confidence where the capture does not allow more, and moves the shares of a cause
/// that only the shape of the flight told.
fn confirm(case: &Case, mut finding: Finding) -> Finding {
    let (facts, context) = (&case.facts, &case.context);
    let blind = context.position.is_none() || context.missed > threshold::MISSED;
    if blind {
        finding.confidence = finding.confidence.less();
    }
    // A queue holds acknowledgements back as pacing does segments.
    if finding.cause == Cause::ApplicationPaced && facts.is_queued() {
        finding.confidence = finding.confidence.less();
    }
    if finding.cause.is_of_network() && facts.rounds < threshold::SHAPED_ROUNDS {
        finding.confidence = finding.confidence.less();
    }
    // Waits that end by chance right after an acknowledgement are what a send buffer would make.
    let shares = &mut finding.shares;
    if finding.cause.limitation() == "application" {
        // What leaves at the sender's own pace waits for that, whatever comes in between.
        let all = finding.cause == Cause::ApplicationPaced && context.own_pace;
        let moved = if all { shares.network } else { facts.woken.min(shares.network) };
        shares.application += moved;
        shares.network -= moved;
    }
    match finding.cause.limitation() {
        "receiver_window"
            if shares.receiver_window < threshold::UNSEEN || receiver::is_filled(case) =>
        {
            (shares.receiver_window, shares.network) =
                (shares.receiver_window + shares.network, 0.0);
        }
        "application" if shares.application < threshold::UNSEEN => {
            (shares.application, shares.network) = (shares.application + shares.network, 0.0);
        }
        _ => {}
    }
    finding
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(facts: Facts, own_pace: bool, position: f64) -> (&'static str, [f64; 3]) {
        let context = Context { own_pace, position: Some(position), ..Context::default() };
        let facts = Facts { span_s: 3.0, rounds: 40, flight_segments: 60.0, ..facts };
        let found = diagnose(&Case { facts, context, ..Case::default() }).expect("it lasted");
        let shares = found.shares;
        let rounded = [shares.application, shares.receiver_window, shares.network]
            .map(|share| (share * 100.0).round() / 100.0);
        (found.cause.limitation(), rounded)
    }

    #[test]
    fn waits_of_a_program_that_chance_ended_with_an_acknowledgement_are_its_own() {
        let facts = Facts { dry: 0.7, network: 0.3, woken: 0.25, ..Facts::default() };
        assert_eq!(shares(facts, false, 0.0), ("application", [0.95, 0.0, 0.05]));
    }

    #[test]
    fn what_leaves_at_the_senders_own_pace_waits_for_it() {
        let facts = Facts { idle: 0.3, network: 0.7, growing: 0.2, ..Facts::default() };
        assert_eq!(shares(facts, true, 0.0), ("application", [1.0, 0.0, 0.0]));
    }

    #[test]
    fn a_window_that_every_round_fills_is_what_all_waits_are_for() {
        let facts = Facts {
            receiver: 0.6,
            network: 0.4,
            fullness: Some(0.99),
            flight_variation: Some(0.0),
            ..Facts::default()
        };
        assert_eq!(shares(facts, false, 1.0), ("receiver_window", [0.0, 1.0, 0.0]));
        assert_eq!(shares(facts, true, 1.0), ("receiver_window", [0.0, 0.6, 0.4]), "BBR paces");
        let half = Facts { fullness: Some(0.6), ..facts };
        assert_eq!(shares(half, false, 1.0), ("receiver_window", [0.0, 0.6, 0.4]));
    }
}
