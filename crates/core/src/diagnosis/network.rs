//! The network's time: a full link, a policer, losses, a window of the sender, or TCP on its way.

use super::{Case, Cause, Confidence, threshold};
use crate::flow::losses::Shape;

/// What it was spent on.
pub fn cause(case: &Case) -> (Cause, Confidence) {
    let facts = &case.facts;
    let lost_in_queue = facts.losses_queued.unwrap_or(0.0) >= 0.5;
    if facts.is_queued() || facts.marks > 0 {
        return bottleneck(case);
    }
    if lost_in_queue && !case.losses.is_some_and(|shape| shape.ratio >= threshold::LOSS_HEAVY) {
        // A queue that only its losses show is a short one; others at it would keep it filled.
        return (Cause::UnsharedLoss, Confidence::Medium);
    }
    if facts.losses > 0 || facts.recovery >= 0.5 {
        return losses(case);
    }
    quiet(case)
}

/// A link is full: alone or with others?
fn bottleneck(case: &Case) -> (Cause, Confidence) {
    let facts = &case.facts;
    let confidence = Confidence::High;
    if is_alone(case) {
        let standing = facts.queued >= 0.5 || facts.losses == 0;
        return (if standing { Cause::UnsharedQueue } else { Cause::UnsharedLoss }, confidence);
    }
    if facts.marks > 0 {
        return (Cause::SharedEcn, confidence);
    }
    (if facts.losses > 0 { Cause::SharedLoss } else { Cause::SharedQueue }, confidence)
}

/// Whether a full link carries hardly anything else.
fn is_alone(case: &Case) -> bool {
    let facts = &case.facts;
    let most = [facts.utilisation, facts.load].into_iter().flatten().reduce(f64::max);
    if most.is_some_and(|most| most >= threshold::UNSHARED_UTILISATION) {
        return true;
    }
    if facts.queued_rates < threshold::RATED_ROUNDS
        && let Some(before) = case.before.filter(|before| goes_on(*before))
    {
        return matches!(before, Cause::UnsharedQueue | Cause::UnsharedLoss);
    }
    let steady = facts.queued_rate_variation.is_some_and(|v| v < threshold::UNSHARED_VARIATION);
    most.is_none() && steady
}

/// Losses without a queue.
fn losses(case: &Case) -> (Cause, Confidence) {
    let facts = &case.facts;
    if facts.genuine < 0.5 {
        return (Cause::Recovery, Confidence::Medium);
    }
    if let Some(before) = case.before.filter(|before| facts.losses == 0 && goes_on(*before)) {
        return (before, Confidence::Medium);
    }
    if case.policer.is_some() {
        return (Cause::Policer, Confidence::High);
    }
    if let Some(shape) = case.losses {
        return of_shape(&shape);
    }
    if facts.loss_ratio >= threshold::LOSS_HEAVY {
        return (Cause::Policer, Confidence::Low);
    }
    if facts.recovery >= 0.5 && facts.losses <= 2 {
        return (Cause::Recovery, Confidence::Medium);
    }
    (Cause::RandomLoss, Confidence::Medium)
}

/// What losses without a queue come from, by how they lie.
fn of_shape(shape: &Shape) -> (Cause, Confidence) {
    let tolerance = 0.5 / f64::from(shape.losses).sqrt();
    if shape.high >= threshold::LOSS_HIGH && shape.ratio < threshold::LOSS_HEAVY {
        return (Cause::UnsharedLoss, Confidence::Medium);
    }
    let independent = shape.ratio < threshold::LOSS_HEAVY
        && shape.flight < threshold::LOSS_FLIGHT + tolerance
        && (threshold::LOSS_REGULAR..threshold::LOSS_CLUSTERED).contains(&shape.variation);
    if independent {
        return (Cause::RandomLoss, Confidence::High);
    }
    // A channel with a bad state loses in tight bursts, however little is in flight.
    let bursts = shape.ratio < threshold::BURSTS_RATIO
        && shape.clustering > threshold::BURSTS_CLUSTERING
        && shape.flight < threshold::BURSTS_FLIGHT;
    if bursts {
        return (Cause::RandomLoss, Confidence::Medium);
    }
    (Cause::Policer, Confidence::Medium)
}

/// No queue, no loss: a window of the sender, or growth.
fn quiet(case: &Case) -> (Cause, Confidence) {
    let facts = &case.facts;
    if facts.leaping >= threshold::LEAPING {
        return (Cause::SlowStart, Confidence::High);
    }
    if let Some(before) = case.before.filter(|before| goes_on(*before)) {
        return (before, Confidence::Medium);
    }
    let flat = facts.flight_variation.is_some_and(|v| v < threshold::FLAT);
    if flat && facts.inferred_fullness.is_some_and(|full| full >= threshold::INFERRED_FULL) {
        return (Cause::ReceiverBuffer, Confidence::Medium);
    }
    if flat && facts.rounds >= threshold::FLAT_ROUNDS && facts.growing < 0.3 {
        let cause = if facts.pushes >= threshold::PUSHES {
            Cause::SenderBuffer
        } else {
            Cause::SenderUndetermined
        };
        return (cause, Confidence::High);
    }
    (Cause::CongestionAvoidance, Confidence::Medium)
}

/// Causes that show by a loss now and then: in between, the flight grows towards the next.
fn goes_on(before: Cause) -> bool {
    matches!(
        before,
        Cause::UnsharedLoss
            | Cause::UnsharedQueue
            | Cause::SharedLoss
            | Cause::SharedQueue
            | Cause::SharedEcn
            | Cause::Policer
            | Cause::RandomLoss
    )
}
