//! A full link that others use too.

use super::Cause;
use crate::diagnosis::evidence::full_link;
use crate::diagnosis::possible::has_others;
use crate::diagnosis::remedy::Advised;
use crate::diagnosis::sentence::Sentence;
use crate::diagnosis::words::{percent, rate};
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
    if has_others(case) {
        let share = percent(case.beside);
        say.part().add(&["others between the same hosts sent ", &share, " of the bytes"]);
    }
    full_link(case, false, say);
}

/// What to change.
pub fn remedy(advised: &Advised) -> String {
    let case = advised.case;
    let link = case.context.capacity_bps.map_or(String::new(), |bps| format!(" of {}", rate(bps)));
    // What it got while it pressed: pauses of its own do not count against the link.
    let got = case.facts.queued_rate_bps.or(case.facts.rate_bps());
    let share = got.map_or(String::new(), |bps| format!(", this connection gets {}", rate(bps)));
    let (others, instead) = match has_others(case) {
        true => ("other connections between the same hosts use", "fewer of them at once"),
        false => ("cross traffic uses", "a fair queue (fq_codel, CAKE) there"),
    };
    format!("{others} the same link{link}{share}: more capacity, or {instead}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::blamed;
    use crate::record::Text;

    #[test]
    fn others_between_the_same_hosts_are_named() {
        let said = |beside| {
            let case = Case { beside, ..Case::default() };
            let (cause, host) = (Cause::SharedQueue, "192.0.2.1");
            let advised = Advised { case: &case, cause, headroom: None, src: &host, dst: &host };
            let mut say = Sentence::default();
            evidence(&case, &blamed(cause), &mut say);
            (Text::from(say).to_string(), remedy(&advised))
        };
        let (evidence, remedy) = said(0.62);
        assert!(evidence.starts_with("others between the same hosts sent 62 % of the bytes"));
        assert!(remedy.starts_with("other connections between the same hosts use the same link"));
        let (evidence, remedy) = said(0.05);
        assert!(!evidence.contains("hosts"), "{evidence}");
        assert!(remedy.starts_with("cross traffic uses the same link"));
    }
}
