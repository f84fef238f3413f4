//! From an answer to its cause: which of the things that make it, by the facts of the stretch.

use super::{Case, Cause, Facts, Limitation, application, receiver, sender, threshold};

/// The cause of a limitation in a stretch.
pub fn within(answer: Limitation, case: &Case) -> Cause {
    let facts = &case.facts;
    let stands = facts.losses == 0 || facts.queued >= threshold::STANDING;
    match answer {
        Limitation::Application => application::cause(case),
        Limitation::ReceiverWindow => receiver::cause(case),
        Limitation::SenderWindow => sender::cause(case),
        Limitation::UnsharedBottleneck if stands => Cause::UnsharedQueue,
        Limitation::UnsharedBottleneck => Cause::UnsharedLoss,
        Limitation::SharedBottleneck if facts.marks > 0 => Cause::SharedEcn,
        Limitation::SharedBottleneck if facts.losses > 0 => Cause::SharedLoss,
        Limitation::SharedBottleneck => Cause::SharedQueue,
        Limitation::Policer => Cause::Policer,
        Limitation::RandomLoss => Cause::RandomLoss,
        Limitation::Unresponsive if case.context.only_small_answered => Cause::UnresponsivePathMtu,
        Limitation::Unresponsive => Cause::UnresponsivePeer,
        Limitation::Transport | Limitation::Mixed => phase(facts),
    }
}

/// What TCP itself was at.
fn phase(facts: &Facts) -> Cause {
    if facts.leaping >= threshold::LEAPING && facts.losses == 0 {
        return Cause::SlowStart;
    }
    let needless = facts.losses > 0 && facts.genuine < threshold::GENUINE;
    match needless || facts.recovery >= threshold::REPAIRING {
        true => Cause::Recovery,
        false => Cause::CongestionAvoidance,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_one_of_its_limitation() {
        for &answer in Limitation::ALL.iter().filter(|answer| **answer != Limitation::Mixed) {
            assert_eq!(within(answer, &Case::default()).limitation(), answer);
        }
    }
}
