//! The receiver: a small buffer, a slow reader, or a window that cannot grow.

use super::{Case, Cause, threshold};

/// Which of them.
pub fn cause(case: &Case) -> Cause {
    let (facts, context) = (&case.facts, &case.context);
    // Unread data takes from the window: it closes, shrinks, or stays far below what it was.
    let shrinks = facts.window_sway.is_some_and(|sway| sway < threshold::SWAY);
    let filled = facts.openness.is_some_and(|open| open < threshold::OPENNESS);
    // A stretch in which no data met any window is one in which it stood shut.
    let shut = context.rwnd_max.is_some() && facts.openness.is_none();
    // What no flight ever reached is no small buffer: it was shut, or too small for a segment.
    let reached = facts.at_edge.max(facts.inferred_fullness.unwrap_or(0.0));
    let unreached = facts.openness.is_some() && reached < threshold::TOUCHED;
    if facts.closures > 0 || shrinks || filled || shut || unreached {
        return Cause::ReceiverSlowReader;
    }
    let unscaled = context.window_scale == Some(0);
    if unscaled && context.rwnd_max.is_some_and(|most| (32_768..=65_535).contains(&most)) {
        return Cause::ReceiverNoScaling;
    }
    Cause::ReceiverBuffer
}

/// Whether every round fills the window, by a sender that nothing paces: then it is what each wait
/// was for, also where room seems to open before the sender goes on. Far from the
/// sender the time of a send is known only roughly. A sender also gathers room for a super-segment,
/// up to a third of the window (`tcp_tso_should_defer`).
pub fn is_filled(case: &Case) -> bool {
    let facts = &case.facts;
    facts.losses == 0
        && !case.context.own_pace
        && facts.rounds >= threshold::SHAPED_ROUNDS
        && facts.fullness.is_some_and(|full| full >= threshold::FULL)
}

#[cfg(test)]
mod tests {
    use super::super::{Context, Facts};
    use super::*;

    #[test]
    fn a_window_that_no_flight_reached_is_no_small_buffer() {
        let cause_at = |at_edge| {
            let facts = Facts { openness: Some(1.0), at_edge, ..Facts::default() };
            let context = Context { rwnd_max: Some(200_000), ..Context::default() };
            cause(&Case { facts, context, ..Case::default() })
        };
        assert_eq!(cause_at(0.0), Cause::ReceiverSlowReader);
        assert_eq!(cause_at(0.4), Cause::ReceiverBuffer);
    }
}
