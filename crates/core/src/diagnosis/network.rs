//! The network's time: a full link, a policer, losses, a window of the sender, or TCP on its way.

use super::{Case, Cause, Confidence, receiver, threshold};
use crate::flow::losses::Shape;

/// What it was spent on.
pub fn cause(case: &Case) -> (Cause, Confidence) {
    let facts = &case.facts;
    if is_one_long_recovery(case) {
        return (Cause::Recovery, Confidence::High);
    }
    let queued = facts.losses_queued.unwrap_or(0.0);
    let lost_elsewhere = facts.losses_timed >= threshold::LOSSES_TOLD
        && queued < threshold::QUEUE_FEW
        && facts.raised.unwrap_or(0.0) < threshold::RAISED;
    if facts.marks > 0 || (facts.is_queued() && !lost_elsewhere) {
        return bottleneck(case);
    }
    let heavy = case.losses.is_some_and(|shape| shape.ratio >= threshold::LOSS_HEAVY);
    if queued >= threshold::QUEUE_MOST && !heavy {
        if facts.raised.is_none() {
            return bottleneck(case);
        }
        // A queue that only its losses show is a short one; others at it would keep it filled.
        return (Cause::UnsharedLoss, Confidence::Medium);
    }
    if facts.losses > 0 || facts.recovery >= threshold::REPAIRING {
        return losses(case);
    }
    quiet(case)
}

/// Whether nearly all the time went into the repair of one loss episode, on a link that was idle
/// meanwhile.
fn is_one_long_recovery(case: &Case) -> bool {
    let facts = &case.facts;
    let crawls = facts.load.is_some_and(|load| load < threshold::CRAWL);
    facts.recovery >= threshold::ONLY_REPAIR && facts.losses <= 1 && crawls
}

/// A link is full: alone or with others?
fn bottleneck(case: &Case) -> (Cause, Confidence) {
    let facts = &case.facts;
    let confidence = Confidence::High;
    if is_alone(case) {
        let standing = facts.queued >= threshold::STANDING || facts.losses == 0;
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
    let used = facts.utilisation.filter(|&used| used < threshold::OVERUSED);
    // Rounds that a queue filled only in part deliver less, but some of them all that the link has.
    let unmarked = facts.marks == 0;
    let varying = facts.queued_rate_variation.filter(|&v| unmarked && v >= threshold::RAMPING);
    let reached = used
        .filter(|&used| used >= threshold::REACHING)
        .zip(varying)
        .map(|(used, v)| used * (1.0 + threshold::TENTH * v));
    if reached.is_some_and(|reached| reached >= threshold::REACHED) {
        return true;
    }
    // In a stretch without such rounds only what was sent counts, which may go into the queue.
    let most = match facts.utilisation {
        Some(_) if facts.queued_rates >= threshold::RATED_ROUNDS => used,
        Some(_) if facts.queued >= threshold::STANDING => {
            [used, facts.load].into_iter().flatten().reduce(f64::max)
        }
        _ => facts.load,
    };
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
    if facts.genuine < threshold::GENUINE {
        return (Cause::Recovery, Confidence::Medium);
    }
    if let Some(before) = case.before.filter(|before| facts.losses == 0 && goes_on(*before)) {
        return (before, Confidence::Medium);
    }
    if let Some(cause) = loss_cause(case) {
        return cause;
    }
    let heavy = threshold::LOSS_HEAVY..threshold::LOSS_ALL;
    if heavy.contains(&facts.loss_ratio) {
        return (Cause::Policer, Confidence::Low);
    }
    if facts.recovery >= threshold::REPAIRING && facts.losses <= 2 {
        return (Cause::Recovery, Confidence::Medium);
    }
    (Cause::RandomLoss, Confidence::Medium)
}

/// What losses without a queue come from, as far as enough of them were seen.
pub fn loss_cause(case: &Case) -> Option<(Cause, Confidence)> {
    match case.policer {
        Some(_) => Some((Cause::Policer, Confidence::High)),
        None => case.losses.as_ref().map(of_shape),
    }
}

/// The same by how they lie.
fn of_shape(shape: &Shape) -> (Cause, Confidence) {
    let tolerance = 1.0 / f64::from(shape.losses).sqrt();
    if shape.high >= threshold::LOSS_HIGH && shape.ratio < threshold::LOSS_HEAVY {
        return (Cause::UnsharedLoss, Confidence::Medium);
    }
    let independent = shape.ratio < threshold::LOSS_HEAVY
        && shape.flight < threshold::LOSS_FLIGHT + tolerance
        && (threshold::LOSS_REGULAR - tolerance..threshold::LOSS_CLUSTERED)
            .contains(&shape.variation);
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
    let loaded = facts.load.is_some_and(|load| load >= threshold::UNSHARED_UTILISATION);
    if let Some(before) = case.before.filter(|before| goes_on(*before))
        && (loaded || facts.leaping < threshold::LEAPING)
    {
        return (before, Confidence::Medium);
    }
    if facts.leaping >= threshold::LEAPING {
        return (Cause::SlowStart, Confidence::High);
    }
    let full = facts.fullness.is_some_and(|full| full >= threshold::FULL);
    if facts.at_edge >= threshold::AT_EDGE || full {
        return receiver::cause(case);
    }
    let flat = facts.flight_variation.is_some_and(|v| v < threshold::FLAT);
    if flat && facts.inferred_fullness.is_some_and(|full| full >= threshold::INFERRED_FULL) {
        return (Cause::ReceiverBuffer, Confidence::Medium);
    }
    if flat && facts.rounds >= threshold::FLAT_ROUNDS && facts.growing < threshold::GROWING {
        return flat_flight(case);
    }
    let pushed = facts.pushes >= threshold::PUSHES;
    if case.context.own_pace && !pushed && facts.growing < threshold::GROWING {
        return (Cause::ApplicationPaced, Confidence::Medium);
    }
    (Cause::CongestionAvoidance, Confidence::Medium)
}

/// A flight that stays the same below the receiver's window.
fn flat_flight(case: &Case) -> (Cause, Confidence) {
    let facts = &case.facts;
    // An application that fills its send buffer keeps pushing full segments out; one that has no
    // more ends every write with a small one.
    let written_out = facts.smalls > 0.0 && facts.pushes < threshold::PUSHED * facts.smalls;
    if (facts.dry >= threshold::DRY && written_out)
        || facts.flight_segments <= threshold::TINY_FLIGHT
    {
        return (Cause::ApplicationPaced, Confidence::Medium);
    }
    if facts.pushes >= threshold::PUSHES {
        return (Cause::SenderBuffer, Confidence::High);
    }
    // A window sends in bursts, each as dense as the link makes it.
    if case.context.own_pace {
        return (Cause::ApplicationPaced, Confidence::High);
    }
    (Cause::SenderUndetermined, Confidence::High)
}

/// Causes that show by a loss now and then: in between, the flight grows towards the next.
pub fn goes_on(before: Cause) -> bool {
    before.is_bottleneck() || matches!(before, Cause::Policer | Cause::RandomLoss)
}
