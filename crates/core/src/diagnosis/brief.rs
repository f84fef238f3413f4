//! Directions that have sent too little for the items to be asked: all of it at once, or no more
//! than may leave before any answer. Most flows of a link are of this kind.

use super::limit::{Cause, Confidence, Limitation};
use super::model::ANSWERS;
use super::{Case, Finding, Shares};

/// Whether all that was sent so far fits an initial window, none of it was lost or marked, and the
/// receiver's window had room: the sender could have gone on at any time.
pub fn fits(case: &Case) -> bool {
    let (facts, so_far) = (&case.facts, &case.so_far);
    let whole = so_far.losses == 0 && so_far.timeouts == 0 && so_far.loss_ratio <= 0.0;
    let open = so_far.closures == 0 && facts.receiver <= 0.0 && facts.at_edge <= 0.0;
    so_far.packets <= INITIAL_WINDOW && whole && open && facts.marks == 0 && is_all_seen(case)
}

/// Whether the capture shows all that was sent, segment by segment, and that it was acknowledged.
fn is_all_seen(case: &Case) -> bool {
    let context = &case.context;
    let from_the_begin = context.sack_agreed.is_some() && context.missed <= 0.0;
    from_the_begin && !case.so_far.super_packets && !context.acks_unseen && case.facts.advances > 0
}

/// Whether the items of evidence decide. Where nothing was waited for, or little was sent, they
/// have no say, and none in the argument.
pub fn asks_the_model(case: &Case) -> bool {
    case.facts.span_s > 0.0 && !fits(case)
}

/// A direction that has sent so little, and waited: its program is the limit. What else it would be
/// nobody can tell.
pub fn waited(case: &Case) -> Option<Finding> {
    if !fits(case) {
        return None;
    }
    let cause = Limitation::Application.cause(case);
    let found = finding(cause, FITS, Confidence::Medium);
    Some(Finding { shares: Shares::of(case, cause), ..found })
}

/// A direction that sent all it had at once and waited for nothing: there was no more to send,
/// unless the window closed on it. `None` where it waited, for what the capture does not show.
pub fn at_once(case: &Case) -> Option<Finding> {
    if case.facts.span_s > 0.0 {
        return None;
    }
    let fits = case.facts.packets <= INITIAL_WINDOW;
    let probability = if fits { AT_ONCE } else { AT_ONCE_MANY };
    let closed = case.facts.closures > 0;
    let cause = if closed { Cause::ReceiverSlowReader } else { Cause::ApplicationIdle };
    Some(finding(cause, probability, if fits { Confidence::Medium } else { Confidence::Low }))
}

/// An answer without an alternative.
fn finding(cause: Cause, probability: f32, confidence: Confidence) -> Finding {
    let mut chances = [0.0; ANSWERS];
    chances[cause.limitation() as usize] = probability;
    let shares = Shares::default();
    Finding { cause, probability, confidence, alternative: None, chances, shares }
}

/// How often that is right: in 334 of 345 intervals of 49 of the worlds that calibrate. The others
/// had hardly begun.
const FITS: f32 = 0.968;
/// How often the program had no more than what left at once: a prior, for nothing is measured.
const AT_ONCE: f32 = 0.9;
/// The same of more than an initial window.
const AT_ONCE_MANY: f32 = 0.6;
/// Segments that leave before any answer (RFC 6928).
pub const INITIAL_WINDOW: u64 = 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::{Context, Facts, SoFar, diagnose_alone};

    /// Three answers of two segments each, over two seconds.
    fn answers() -> Case {
        let facts = Facts { span_s: 2.0, idle: 0.9, advances: 3, packets: 6, ..Facts::default() };
        let context = Context { sack_agreed: Some(true), ..Context::default() };
        let so_far = SoFar { packets: 6, ..SoFar::default() };
        Case { facts, context, so_far, ..Case::default() }
    }

    #[test]
    fn little_that_nothing_held_back_is_the_programs() {
        let found = diagnose_alone(&answers()).expect("it lasted");
        assert_eq!(found.cause.limitation(), Limitation::Application);
        assert_eq!((found.probability, found.confidence), (FITS, Confidence::Medium));
        assert_eq!(found.alternative, None);
        assert!(!asks_the_model(&answers()));
    }

    #[test]
    fn the_items_are_asked_where_anything_else_is_possible() {
        let mut cases = [answers(); 8];
        cases[0].so_far.packets = 11;
        cases[1].so_far.losses = 1;
        cases[2].so_far.closures = 1;
        cases[3].facts.at_edge = 0.1;
        cases[4].facts.marks = 1;
        cases[5].facts.advances = 0;
        cases[6].so_far.super_packets = true;
        cases[7].context.sack_agreed = None;
        assert!(cases.iter().all(|case| asks_the_model(case) && !fits(case)));
    }
}
