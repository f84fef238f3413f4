//! A peer or a path that does not answer: segments are repeated and nothing is acknowledged.

use super::Case;

/// Whether the sender waited and nobody answered.
pub fn is_unanswered(case: &Case) -> bool {
    let (facts, context) = (&case.facts, &case.context);
    let waited = facts.network + facts.recovery + facts.unused >= MOSTLY;
    let answered = facts.advances > 0 || facts.closures > 0;
    // A capture of one direction shows no answer either, but a sender that goes on.
    let seen = !context.acks_unseen || context.unanswered;
    seen && !answered && waited
}

/// Whether nobody answers, for certain. After three repetitions without an answer a sender tells
/// the layer below of trouble (RFC 9293 section 3.8.3). Two are enough of a direction of which
/// nothing was ever acknowledged; fewer are left to the items.
pub fn is_certain(case: &Case) -> bool {
    let (facts, never) = (&case.facts, case.context.unanswered);
    let long = facts.span_s >= SHORTEST_S.max(FEWEST_ROUNDS * case.rtt_min_s().unwrap_or(0.0));
    let repeated = case.history.timeouts(case) >= if never { TWICE } else { TROUBLE };
    is_unanswered(case) && long && repeated
}

/// Repetitions after which a path is in trouble: the least value of R1.
const TROUBLE: u32 = 3;
/// Repetitions that a peer which never spoke has to leave without an answer.
const TWICE: u32 = 2;
/// Share of the time in which the sender waited for an answer.
const MOSTLY: f64 = 0.5;
/// No shorter time says anything, in s: the least retransmission timeout (RFC 6298 section 2.4).
const SHORTEST_S: f64 = 1.0;
/// Nor one of fewer round trips.
const FEWEST_ROUNDS: f64 = 4.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::{Cause, Confidence, Context, Facts, diagnose_alone};
    use crate::units::Nanos;

    /// Three seconds in which a sender repeats what nobody ever acknowledged.
    fn silent() -> Case {
        let facts =
            Facts { span_s: 3.0, recovery: 1.0, timeouts: 2, losses: 1, ..Facts::default() };
        let rtt_min = Some(Nanos::from_millis(40));
        let rwnd_max = Some(65_535);
        let context = Context { rtt_min, rwnd_max, unanswered: true, ..Context::default() };
        Case { facts, context, ..Case::default() }
    }

    #[test]
    fn a_peer_that_never_spoke_is_silent() {
        let found = diagnose_alone(&silent()).expect("it lasted");
        assert_eq!((found.cause, found.confidence), (Cause::UnresponsivePeer, Confidence::High));
        let mut unseen = silent();
        (unseen.context.rtt_min, unseen.context.acks_unseen) = (None, true);
        assert!(is_certain(&unseen));
    }

    #[test]
    fn silence_between_two_repetitions_goes_on() {
        let mut between = silent();
        between.facts.timeouts = 0;
        assert!(!is_certain(&between));
        between.history.add(&silent());
        assert!(is_certain(&between));
    }

    #[test]
    fn one_that_spoke_once_may_be_gone_or_what_it_says_lost() {
        let mut once = silent();
        once.context.unanswered = false;
        assert!(is_unanswered(&once) && !is_certain(&once));
        once.history.add(&once.clone());
        assert!(is_certain(&once), "four repetitions");
    }

    #[test]
    fn silence_of_a_program_or_of_a_closed_window_is_none_of_the_peers() {
        let mut idle = silent();
        (idle.facts.idle, idle.facts.recovery) = (0.9, 0.1);
        let mut closed = silent();
        closed.facts.closures = 1;
        let mut answered = silent();
        answered.facts.advances = 1;
        let mut one_way = silent();
        (one_way.context.acks_unseen, one_way.context.unanswered) = (true, false);
        for case in [&idle, &closed, &answered, &one_way] {
            assert!(!is_unanswered(case));
        }
        assert_eq!(diagnose_alone(&one_way), None, "nothing tells what it waited for");
        let mut far = silent();
        far.context.rtt_min = Some(Nanos::SECOND);
        assert!(!is_certain(&far));
    }

    #[test]
    fn a_path_that_takes_no_full_segments_is_named() {
        let mut small = silent();
        small.context.only_small_answered = true;
        let found = diagnose_alone(&small).expect("it lasted");
        assert_eq!(found.cause, Cause::UnresponsivePathMtu);
    }
}
