//! Random loss: packets are lost without congestion.

use super::Cause;
use crate::diagnosis::evidence::{NONE_NOW, density, earlier, inflation, losses, rhythm};
use crate::diagnosis::remedy::Advised;
use crate::diagnosis::words::percent;
use crate::diagnosis::{Case, Finding};

/// It has one cause.
pub fn cause(_: &Case) -> Cause {
    Cause::RandomLoss
}

/// The numbers that decided.
pub fn evidence(case: &Case, _: &Finding) -> Vec<String> {
    let pattern = match case.losses {
        Some(shape) => format!(
            "{} of the segments lost, unrelated to the flight size ({:.2} times the mean at \
             losses); inter-loss gaps: CV {:.2} (random = 1)",
            percent(shape.ratio),
            shape.flight,
            shape.variation
        ),
        None if case.facts.losses == 0 => NONE_NOW.to_owned(),
        None => losses(case).into_owned(),
    };
    vec![pattern, earlier(case), rhythm(case), density(case), inflation(case).into_owned()]
}

/// What to change.
pub fn remedy(advised: &Advised) -> String {
    let Advised { case, src, .. } = advised;
    let ratio = case.losses.map_or(case.facts.loss_ratio, |shape| shape.ratio);
    format!(
        "repair the link that loses {} of the packets (cable, optics, duplex, radio); until then a \
         controller that ignores such losses on {src} (net.ipv4.tcp_congestion_control = bbr)",
        percent(ratio)
    )
}
