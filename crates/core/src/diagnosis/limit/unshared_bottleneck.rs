//! A full link that the connection has to itself.

use super::Cause;
use crate::diagnosis::evidence::{density, full_link};
use crate::diagnosis::remedy::Advised;
use crate::diagnosis::sentence::Sentence;
use crate::diagnosis::words::{percent, rate};
use crate::diagnosis::{Case, Finding, threshold};

/// Whether its queue or its losses show it. That its own rate varies, the items tell.
pub fn cause(case: &Case) -> Cause {
    match case.facts.losses == 0 || case.facts.queued >= threshold::STANDING {
        true => Cause::UnsharedQueue,
        false => Cause::UnsharedLoss,
    }
}

/// The numbers that decided.
pub fn evidence(case: &Case, finding: &Finding, say: &mut Sentence) {
    full_link(case, say);
    if finding.cause == Cause::UnsharedLoss && case.facts.losses > 0 {
        density(case, say);
    }
    if let (Some(_), Some(variation)) = (varying(finding.cause), case.facts.rate_variation) {
        say.part().add(&["the rate varies by ", &percent(variation), " from round to round"]);
    }
}

/// What to do about a link whose own rate varies.
fn varying(cause: Cause) -> Option<&'static str> {
    match cause {
        Cause::UnsharedWifi => Some(
            "it sends in bursts with random waits, as Wi-Fi does: a cable, a better signal, or a \
             channel with less on it",
        ),
        Cause::UnsharedCellular => Some(
            "its rate goes up and down, as that of a mobile network does: a better signal, another \
             network, or more than one at a time",
        ),
        Cause::UnsharedVarying => Some(
            "its own rate varies, as that of Wi-Fi and of mobile networks does: a cable, or a \
             better signal",
        ),
        _ => None,
    }
}

/// What to change.
pub fn remedy(advised: &Advised) -> String {
    let case = advised.case;
    let link = match case.context.capacity_bps {
        Some(capacity) => format!("the link of {} is full: more capacity", rate(capacity)),
        None => "the link is full: more capacity".to_owned(),
    };
    let link = match varying(advised.cause) {
        Some(advice) => format!("{link}; {advice}"),
        None => link,
    };
    match case.facts.inflation {
        Some(inflation) if inflation >= STANDING_QUEUE => format!(
            "{link}; against the standing queue (RTT {inflation:.1} times its minimum) an AQM \
             there (fq_codel, CAKE), or BBR"
        ),
        _ => link,
    }
}

/// Mean over least round-trip time from which the queue is worth a word.
const STANDING_QUEUE: f64 = 2.0;
