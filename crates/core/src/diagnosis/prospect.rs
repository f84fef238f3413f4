//! What each answer would be of an interval, and what facts say of it, before it is known which is
//! the likeliest: all that is needed of a case to judge it again.

use super::model::curve::Curve;
use super::model::{ANSWERS, ByAnswer};
use super::possible::{self, Ruling};
use super::shares::{Owners, Waits};
use super::{Case, Cause, Confidence, Finding, Limitation, doubt, most_likely, next_to};

/// What an answer would be.
#[derive(Clone, Copy, Debug)]
struct Prospect {
    cause: Cause,
    /// Whose the waits would be.
    owners: Owners,
    /// How sure it may be.
    most: Confidence,
}

/// What all answers would be of an interval.
#[derive(Clone, Copy, Debug)]
pub struct Prospects {
    /// Nothing where the capture does not show what the answer would rest on.
    answers: [Option<Prospect>; ANSWERS],
    waits: Waits,
    ruling: Ruling,
}

impl Prospect {
    fn of(answer: Limitation, case: &Case, varying: Option<Cause>) -> Option<Prospect> {
        if possible::lacks_a_round_trip(answer, case) {
            return None;
        }
        let cause = match answer {
            Limitation::UnsharedBottleneck => varying.unwrap_or_else(|| answer.cause(case)),
            _ => answer.cause(case),
        };
        let owners = Owners::of(case, cause);
        let shares = owners.shares(&Waits::of(case));
        Some(Prospect { cause, owners, most: doubt::most(cause.limitation(), &shares, case) })
    }

    fn found(self, waits: &Waits, chances: ByAnswer, curve: &Curve) -> Finding {
        let answer = self.cause.limitation();
        let probability = curve.calibrated(chances[answer as usize], answer);
        Finding {
            cause: self.cause,
            probability,
            confidence: curve.confidence(probability).min(self.most),
            alternative: next_to(answer, &chances, probability),
            chances,
            shares: self.owners.shares(waits),
        }
    }
}

impl Prospects {
    /// Of a case, whose link of its own would be `varying`.
    pub fn of(case: &Case, varying: Option<Cause>) -> Prospects {
        let answers = std::array::from_fn(|at| Prospect::of(Limitation::ALL[at], case, varying));
        Prospects { answers, waits: Waits::of(case), ruling: Ruling::of(case) }
    }

    /// Holds log-odds to the facts.
    pub fn rule(&self, log_odds: &mut ByAnswer) {
        self.ruling.rule(log_odds);
    }

    /// What chances of all answers make of it.
    pub fn concluded(&self, chances: ByAnswer, curve: &Curve) -> Option<Finding> {
        let prospect = self.answers[most_likely(&chances) as usize]?;
        Some(prospect.found(&self.waits, chances, curve))
    }
}

/// What chances of all answers make of a case, whose link of its own would be `varying`; nothing
/// where the capture does not show what the answer would rest on.
pub fn concluded(
    case: &Case,
    chances: ByAnswer,
    varying: Option<Cause>,
    curve: &Curve,
) -> Option<Finding> {
    let prospect = Prospect::of(most_likely(&chances), case, varying)?;
    Some(prospect.found(&Waits::of(case), chances, curve))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::model::MODEL;
    use crate::diagnosis::{Context, Facts};
    use crate::units::Nanos;

    fn a_case() -> Case {
        let facts = Facts { span_s: 3.0, network: 0.7, idle: 0.3, losses: 2, ..Facts::default() };
        let rtt_least = Some(Nanos::from_micros(20_000));
        let context = Context { rtt_least, ..Context::default() };
        Case { facts, context, ..Case::default() }
    }

    #[test]
    fn chances_name_the_likeliest_and_the_next() {
        let mut chances = [0.0; ANSWERS];
        (chances[3], chances[6]) = (0.7, 0.3);
        let found = concluded(&a_case(), chances, None, &MODEL.alone).expect("some");
        assert_eq!(found.cause.limitation(), Limitation::UnsharedBottleneck);
        let (next, chance) = found.alternative.expect("two");
        assert_eq!(next, Limitation::RandomLoss);
        assert!(chance + found.probability <= 1.0 + 1e-6, "{found:?}");
    }

    #[test]
    fn what_was_prepared_for_all_answers_is_what_each_is_found_to_be() {
        let (case, varying) = (a_case(), Some(Cause::UnsharedWifi));
        let prospects = Prospects::of(&case, varying);
        for answer in 0..ANSWERS {
            let mut chances = [0.02; ANSWERS];
            chances[answer] = 0.84;
            let found = concluded(&case, chances, varying, &MODEL.alone);
            assert_eq!(prospects.concluded(chances, &MODEL.alone), found);
            assert_eq!(found.map(|found| found.cause.limitation() as usize), Some(answer));
        }
        assert!(size_of::<Prospects>() <= 128, "{} bytes", size_of::<Prospects>());
    }
}
