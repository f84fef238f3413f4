//! A peer or a path that does not answer: segments are repeated and nothing is acknowledged.

use super::Case;

/// Whether nobody answers, for certain. `was_silent` tells that nobody did in the interval before:
/// timers double, so that later ones are rare. One timeout alone is left to the model.
///
/// RFC 6298 doubles the timer with each timeout and RFC 9293 section 3.8.3 has a sender go on for
/// 100 s at least. One timeout may repair a loss; a second in the same interval, with nothing
/// acknowledged, hardly does.
pub fn is_certain(case: &Case, was_silent: bool) -> bool {
    let (facts, context) = (&case.facts, &case.context);
    let waited = facts.network + facts.recovery + facts.unused >= MOSTLY;
    let answered = facts.advances > 0 || facts.closures > 0;
    // A capture of one direction shows no answer either, but a sender that goes on.
    let seen = !context.acks_unseen || context.unanswered;
    let long = facts.span_s >= SHORTEST_S.max(FEWEST_ROUNDS * case.rtt_min_s().unwrap_or(0.0));
    seen && !answered && waited && long && (was_silent || facts.timeouts >= 2)
}

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

    /// Three seconds in which a sender repeats what nobody acknowledges.
    fn silent() -> Case {
        let facts =
            Facts { span_s: 3.0, recovery: 1.0, timeouts: 2, losses: 1, ..Facts::default() };
        let rtt_min = Some(Nanos::from_millis(40));
        let context = Context { rtt_min, rwnd_max: Some(65_535), ..Context::default() };
        Case { facts, context, ..Case::default() }
    }

    #[test]
    fn an_outage_is_no_programs_pace() {
        let found = diagnose_alone(&silent()).expect("it lasted");
        assert_eq!((found.cause, found.confidence), (Cause::UnresponsivePeer, Confidence::High));
    }

    #[test]
    fn silence_between_two_repetitions_goes_on() {
        let mut between = silent();
        between.facts.timeouts = 0;
        assert!(!is_certain(&between, false) && is_certain(&between, true));
    }

    #[test]
    fn silence_of_a_program_or_of_a_closed_window_is_none_of_the_peers() {
        let mut idle = silent();
        (idle.facts.idle, idle.facts.recovery) = (0.9, 0.1);
        let mut closed = silent();
        closed.facts.closures = 1;
        let mut far = silent();
        far.context.rtt_min = Some(Nanos::SECOND);
        let mut one_way = silent();
        one_way.context.acks_unseen = true;
        let mut answered = silent();
        answered.facts.advances = 1;
        for case in [idle, closed, far, one_way, answered] {
            assert!(!is_certain(&case, false));
        }
        assert_eq!(diagnose_alone(&one_way), None, "nothing tells what it waited for");
    }

    #[test]
    fn a_peer_that_never_spoke_is_silent_too() {
        let mut never = silent();
        (never.context.rtt_min, never.context.acks_unseen) = (None, true);
        never.context.unanswered = true;
        assert!(is_certain(&never, false));
    }

    #[test]
    fn a_path_that_takes_no_full_segments_is_named() {
        let mut small = silent();
        small.context.only_small_answered = true;
        let found = diagnose_alone(&small).expect("it lasted");
        assert_eq!(found.cause, Cause::UnresponsivePathMtu);
    }
}
