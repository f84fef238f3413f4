//! A policer: a token bucket drops what exceeds its rate.

use super::Cause;
use crate::diagnosis::evidence::{NONE_NOW, density, earlier, inflation, pattern, rhythm};
use crate::diagnosis::remedy::Advised;
use crate::diagnosis::sentence::Sentence;
use crate::diagnosis::words::{counted, percent, rate};
use crate::diagnosis::{Case, Finding, threshold};

/// It has one cause.
pub fn cause(_: &Case) -> Cause {
    Cause::Policer
}

/// The numbers that decided.
pub fn evidence(case: &Case, _: &Finding, say: &mut Sentence) {
    let facts = &case.facts;
    say.part();
    match (case.policer, case.losses) {
        (Some(policer), _) => write!(
            say,
            "{} fit a token bucket filled at {}",
            counted(u64::from(policer.losses), "loss", "losses"),
            rate(policer.rate_bps)
        ),
        (None, Some(shape)) => pattern(case, &shape, say),
        _ if facts.losses == 0 && facts.loss_ratio == 0.0 => write!(say, "{NONE_NOW}"),
        _ => write!(say, "{} of the bytes were lost", percent(facts.loss_ratio)),
    }
    earlier(case, say);
    rhythm(case, say);
    density(case, say);
    inflation(case, say.part());
    if facts.inflation.is_some_and(|inflated| inflated < threshold::INFLATED) {
        say.add(&[": drops without a queue"]);
    }
}

/// What to change.
pub fn remedy(advised: &Advised) -> String {
    let Advised { case, src, .. } = advised;
    let found =
        case.policer.map(|policer| format!("its bucket fills at {}, ", rate(policer.rate_bps)));
    let through = case.facts.rate_bps().filter(|_| case.facts.packets >= FEWEST_PACKETS);
    let Some(through) = through else {
        return format!(
            "ask the provider for a higher committed rate, or shape on {src} (pacing) so that \
             nothing is dropped; a longer capture shows to which rate"
        );
    };
    format!(
        "ask the provider for a higher committed rate ({}{} get through), or shape to that rate \
         on {src} (pacing) so that nothing is dropped",
        found.unwrap_or_default(),
        rate(through)
    )
}

/// Data packets of a short transfer (IM 2021). Below it neither the rate that got through nor the
/// spacing of packets says much of the path.
const FEWEST_PACKETS: u64 = 130;
