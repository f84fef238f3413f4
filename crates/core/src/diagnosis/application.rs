//! The application: silent, slow, or writing little at a time.

use super::{Case, Cause, Confidence, loss, network, threshold};

/// Whether a queue that is not seen may hold what seems to be missing: far from the sender, without
/// timestamps, nothing tells how long an acknowledgement takes to bring the next segment.
pub fn is_blind(case: &Case) -> bool {
    let facts = &case.facts;
    let far = case.context.position.is_none_or(|position| position > threshold::HALF_WAY);
    let lossy = facts.losses > 0 || case.before.is_some_and(network::goes_on);
    let brief = facts.pause_s.is_none_or(|pause| pause < threshold::LONGEST_QUEUE_S);
    facts.raised.is_none() && far && lossy && brief
}

/// Whether room that acknowledgements made was left unused by choice: a queue or losses explain it
/// better where they are.
pub fn is_paced(case: &Case) -> bool {
    let facts = &case.facts;
    if facts.marks > 0 || is_policed(case) {
        return false;
    }
    // Beside the sender it is certain which acknowledgement let which segment out; elsewhere a
    // queue between the two blurs it.
    let beside = case.context.position.is_some_and(|position| position < threshold::BESIDE);
    let blurred = match facts.raised {
        Some(_) => facts.is_queued(),
        None => case.before.is_some_and(Cause::is_bottleneck),
    };
    let standing = facts.utilisation.filter(|_| facts.queued >= threshold::STANDING);
    let used = [facts.load, standing].into_iter().flatten().reduce(f64::max);
    if facts.is_queued() && used.is_some_and(|used| used >= threshold::LOADED) {
        return false;
    }
    let known = facts.idle + facts.dry >= threshold::WITHOUT_DATA;
    match blurred {
        true if !known => beside && facts.unused >= threshold::UNUSED_QUEUED,
        _ => facts.unused >= threshold::UNUSED,
    }
}

/// Whether a program that leaves room unused does so throughout: its flight does not grow, so that
/// no window holds it back either until the first acknowledgement after each write.
pub fn is_always_paced(case: &Case) -> bool {
    let facts = &case.facts;
    facts.losses == 0
        && facts.marks == 0
        && facts.growing - facts.shrinking < threshold::GROWING
        && !facts.is_queued()
}

/// Whether a policer takes what exceeds its rate: a controller that paces at the rate it finds
/// (BBR) leaves room unused behind one, and no program would go on to lose so much.
fn is_policed(case: &Case) -> bool {
    let policer = loss::loss_cause(case).is_some_and(|(cause, _)| cause == Cause::Policer);
    policer && case.facts.loss_ratio >= threshold::STANDS_RATIO
}

/// Whether the send queue ran dry again and again on a path with room, which lost nothing.
pub fn runs_dry(case: &Case) -> bool {
    let facts = &case.facts;
    facts.dry >= threshold::WITHOUT_DATA
        && facts.losses == 0
        && facts.marks == 0
        && facts.load.is_some_and(|load| load < threshold::REACHING)
}

/// Whether a shaper of the sending host (tbf, htb) would look the same: segments leave spread, and
/// what waits to be sent was never seen to run out. Behind the host's own queue, which is where a
/// capture on it sees, a socket that paces and a shaper differ by the little that TCP Small Queues
/// let wait in the latter.
pub fn may_be_shaped(case: &Case) -> bool {
    case.facts.idle + case.facts.dry < threshold::WITHOUT_DATA
}

/// Which of its habits.
pub fn cause(case: &Case) -> (Cause, Confidence) {
    let facts = &case.facts;
    if facts.answers >= threshold::ANSWERS {
        return (Cause::ApplicationIdle, Confidence::High);
    }
    if facts.smalls >= threshold::SMALL || facts.filling.is_some_and(|f| f < threshold::FILLING) {
        return (Cause::ApplicationSmallWrites, Confidence::High);
    }
    // Silence is time with nothing in flight; what is left unused meanwhile is pacing.
    let silent = facts.idle >= facts.dry + facts.unused;
    let pause = facts.pause_s.unwrap_or(0.0).max(facts.silence_s);
    if silent && pause >= threshold::SILENCE_S {
        return (Cause::ApplicationIdle, Confidence::High);
    }
    (Cause::ApplicationPaced, Confidence::High)
}

#[cfg(test)]
mod tests {
    use super::super::{Context, Facts};
    use super::*;
    use crate::flow::loss::losses::Shape;

    #[test]
    fn a_pace_without_a_program_that_runs_dry_may_be_a_shapers() {
        let sure = |dry: f64| {
            let facts = Facts {
                span_s: 10.0,
                unused: 0.92 - dry,
                dry,
                raised: Some(0.0),
                ..Facts::default()
            };
            let context = Context { position: Some(0.0), ..Context::default() };
            let found = super::super::diagnose(&Case { facts, context, ..Case::default() });
            found.map(|finding| (finding.cause, finding.confidence))
        };
        assert_eq!(sure(0.3), Some((Cause::ApplicationPaced, Confidence::High)), "a program");
        assert_eq!(sure(0.0), Some((Cause::ApplicationPaced, Confidence::Medium)));
    }

    #[test]
    fn room_left_unused_behind_a_policer_is_no_programs() {
        let paced = |loss_ratio: f64, ratio: f64| {
            let facts = Facts { unused: 0.6, losses: 9, loss_ratio, ..Facts::default() };
            let context = Context { position: Some(0.0), ..Context::default() };
            let shape = Shape {
                losses: 60,
                ratio,
                variation: 1.0,
                rhythm: None,
                episodes: 0,
                adjacent: 0.0,
                clustering: 1.0,
                flight: 1.0,
                high: 0.5,
            };
            is_paced(&Case { facts, context, losses: Some(shape), ..Case::default() })
        };
        assert!(!paced(0.12, 0.12), "it loses an eighth and goes on");
        assert!(paced(0.001, 0.001), "a program that loses a segment now and then");
    }
}
