//! Losses without a queue: a policer, a short queue, a link that errs, or a repair that takes long.

use super::{Case, Cause, Confidence, Facts, density, network, threshold};
use crate::flow::loss::losses::Shape;

/// What they come from.
pub fn cause(case: &Case) -> (Cause, Confidence) {
    let facts = &case.facts;
    if facts.genuine < threshold::GENUINE {
        return (Cause::Recovery, Confidence::Medium);
    }
    if let Some(before) = network::going_on(case).filter(|_| facts.losses == 0) {
        return before;
    }
    if let Some(cause) = loss_cause(case) {
        return cause;
    }
    if is_beyond_errors(facts) {
        return unseen(case);
    }
    if facts.recovery >= threshold::REPAIRING && facts.losses <= 2 {
        return (Cause::Recovery, Confidence::Medium);
    }
    density::at_once(case).unwrap_or((Cause::RandomLoss, of_few(facts)))
}

/// How sure chance is where nothing speaks against it: one or two segments lost of a few are hardly
/// evidence of anything.
fn of_few(facts: &Facts) -> Confidence {
    let lost = facts.loss_ratio * facts.packets as f64;
    let heavy = facts.loss_ratio >= threshold::LOSS_LINK && lost < threshold::LOSSES_MANY as f64;
    if heavy { Confidence::Low } else { Confidence::Medium }
}

/// Whether so much was lost that no link errs like that, and so many segments that a link which
/// loses [`threshold::LOSS_LINK`] would not have lost them by accident.
fn is_beyond_errors(facts: &Facts) -> bool {
    let lost = facts.loss_ratio * facts.packets as f64;
    let expected = threshold::LOSS_LINK * facts.packets as f64;
    let by_accident = lost - expected < threshold::LIKE_CHANCE * expected.sqrt();
    let heavy = threshold::LOSS_HEAVY..threshold::LOSS_ALL;
    // Nor would it with so much sent again and again.
    let again = facts.loss_ratio >= threshold::LOSS_ALL && facts.losses > 2;
    (heavy.contains(&facts.loss_ratio) || again) && lost >= threshold::LOST_FEWEST && !by_accident
}

/// What no link loses by errors, where nothing else tells of a bucket or a queue: with answers a
/// queue would be seen, without them queues are commoner.
fn unseen(case: &Case) -> (Cause, Confidence) {
    let cause = if case.context.is_one_way() { Cause::UnsharedLoss } else { Cause::Policer };
    (cause, Confidence::Low)
}

/// What losses without a queue come from, as far as enough of them were seen.
pub fn loss_cause(case: &Case) -> Option<(Cause, Confidence)> {
    let by_shape = || case.losses.as_ref().map(|shape| of_shape(shape, case));
    let otherwise = density::cause(case).or_else(by_shape);
    let chance = otherwise == Some((Cause::RandomLoss, Confidence::High));
    match case.policer {
        Some(fit) if fit.losses >= threshold::FIT_FEW || !chance => {
            // Losses of a few bursts lie on one line now and then.
            let few = fit.losses < threshold::FIT_FEW && density::has_few_episodes(case);
            let doubtful = density::is_queue(case) || few;
            let confidence = if doubtful { Confidence::Medium } else { Confidence::High };
            Some((Cause::Policer, confidence))
        }
        // A policer that others share drops as much as no link errs.
        _ => otherwise.map(|(cause, confidence)| match case.losses {
            Some(shape) if chance && shape.least_ratio() >= threshold::LOSS_LINK => {
                (cause, Confidence::Medium)
            }
            _ => (cause, confidence),
        }),
    }
}

/// The same by how they lie.
fn of_shape(shape: &Shape, case: &Case) -> (Cause, Confidence) {
    let facts = &case.facts;
    let tolerance = 1.0 / f64::from(shape.losses).sqrt();
    let half_used = facts.load.is_none_or(|load| load >= threshold::REACHING);
    let full = facts.load.is_some_and(|load| load >= threshold::UNSHARED_UTILISATION);
    if shape.high >= threshold::LOSS_HIGH && shape.ratio < threshold::LOSS_HEAVY && half_used {
        return (Cause::UnsharedLoss, Confidence::Medium);
    }
    // Random losses keep a sender that answers them small (Mathis et al. 1997): one that is not
    // does not answer them, and then a link would queue what a policer drops.
    let stands = facts.flight_mean_segments * shape.ratio.sqrt() >= threshold::STANDS
        && shape.ratio >= threshold::STANDS_RATIO;
    let fell = facts.flight_variation.is_some_and(|v| v >= threshold::STANDS_VARIATION);
    if stands && !(fell && density::is_like_chance(case)) {
        return (Cause::Policer, Confidence::Medium);
    }
    let spread = threshold::LOSS_REGULAR - tolerance..threshold::LOSS_CLUSTERED + tolerance / 2.0;
    // Some long gaps and no more short ones than chance has are those of a sender that is slow now
    // and then, where so many losses rank like chance.
    let long_gaps = shape.variation >= threshold::LOSS_REGULAR
        && shape.clustering < 1.0 + tolerance
        && density::is_chance_before_limit(case);
    let spread = spread.contains(&shape.variation) || long_gaps;
    // A limit that growth meets again and again gives losses a rhythm.
    let flat = shape.flight < threshold::LOSS_FLIGHT + tolerance / 2.0;
    let chance = if flat { threshold::RHYTHM_CHANCE_FLAT } else { threshold::RHYTHM_CHANCE };
    let chance = chance / f64::from(shape.episodes.max(1)).sqrt();
    let rhythmic = shape.rhythm.map(|rhythm| rhythm < threshold::RHYTHM - chance);
    if rhythmic == Some(true) {
        return match full && shape.ratio < threshold::BURSTS_RATIO {
            true => (Cause::UnsharedLoss, Confidence::Medium),
            false => (Cause::Policer, Confidence::Medium),
        };
    }
    let alone = flat && spread;
    // Nothing speaks against chance only where bursts had a chance to.
    let sure = if density::is_chance(case) { Confidence::High } else { Confidence::Medium };
    // A channel with a bad state loses in tight bursts, whenever they come.
    let calm = match rhythmic {
        Some(_) => shape.flight < threshold::LOSS_FLIGHT + tolerance,
        None => shape.flight < threshold::BURSTS_FLIGHT,
    };
    let tight = shape.adjacent >= threshold::BURSTS_ADJACENT
        || shape.clustering < threshold::BURSTS_CLUSTERING;
    let calm = calm && tight;
    // Where what was sent before them ranks below chance, more of them may be a channel's.
    let most = match density::is_spared_by_bursts(case) {
        true => threshold::LOSS_LINK,
        false => threshold::BURSTS_RATIO,
    };
    match shape.ratio {
        few if few < most && (alone || calm) => {
            (Cause::RandomLoss, if alone { sure } else { Confidence::Medium })
        }
        some if some < threshold::LOSS_HEAVY && alone => (Cause::RandomLoss, sure),
        _ if alone && may_be_heavy(shape, case) => (Cause::RandomLoss, Confidence::Medium),
        _ => (Cause::Policer, Confidence::Medium),
    }
}

/// Whether so many may be chance all the same: very many that are like it in every respect, of a
/// link hardly fit for use. Policers that others share come near, and are commoner.
fn may_be_heavy(shape: &Shape, case: &Case) -> bool {
    let met = case.density.map_or(0, |density| density.losses);
    met.min(shape.losses) >= threshold::HEAVY_CHANCE
        && shape.flight > 2.0 - threshold::LOSS_FLIGHT
        && shape.flight < threshold::LOSS_FLIGHT
        && density::is_like_chance(case)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::Context;
    use crate::flow::loss::burst::Density;
    use crate::units::Nanos;

    const CHANCE: Shape = Shape {
        losses: 18,
        ratio: 0.01,
        variation: 1.0,
        rhythm: Some(0.9),
        episodes: 17,
        adjacent: 0.0,
        clustering: 1.0,
        flight: 1.0,
        high: 0.5,
    };

    fn case(losses: Shape, density: (u32, f64)) -> Case {
        let context = Context { rtt_min: Some(Nanos::from_millis(100)), ..Context::default() };
        let (losses_met, rank) = density;
        let density = Density { losses: losses_met, rank, delay_rank: Some(0.5), delay: None };
        Case { context, losses: Some(losses), density: Some(density), ..Case::default() }
    }

    #[test]
    fn a_bucket_that_fits_few_losses_yields_to_chance_and_one_that_fits_many_does_not() {
        let mut case = case(CHANCE, (18, 0.5));
        let fit = |losses| Some(crate::flow::loss::policer::Policer { rate_bps: 1.4e6, losses });
        for (policer, expected) in
            [(None, Cause::RandomLoss), (fit(18), Cause::RandomLoss), (fit(40), Cause::Policer)]
        {
            case.policer = policer;
            assert_eq!(loss_cause(&case), Some((expected, Confidence::High)));
        }
        (case.policer, case.losses.as_mut().expect("set").flight) = (fit(18), 1.6);
        assert_eq!(loss_cause(&case), Some((Cause::Policer, Confidence::High)));
        case.density.as_mut().expect("set").losses = 4;
        assert_eq!(loss_cause(&case), Some((Cause::Policer, Confidence::Medium)), "of 4 bursts");
    }

    #[test]
    fn chance_is_sure_only_of_as_much_as_a_link_may_lose() {
        let of = |ratio| loss_cause(&case(Shape { ratio, ..CHANCE }, (18, 0.5)));
        assert_eq!(of(0.03), Some((Cause::RandomLoss, Confidence::High)));
        assert_eq!(of(0.05), Some((Cause::RandomLoss, Confidence::High)));
        assert_eq!(of(0.07), Some((Cause::RandomLoss, Confidence::Medium)));
    }

    /// What is said of so many segments lost of so many, when nothing else is known.
    fn of_lost(lost: u64, packets: u64, context: Context) -> (Cause, Confidence) {
        let facts = Facts {
            packets,
            losses: lost,
            loss_ratio: lost as f64 / packets as f64,
            genuine: 1.0,
            flight_segments: 10.0,
            ..Facts::default()
        };
        cause(&Case { facts, context, ..Case::default() })
    }

    #[test]
    fn one_or_two_lost_segments_are_no_policer_however_few_were_sent() {
        let seen = Context { rtt_min: Some(Nanos::from_millis(100)), ..Context::default() };
        for (lost, packets) in [(1, 4), (2, 8), (2, 20), (3, 30), (1, 1), (2, 2)] {
            let found = of_lost(lost, packets, seen);
            assert_eq!(found, (Cause::RandomLoss, Confidence::Low), "{lost} of {packets}");
        }
        assert_eq!(of_lost(2, 400, seen), (Cause::RandomLoss, Confidence::Medium));
        for (lost, packets) in [(4, 20), (18, 177), (13, 34), (5, 5)] {
            let found = of_lost(lost, packets, seen);
            assert_eq!(found, (Cause::Policer, Confidence::Low), "{lost} of {packets}");
        }
    }

    #[test]
    fn where_only_one_direction_is_seen_a_queue_is_likelier_than_a_bucket() {
        let one_way = of_lost(18, 177, Context::default());
        assert_eq!(one_way, (Cause::UnsharedLoss, Confidence::Low));
        let unanswered_so_far = Context { rwnd_max: Some(65_535), ..Context::default() };
        assert_eq!(of_lost(18, 177, unanswered_so_far), (Cause::Policer, Confidence::Low));
    }

    #[test]
    fn heavy_losses_are_chance_where_so_many_are_like_it_in_every_respect() {
        let heavy = Shape { losses: 80, ratio: 0.14, ..CHANCE };
        let of = |shape, density| loss_cause(&case(shape, density)).expect("told").0;
        assert_eq!(of(heavy, (80, 0.49)), Cause::RandomLoss);
        assert_eq!(of(heavy, (12, 0.49)), Cause::Policer, "too few bursts to tell");
        assert_eq!(of(heavy, (80, 0.59)), Cause::Policer, "denser than chance");
        assert_eq!(of(Shape { flight: 1.4, ..heavy }, (80, 0.49)), Cause::Policer);
        let few = Shape { losses: 12, ..heavy };
        assert_eq!(of(few, (80, 0.49)), Cause::Policer);
        assert_eq!(of(Shape { flight: 0.6, ..heavy }, (80, 0.49)), Cause::Policer);
        let behind = Case { density: None, ..case(heavy, (80, 0.49)) };
        assert_eq!(loss_cause(&behind).expect("told").0, Cause::Policer);
    }

    #[test]
    fn long_gaps_alone_are_no_clusters() {
        let slow_at_times = Shape { losses: 50, ratio: 0.03, variation: 1.6, ..CHANCE };
        let of = |shape| loss_cause(&case(shape, (40, 0.5))).expect("told").0;
        assert_eq!(of(slow_at_times), Cause::RandomLoss);
        assert_eq!(of(Shape { clustering: 2.0, ..slow_at_times }), Cause::Policer);
    }

    #[test]
    fn losses_after_thin_bursts_are_a_channels_even_when_they_cluster() {
        let clusters = Shape { losses: 70, ratio: 0.03, variation: 2.6, ..CHANCE };
        let clusters = Shape { clustering: 3.2, adjacent: 0.98, ..clusters };
        let of = |rank| loss_cause(&case(clusters, (20, rank))).expect("told").0;
        assert_eq!(of(0.3), Cause::RandomLoss);
        assert_eq!(of(0.5), Cause::Policer);
    }

    #[test]
    fn a_bad_channel_loses_what_follows_and_a_bucket_lets_some_through() {
        let clusters = Shape { losses: 70, variation: 2.6, clustering: 6.0, ..CHANCE };
        let of = |adjacent| {
            loss_cause(&case(Shape { adjacent, ..clusters }, (16, 0.5))).expect("told").0
        };
        assert_eq!(of(0.98), Cause::RandomLoss);
        assert_eq!(of(0.78), Cause::Policer);
    }

    #[test]
    fn a_flight_that_fell_does_not_stand() {
        let of = |flight_variation| {
            let facts = Facts {
                flight_mean_segments: 40.0,
                flight_variation: Some(flight_variation),
                ..Facts::default()
            };
            let shape = Shape { ratio: 0.04, ..CHANCE };
            loss_cause(&Case { facts, ..case(shape, (8, 0.5)) }).expect("told").0
        };
        assert_eq!(of(0.1), Cause::Policer, "it does not answer its losses");
        assert_eq!(of(0.9), Cause::RandomLoss, "slow start, and what followed");
    }
}
