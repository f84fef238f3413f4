//! A full link that others use too.

use super::Cause;
use crate::diagnosis::evidence::full_link;
use crate::diagnosis::remedy::Advised;
use crate::diagnosis::sentence::Sentence;
use crate::diagnosis::words::rate;
use crate::diagnosis::{Case, Finding};

/// Whether marks, losses or a queue show it.
pub fn cause(case: &Case) -> Cause {
    match (case.facts.marks, case.facts.losses) {
        (1.., _) => Cause::SharedEcn,
        (_, 1..) => Cause::SharedLoss,
        _ => Cause::SharedQueue,
    }
}

/// The numbers that decided.
pub fn evidence(case: &Case, _: &Finding, say: &mut Sentence) {
    full_link(case, false, say);
}

/// What to change.
pub fn remedy(advised: &Advised) -> String {
    let case = advised.case;
    let link = case.context.capacity_bps.map_or(String::new(), |bps| format!(" of {}", rate(bps)));
    // What it got while it pressed: pauses of its own do not count against the link.
    let got = case.facts.queued_rate_bps.or(case.facts.rate_bps());
    let share = got.map_or(String::new(), |bps| format!(", this connection gets {}", rate(bps)));
    format!(
        "cross traffic uses the same link{link}{share}: more capacity, or a fair queue (fq_codel, \
         CAKE) there"
    )
}
