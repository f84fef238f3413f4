//! The network's time: a full link, a policer, losses, a window of the sender, or TCP on its way.

use super::{Case, Cause, Confidence, Facts, density, loss, receiver, threshold};

/// What it was spent on.
pub fn cause(case: &Case) -> (Cause, Confidence) {
    let facts = &case.facts;
    if is_one_long_recovery(case) {
        return (Cause::Recovery, Confidence::High);
    }
    let queued = facts.losses_queued.unwrap_or(0.0);
    let told = facts.losses_timed >= threshold::LOSSES_TOLD && queued < threshold::QUEUE_FEW;
    // So many losses and none with a queue: what little of one there is does not overflow.
    let dropped = facts.losses_timed >= threshold::LOSSES_MANY
        && queued < threshold::QUEUE_HARDLY
        && facts.loss_ratio >= threshold::STANDS_RATIO;
    let lost_elsewhere = told && (dropped || facts.raised.unwrap_or(0.0) < threshold::RAISED);
    let lost_elsewhere = lost_elsewhere || drains(facts);
    if leaps_freely(facts) {
        return (Cause::SlowStart, Confidence::Medium);
    }
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
    // Where no answer is seen nothing tells of a queue; a link that carries all it can has one.
    let one_way = case.context.rtt_min.is_none();
    let full = facts.load.is_some_and(|load| load >= threshold::UNSHARED_UTILISATION);
    if one_way && full && facts.losses > 0 {
        return (Cause::UnsharedLoss, Confidence::Medium);
    }
    if facts.losses > 0 || facts.recovery >= threshold::REPAIRING {
        return loss::cause(case);
    }
    quiet(case)
}

/// Whether the half is in slow start on a link with room for as much again: what queues there are
/// its own bursts, twice as dense as what was acknowledged, and they keep growing.
fn leaps_freely(facts: &Facts) -> bool {
    // Where the load is not known, a full link would leave a queue standing.
    let standing = facts.queued >= threshold::QUEUED;
    facts.leaping >= threshold::LEAPING
        && facts.losses + u64::from(facts.marks) == 0
        && facts.is_queued()
        && facts.load.map_or(!standing, |load| load < threshold::REACHING)
}

/// Whether what queues are the half's own bursts, gone in every round on a link that is far from
/// full, and losses come without them.
fn drains(facts: &Facts) -> bool {
    facts.losses_timed > 0
        && facts.losses_queued.is_some_and(|queued| queued < threshold::QUEUE_FEW)
        && facts.queued < threshold::QUEUED_ALWAYS
        && facts.rounds >= threshold::FLAT_ROUNDS
        && facts.load.is_some_and(|load| load < threshold::REACHING)
}

/// Whether nearly all the time went into the repair of one loss episode, on a link that was idle
/// meanwhile: one segment a round trip, or after timers.
fn is_one_long_recovery(case: &Case) -> bool {
    let facts = &case.facts;
    let round_trips = case.context.rtt_min.map(|rtt| facts.span_s / rtt.as_secs_f64().max(1e-6));
    let few = round_trips.is_some_and(|most| facts.packets as f64 <= threshold::SINGLY * most);
    // What repairs more at a time is held back by something else: it is dropped again.
    let repaired = facts.loss_ratio * facts.packets as f64;
    let singly = round_trips.is_none_or(|most| repaired <= threshold::SINGLY * most);
    let slow = |load| load < threshold::CRAWL && singly;
    let crawls = facts.load.map_or(few && !facts.is_queued(), slow);
    facts.recovery >= threshold::ONLY_REPAIR && facts.losses <= 1 && crawls
}

/// A link is full: alone or with others?
fn bottleneck(case: &Case) -> (Cause, Confidence) {
    let facts = &case.facts;
    let unrated = facts.load.is_none() && facts.utilisation.is_none();
    let confidence = if unrated { Confidence::Medium } else { Confidence::High };
    if is_alone(case) {
        let overused = facts.utilisation.is_some_and(|used| used >= threshold::OVERUSED);
        let swaying = facts.queued_rate_variation.is_some_and(|v| v >= threshold::STEADY);
        let swaying = swaying || overused;
        let confidence = if swaying { Confidence::Medium } else { confidence };
        let standing = facts.queued >= threshold::STANDING || facts.losses == 0;
        return (if standing { Cause::UnsharedQueue } else { Cause::UnsharedLoss }, confidence);
    }
    if facts.marks > 0 {
        return (Cause::SharedEcn, confidence);
    }
    // Where a queue stands throughout, all losses rank alike.
    let stands = facts.queued >= threshold::STANDING;
    if facts.losses > 0 && !stands && density::is_spared_by_queue(case) {
        return loss::cause(case);
    }
    let doubtful = density::is_queue_doubtful(case);
    let confidence = if doubtful { confidence.less() } else { confidence };
    (if facts.losses > 0 { Cause::SharedLoss } else { Cause::SharedQueue }, confidence)
}

/// Whether a full link carries hardly anything else.
fn is_alone(case: &Case) -> bool {
    let facts = &case.facts;
    if case.context.others_between {
        return false;
    }
    let used = facts.utilisation.filter(|&used| used < threshold::OVERUSED);
    // Rounds that a queue filled only in part deliver less, but some of them all that the link has.
    let unmarked = facts.marks == 0;
    let varying = facts.queued_rate_variation.filter(|&v| unmarked && v >= threshold::RAMPING);
    let reached = used
        .filter(|&used| used >= threshold::REACHING)
        .zip(varying)
        .map(|(used, v)| used * (1.0 + threshold::TENTH * v));
    // A rate that swings while the queue stands is the link's own.
    let swings = varying.is_some() && facts.queued >= threshold::STANDING;
    let swings = swings && used.is_some_and(|used| used >= threshold::REACHING);
    let loaded = |used: Option<f64>| used.is_some_and(|used| used >= threshold::LOADED);
    if unmarked && density::overflows(case) && (loaded(used) || loaded(facts.load)) {
        return true;
    }
    if swings || reached.is_some_and(|reached| reached >= threshold::REACHED) {
        return true;
    }
    // In a stretch without such rounds only what was sent counts, which may go into the queue.
    let most = match facts.utilisation {
        Some(_) if facts.queued_rates >= threshold::RATED_ROUNDS => {
            used.or(varying.and(facts.load))
        }
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
    // A stretch of repairs alone, without a round-trip time, shows nothing of others, and they fill
    // a good part of the link.
    let repairs = facts.load.is_some_and(|load| load >= threshold::CRAWL);
    if facts.raised.is_none() && facts.queued_rates == 0 && repairs {
        return true;
    }
    let steady = facts.queued_rate_variation.is_some_and(|v| v < threshold::UNSHARED_VARIATION);
    most.is_none() && steady
}

/// No queue, no loss: a window of the sender, or growth.
fn quiet(case: &Case) -> (Cause, Confidence) {
    let facts = &case.facts;
    let loaded = facts.load.is_some_and(|load| load >= threshold::UNSHARED_UTILISATION);
    // A link seen without a queue and far from full is full no longer; one that was guessed by
    // what it lost at once never showed a queue.
    let left = case.before.is_some_and(Cause::is_bottleneck)
        && case.before_sure > Confidence::Low
        && facts.raised.is_some_and(|raised| raised < threshold::RAISED)
        && facts.load.is_some_and(|load| load < threshold::LOADED)
        && !density::is_densest(case);
    if let Some(before) = going_on(case).filter(|_| !left)
        && (loaded || facts.leaping < threshold::LEAPING)
    {
        return before;
    }
    if facts.leaping >= threshold::LEAPING {
        return (Cause::SlowStart, Confidence::High);
    }
    let full = facts.fullness.is_some_and(|full| full >= threshold::FULL);
    if facts.at_edge >= threshold::AT_EDGE || full {
        return receiver::cause(case);
    }
    let flat = is_flat(facts);
    if flat && facts.inferred_fullness.is_some_and(|full| full >= threshold::INFERRED_FULL) {
        return (Cause::ReceiverBuffer, Confidence::Medium);
    }
    if flat && facts.rounds >= threshold::FLAT_ROUNDS && !grows(facts) {
        return flat_flight(case);
    }
    let own_pace = case.context.own_pace && facts.growing - facts.shrinking < threshold::GROWING;
    // A window that grows is used at once.
    let spare = facts.load.is_some_and(|load| load < threshold::REACHING);
    if (own_pace || (facts.unused >= threshold::UNUSED && spare)) && !empties(facts) {
        return (Cause::ApplicationPaced, Confidence::Medium);
    }
    (Cause::CongestionAvoidance, Confidence::Medium)
}

/// Whether a flight grows, not only to and fro: rounds that add half a segment each add up.
fn grows(facts: &Facts) -> bool {
    let rounds = facts.growing * f64::from(facts.rounds);
    let spread = rounds / 2.0 / facts.flight_mean_segments.max(1.0) / RAMP_DEVIATION;
    facts.growing >= threshold::GROWING
        && facts.flight_variation.is_none_or(|variation| variation * 2.0 >= spread)
}

/// Whether a flat flight is what a send buffer holds: an application that fills its buffer keeps
/// pushing full segments out, one that has no more ends every write with a small one.
pub fn is_buffered(case: &Case) -> bool {
    let facts = &case.facts;
    is_flat(facts)
        && facts.rounds >= threshold::FLAT_ROUNDS
        && facts.flight_segments > threshold::TINY_FLIGHT
        && empties(facts)
        && facts.pushes >= threshold::PUSHED * facts.smalls
}

/// Whether the flight stays the same, or at its most but for dips: what grows spends as much time
/// far below as near it.
fn is_flat(facts: &Facts) -> bool {
    let capped = facts.losses == 0
        && facts.flight_segments <= threshold::PLATEAU * facts.flight_mean_segments;
    facts.flight_variation.is_some_and(|variation| capped || variation < threshold::FLAT)
}

/// Whether PSH tells of a send queue that keeps running empty. Linux sets it on each super-segment
/// as well (`__tcp_transmit_skb` since 5.4), and those of a queue that never empties end full.
fn empties(facts: &Facts) -> bool {
    facts.pushes >= threshold::PUSHES && facts.smalls_a_round >= threshold::EMPTIED
}

/// Whether a flight of super-segments is the same to the byte in every round, as a window makes it
/// also where the controller paces (BBR): a pace alone takes one more or less along.
fn is_capped(facts: &Facts) -> bool {
    let same = facts.flight_variation.is_some_and(|variation| variation < threshold::CAPPED);
    facts.pushes >= threshold::PUSHES && same
}

/// A flight that stays the same below the receiver's window.
fn flat_flight(case: &Case) -> (Cause, Confidence) {
    let facts = &case.facts;
    // Far from the sender, its pacing looks the same.
    let near = case.context.position.is_none_or(|position| position < threshold::NEAR);
    let confidence = if near { Confidence::High } else { Confidence::Medium };
    // A window sends in bursts, each as dense as the link makes it, and leaves no room unused.
    let unbound = case.context.own_pace || facts.unused >= threshold::UNUSED_FLAT;
    if unbound && !empties(facts) && !is_capped(facts) {
        return (Cause::ApplicationPaced, confidence);
    }
    if is_buffered(case) {
        return (Cause::SenderBuffer, confidence);
    }
    let written_out = facts.smalls > 0.0;
    if (facts.dry >= threshold::DRY && written_out)
        || facts.flight_segments <= threshold::TINY_FLIGHT
    {
        return (Cause::ApplicationPaced, Confidence::Medium);
    }
    if empties(facts) {
        return (Cause::SenderBuffer, confidence);
    }
    (Cause::SenderUndetermined, confidence)
}

/// Causes that show by a loss now and then: in between, the flight grows towards the next.
pub fn goes_on(before: Cause) -> bool {
    before.is_bottleneck() || matches!(before, Cause::Policer | Cause::RandomLoss)
}

/// The same of the stretch before, as far as the bursts before its losses do not tell better.
pub fn going_on(case: &Case) -> Option<(Cause, Confidence)> {
    let before = case.before.filter(|before| goes_on(*before))?;
    let alike = matches!(before, Cause::RandomLoss | Cause::Policer) && case.policer.is_none();
    let told = density::cause(case).filter(|_| alike);
    told.or(Some((before, case.before_sure.min(Confidence::Medium))))
}

/// The root of 12: a ramp over its standard deviation.
const RAMP_DEVIATION: f64 = 3.464;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::{Context, Facts};
    use crate::flow::loss::burst::Density;

    #[test]
    fn pushed_super_segments_that_all_end_full_are_no_empty_queue() {
        let named = |variation: f64, unused: f64, smalls: f64, own_pace: bool| {
            let facts = Facts {
                rounds: 70,
                flight_variation: Some(variation),
                flight_segments: 32.0,
                flight_mean_segments: 30.0,
                pushes: 0.5,
                smalls,
                smalls_a_round: smalls * 30.0,
                unused,
                ..Facts::default()
            };
            let context = Context { own_pace, position: Some(0.0), ..Context::default() };
            cause(&Case { facts, context, ..Case::default() }).0.name()
        };
        assert_eq!(
            named(0.04, 0.0, 0.0, true),
            "application/paced",
            "a socket that the kernel paces"
        );
        assert_eq!(named(0.04, 0.3, 0.0, false), "application/paced", "room left unused");
        assert_eq!(named(0.04, 0.0, 0.02, true), "sender_window/send_buffer", "its queue empties");
        assert_eq!(named(0.04, 0.0, 0.001, true), "application/paced", "one small write");
        assert_eq!(named(0.04, 0.0, 0.0, false), "sender_window/undetermined", "a clamp");
        assert_eq!(named(0.0, 0.0, 0.0, true), "sender_window/undetermined", "a cap, and BBR");
    }

    #[test]
    fn a_flight_that_goes_up_as_often_as_down_does_not_grow() {
        let named = |growing: f64, shrinking: f64| {
            let facts = Facts {
                rounds: 35,
                growing,
                shrinking,
                flight_variation: Some(0.23),
                flight_segments: 40.0,
                flight_mean_segments: 27.8,
                ..Facts::default()
            };
            let context = Context { own_pace: true, position: Some(0.0), ..Context::default() };
            cause(&Case { facts, context, ..Case::default() }).0.name()
        };
        assert_eq!(named(0.34, 0.2), "application/paced", "a pace that slow start reached early");
        assert_eq!(named(0.34, 0.0), "transport/congestion_avoidance");
    }

    #[test]
    fn bursts_of_slow_start_queue_only_for_themselves() {
        let named = |queued: f64, load: Option<f64>| {
            let facts = Facts {
                leaping: 0.8,
                growing: 1.0,
                rounds: 5,
                raised: Some(0.72),
                queued,
                load,
                ..Facts::default()
            };
            cause(&Case { facts, ..Case::default() }).0.name()
        };
        assert_eq!(named(0.0, Some(0.3)), "transport/slow_start");
        assert_eq!(named(0.0, None), "transport/slow_start", "too few packets to know the link");
        assert!(named(0.6, None).starts_with("shared_bottleneck"), "a queue stands");
        assert!(named(0.6, Some(0.97)).starts_with("unshared_bottleneck"));
    }

    /// A link with a standing queue at which everything that PPrate found is delivered.
    fn full() -> Case {
        let facts = Facts {
            queued: 1.0,
            raised: Some(1.0),
            rounds: 40,
            queued_rates: 40,
            utilisation: Some(0.97),
            queued_rate_variation: Some(0.02),
            ..Facts::default()
        };
        let context =
            Context { rtt_min: Some(crate::units::Nanos(40_000_000)), ..Context::default() };
        let density = Some(Density { losses: 18, rank: 0.5, delay_rank: None, delay: None });
        Case { facts, context, density, ..Case::default() }
    }

    #[test]
    fn repairs_without_a_round_trip_time_show_no_others() {
        let mut case = full();
        (case.facts.losses, case.facts.losses_timed, case.facts.recovery) = (1, 1, 1.0);
        (case.facts.losses_queued, case.facts.load) = (Some(1.0), Some(0.25));
        (case.facts.utilisation, case.facts.queued_rate_variation) = (None, None);
        (case.facts.raised, case.facts.queued, case.facts.queued_rates) = (None, 0.0, 0);
        assert_eq!(cause(&case).0, Cause::UnsharedLoss);
        case.before = Some(Cause::SharedLoss);
        assert_eq!(cause(&case).0, Cause::SharedLoss, "as before");
    }

    #[test]
    fn own_bursts_that_are_gone_in_every_round_lose_nothing() {
        let mut case = full();
        case.density = None;
        (case.facts.queued, case.facts.queued_rates) = (0.0, 0);
        (case.facts.losses, case.facts.losses_timed, case.facts.loss_ratio) = (1, 1, 0.2);
        (case.facts.raised, case.facts.losses_queued) = (Some(0.42), Some(0.0));
        (case.facts.packets, case.facts.genuine) = (1_700, 1.0);
        (case.facts.utilisation, case.facts.load) = (None, Some(0.07));
        assert_eq!(cause(&case), (Cause::Policer, Confidence::Low));
        case.facts.losses_queued = Some(1.0);
        assert!(cause(&case).0.is_bottleneck(), "they came with the queue");
    }

    #[test]
    fn a_repair_crawls_one_segment_a_round_trip() {
        let mut case = full();
        case.density = None;
        (case.facts.span_s, case.facts.recovery, case.facts.losses) = (3.0, 0.83, 1);
        (case.facts.queued, case.facts.queued_rates, case.facts.raised) = (0.0, 0, Some(0.02));
        (case.facts.utilisation, case.facts.load) = (None, Some(0.015));
        case.context.rtt_min = Some(crate::units::Nanos(100_000_000));
        (case.facts.packets, case.facts.genuine) = (362, 1.0);
        case.facts.loss_ratio = 0.2;
        assert_eq!(cause(&case), (Cause::Recovery, Confidence::High));
        case.facts.loss_ratio = 0.334;
        assert_eq!(cause(&case).0, Cause::Policer, "four in a round trip, of a third lost");
    }

    #[test]
    fn a_short_queue_that_was_guessed_is_not_left() {
        let mut case = full();
        (case.facts.queued, case.facts.queued_rates, case.facts.raised) = (0.0, 0, Some(0.0));
        (case.facts.utilisation, case.facts.load) = (None, Some(0.33));
        case.facts.flight_variation = Some(0.05);
        case.before = Some(Cause::UnsharedLoss);
        assert_eq!(cause(&case), (Cause::UnsharedLoss, Confidence::Low));
        case.before_sure = Confidence::High;
        assert_ne!(cause(&case).0, Cause::UnsharedLoss, "its queue would be seen");
    }

    #[test]
    fn a_link_is_not_the_halfs_alone_when_others_packets_lie_between() {
        assert_eq!(cause(&full()).0, Cause::UnsharedQueue);
        let mut others = full();
        others.context.others_between = true;
        assert_eq!(cause(&others).0, Cause::SharedQueue);
    }
}
