//! Random loss: packets are lost without congestion.

use super::Cause;
use crate::diagnosis::evidence::{NONE_NOW, density, earlier, inflation, losses, pattern, rhythm};
use crate::diagnosis::remedy::Advised;
use crate::diagnosis::sentence::Sentence;
use crate::diagnosis::words::percent;
use crate::diagnosis::{Case, Finding};

/// It has one cause.
pub fn cause(_: &Case) -> Cause {
    Cause::RandomLoss
}

/// The numbers that decided.
pub fn evidence(case: &Case, _: &Finding, say: &mut Sentence) {
    say.part();
    match case.losses {
        Some(shape) => pattern(case, &shape, say),
        None if case.facts.losses == 0 => write!(say, "{NONE_NOW}"),
        None => losses(case, say),
    }
    earlier(case, say);
    rhythm(case, say);
    density(case, say);
    inflation(case, say.part());
}

/// What to change.
pub fn remedy(advised: &Advised) -> String {
    let Advised { case, src, .. } = advised;
    let ratio = case.losses.map_or(case.facts.loss_ratio, |_| case.so_far.loss_ratio);
    format!(
        "repair the link that loses {} of the packets (cable, optics, duplex, radio); until then a \
         controller that ignores such losses on {src} (net.ipv4.tcp_congestion_control = bbr)",
        percent(ratio)
    )
}
