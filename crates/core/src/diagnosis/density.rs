//! What the density of the sends before losses tells: a limit that only dense bursts meet, or
//! chance.

use super::{Case, Cause, Confidence, threshold};
use crate::flow::loss::burst::Density;

/// The limit of a few packets that dense bursts meet: a bucket, or a queue where the round-trip
/// times before the losses are the longest. `None` where losses have nothing to do with bursts.
pub fn cause(case: &Case) -> Option<(Cause, Confidence)> {
    let density = case.density.filter(meets_bursts)?;
    // A load near one says nothing here: what paces packets behind a policer is the policer.
    if is_delayed(&density, case) {
        return Some((Cause::UnsharedLoss, Confidence::Medium));
    }
    // Where no answer is seen, a full queue and an empty bucket look alike; queues are commoner.
    match density.losses {
        _ if case.context.rtt_min.is_none() => Some((Cause::UnsharedLoss, Confidence::Low)),
        // A window is never larger than when chance ends its growth, so that one loss tells none.
        few if few < threshold::DENSE_FEWEST => None,
        some if some < threshold::LOSSES_TOLD => Some((Cause::Policer, Confidence::Low)),
        _ => Some((Cause::Policer, Confidence::Medium)),
    }
}

/// Whether the half's own bursts alone overflow the link: where others fill it too, their packets
/// are as often in the way.
pub fn overflows(case: &Case) -> bool {
    is_densest(case)
        && case.density.is_some_and(|density| density.deviations() >= threshold::BEYOND_CHANCE)
}

/// Whether all losses so far, few or many, met the densest bursts.
pub fn is_densest(case: &Case) -> bool {
    case.density.is_some_and(|density| density.rank >= threshold::DENSEST)
}

/// Whether losses came at round-trip times like all others: no queue lost them. Few have to rank so
/// low that those of a queue would hardly do it by accident.
pub fn is_spared_by_queue(case: &Case) -> bool {
    case.density.is_some_and(|density| {
        let many = density.losses >= threshold::DELAYS_TOLD;
        let accident = threshold::HARDLY_CHANCE / (12.0 * f64::from(density.losses)).sqrt();
        let most = if many { threshold::UNDELAYED } else { threshold::DELAYED - accident };
        density.delay_rank.is_some_and(|rank| rank < most)
    })
}

/// Whether many losses, seen before they were lost, come after dense bursts more seldom than chance
/// has it: no limit on what is sent does that.
pub fn is_spared_by_bursts(case: &Case) -> bool {
    case.density.is_some_and(|density| {
        density.losses >= threshold::LOSSES_MANY
            && density.delay_rank.is_some()
            && density.deviations() <= -threshold::LIKE_CHANCE
    })
}

/// Whether it is doubtful that a queue lost them: what comes just before its losses waits longest.
pub fn is_queue_doubtful(case: &Case) -> bool {
    case.density.is_some_and(|density| {
        density.losses >= threshold::DELAYS_TOLD
            && density.delay_rank.is_some()
            && !is_delayed(&density, case)
    })
}

/// What drops much of a flight at once, which chance does not: a queue, if what came just before
/// waited longest, or a bucket.
pub fn at_once(case: &Case) -> Option<(Cause, Confidence)> {
    let facts = &case.facts;
    let lost = facts.loss_ratio * facts.packets as f64 / facts.losses.max(1) as f64;
    let much =
        lost >= threshold::LOST_AT_ONCE.max(threshold::LOST_OF_FLIGHT * facts.flight_segments);
    let queue = case.density.is_some_and(|density| {
        let longest = density.delay_rank.is_some_and(|rank| rank >= threshold::DELAYED_FEW);
        is_densest(case) && longest && waits(&density, case)
    });
    // What carries all it can and queues nothing is policed.
    let most = threshold::UNSHARED_UTILISATION;
    let loaded = facts.load.is_some_and(|load| load >= threshold::LOADED_AT_ONCE && load < most);
    match queue {
        _ if !much => None,
        true => Some((Cause::UnsharedLoss, Confidence::Medium)),
        false if loaded || case.context.is_one_way() => {
            Some((Cause::UnsharedLoss, Confidence::Low))
        }
        false => Some((Cause::Policer, Confidence::Low)),
    }
}

/// Whether the losses are of a few episodes.
pub fn has_few_episodes(case: &Case) -> bool {
    case.density.is_some_and(|density| density.losses < threshold::LOSSES_MANY)
}

/// Whether a queue is seen to fill up before the losses.
pub fn is_queue(case: &Case) -> bool {
    case.density.is_some_and(|density| meets_bursts(&density) && is_delayed(&density, case))
}

/// Whether the losses rank as chance has it, neither high nor low.
pub fn is_chance(case: &Case) -> bool {
    case.density.is_some_and(|density| {
        density.losses >= threshold::LOSSES_MANY
            && density.deviations().abs() < threshold::LIKE_CHANCE
    })
}

/// The same of any number, seen before they were lost: behind a policer bursts are what it let
/// pass.
pub fn is_like_chance(case: &Case) -> bool {
    case.density.is_some_and(|density| {
        density.delay_rank.is_some() && density.deviations().abs() < threshold::LIKE_CHANCE
    })
}

/// The same of very many.
pub fn is_chance_before_limit(case: &Case) -> bool {
    is_like_chance(case) && case.density.is_some_and(|density| density.losses >= threshold::FIT_FEW)
}

fn meets_bursts(density: &Density) -> bool {
    let deviations = density.deviations();
    let rare = deviations >= threshold::HARDLY_CHANCE
        || density.chance_at_top() <= threshold::HARDLY_CHANCE_TAIL;
    let few = density.rank >= threshold::DENSE && rare;
    let many = density.rank >= threshold::DENSER && deviations >= threshold::BEYOND_CHANCE;
    few || many
}

fn is_delayed(density: &Density, case: &Case) -> bool {
    let many = density.losses >= threshold::DELAYS_TOLD;
    let least = if many { threshold::DELAYED } else { threshold::DELAYED_FEW };
    density.delay_rank.is_some_and(|rank| rank >= least) && waits(density, case)
}

/// Whether what came just before the losses waited longer than hosts make it wait now and then: the
/// longest of next to nothing shows no queue.
fn waits(density: &Density, case: &Case) -> bool {
    let near = case.context.rtt_min.map_or(i64::MAX, |rtt| rtt.0 / threshold::NEAR_DELAY);
    density.delay.is_none_or(|delay| delay.0 >= threshold::HOST_DELAY_NS.min(near))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::{Context, Facts};
    use crate::units::Nanos;

    fn case(losses: u32, rank: f64, delay_rank: Option<f64>) -> Case {
        let context = Context { rtt_min: Some(Nanos::from_millis(100)), ..Context::default() };
        let density = Some(Density { losses, rank, delay_rank, delay: None });
        let facts = Facts::default();
        Case { facts, context, density, ..Case::default() }
    }

    #[test]
    fn dense_bursts_meet_a_bucket_or_where_they_wait_a_queue() {
        let bucket = cause(&case(20, 0.95, Some(0.5)));
        assert_eq!(bucket, Some((Cause::Policer, Confidence::Medium)));
        let queue = cause(&case(4, 0.99, Some(0.99)));
        assert_eq!(queue, Some((Cause::UnsharedLoss, Confidence::Medium)));
        let one_way = Case { context: Context::default(), ..case(4, 0.99, None) };
        assert_eq!(cause(&one_way), Some((Cause::UnsharedLoss, Confidence::Low)));
    }

    #[test]
    fn the_fewer_losses_the_higher_they_have_to_rank() {
        assert_eq!(cause(&case(2, 0.92, None)), None, "one pair in eighty does");
        let pair = cause(&case(2, 0.95, None));
        assert_eq!(pair, Some((Cause::Policer, Confidence::Low)), "one in 200");
        assert_eq!(cause(&case(1, 1.0, None)), None, "growth ends at its densest");
        assert_eq!(cause(&case(1, 1.0, Some(0.99))).map(|told| told.0), Some(Cause::UnsharedLoss));
        assert_eq!(cause(&case(10, 0.70, None)), None);
        assert!(cause(&case(60, 0.70, None)).is_some());
        assert_eq!(cause(&case(2_000, 0.55, None)), None, "too little to be a limit");
    }

    #[test]
    fn half_a_flight_is_not_lost_by_chance() {
        let facts = |losses| Facts {
            packets: 700,
            flight_segments: 31.0,
            losses,
            loss_ratio: 0.02,
            ..Facts::default()
        };
        let lost = |losses, density: Case| at_once(&Case { facts: facts(losses), ..density });
        let bucket = lost(1, case(1, 0.99, Some(0.5)));
        assert_eq!(bucket, Some((Cause::Policer, Confidence::Low)));
        let queue = lost(1, case(1, 0.99, Some(0.99)));
        assert_eq!(queue, Some((Cause::UnsharedLoss, Confidence::Medium)));
        assert_eq!(lost(7, case(1, 0.99, Some(0.99))), None, "two at a time");
        let loaded = Facts { load: Some(0.33), ..facts(1) };
        let own = at_once(&Case { facts: loaded, ..case(1, 0.99, Some(0.5)) });
        assert_eq!(own, Some((Cause::UnsharedLoss, Confidence::Low)), "a link near its own rate");
    }

    #[test]
    fn the_longest_of_next_to_nothing_is_no_queue() {
        let told = |delay_us, rtt_us| {
            let mut case = case(12, 0.9, Some(0.95));
            case.context.rtt_min = Some(Nanos::from_micros(rtt_us));
            case.density.as_mut().expect("set").delay = Some(Nanos::from_micros(delay_us));
            cause(&case).expect("dense").0
        };
        assert_eq!(told(360, 100_000), Cause::Policer, "within what hosts do");
        assert_eq!(told(5_200, 100_000), Cause::UnsharedLoss, "8 kB at 10 Mbit/s");
        assert_eq!(told(100, 400), Cause::UnsharedLoss, "a quarter of the way");
    }

    #[test]
    fn chance_is_told_by_many_losses_of_any_rank() {
        assert!(is_chance(&case(40, 0.48, None)));
        assert!(!is_chance(&case(40, 0.62, None)) && !is_chance(&case(9, 0.48, None)));
        assert!(!is_chance(&case(40, 0.30, None)), "as behind a queue that others fill");
    }

    #[test]
    fn a_queue_is_doubted_where_losses_do_not_wait() {
        assert!(is_spared_by_queue(&case(8, 0.5, Some(0.4))));
        assert!(!is_spared_by_queue(&case(3, 0.5, Some(0.6))), "too few to tell");
        assert!(is_spared_by_queue(&case(3, 0.5, Some(0.4))), "no queue by accident");
        assert!(is_queue_doubtful(&case(8, 0.9, Some(0.8))));
        assert!(!is_queue_doubtful(&case(8, 0.9, None)), "not seen from here");
        assert!(overflows(&case(8, 0.98, None)) && !overflows(&case(8, 0.88, None)));
    }
}
