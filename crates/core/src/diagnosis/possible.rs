//! What the facts of a stretch rule out, whatever the items say.

use super::Case;
use super::model::{ANSWERS, ByAnswer};
use crate::limit::Limitation;

/// Takes the answers away that the facts rule out. `goes_on` tells that nobody answered in the
/// stretch before.
pub fn rule_out(log_odds: &mut ByAnswer, case: &Case, goes_on: bool) {
    for answer in Limitation::ALL.iter().take(ANSWERS) {
        if !is_possible(*answer, case, goes_on) {
            log_odds[*answer as usize] -= IMPOSSIBLE;
        }
    }
}

/// Whether there is what an answer is made of: a loss for what drops, a round trip, a capacity or
/// a loss for a full link, a timeout with nothing acknowledged for a peer that is gone.
fn is_possible(answer: Limitation, case: &Case, goes_on: bool) -> bool {
    let (facts, context, so_far) = (&case.facts, &case.context, &case.so_far);
    let lost = facts.losses > 0 || facts.timeouts > 0 || so_far.losses > 0;
    match answer {
        Limitation::Policer | Limitation::RandomLoss => lost,
        Limitation::UnsharedBottleneck | Limitation::SharedBottleneck => {
            lost || facts.marks > 0 || context.rtt_min.is_some() || context.capacity_bps.is_some()
        }
        Limitation::Unresponsive => facts.advances == 0 && (facts.timeouts > 0 || goes_on),
        _ => true,
    }
}

/// Log-odds that no evidence makes up for.
const IMPOSSIBLE: f32 = 30.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::Facts;

    #[test]
    fn an_answer_needs_what_it_is_made_of() {
        let nothing = Case::default();
        let possible = |case: &Case| -> Vec<&str> {
            let all = Limitation::ALL.iter().take(ANSWERS);
            all.filter(|answer| is_possible(**answer, case, false)).map(|it| it.name()).collect()
        };
        let hosts = ["application", "receiver_window", "sender_window", "transport"];
        assert_eq!(possible(&nothing), hosts);
        let facts = Facts { losses: 1, timeouts: 1, ..Facts::default() };
        assert_eq!(possible(&Case { facts, ..nothing }).len(), ANSWERS);
        let mut answered = Case { facts, ..nothing };
        answered.facts.advances = 1;
        assert!(!possible(&answered).contains(&"unresponsive"));
    }
}
