//! TCP itself: slow start, the growth of its window, the time that recovery takes.

use super::Cause;
use crate::diagnosis::evidence::{losses, quiet};
use crate::diagnosis::remedy::Advised;
use crate::diagnosis::sentence::Sentence;
use crate::diagnosis::words::{count, percent, seconds};
use crate::diagnosis::{Case, Finding, threshold};

/// What it was at.
pub fn cause(case: &Case) -> Cause {
    let facts = &case.facts;
    if facts.leaping >= threshold::LEAPING && facts.losses == 0 {
        return Cause::SlowStart;
    }
    let needless = facts.losses > 0 && facts.genuine < threshold::GENUINE;
    match needless || facts.recovery >= threshold::REPAIRING {
        true => Cause::Recovery,
        false => Cause::CongestionAvoidance,
    }
}

/// The numbers that decided.
pub fn evidence(case: &Case, finding: &Finding, say: &mut Sentence) {
    match finding.cause {
        Cause::Recovery => recovery(case, say),
        cause => growth(case, cause, say),
    }
}

fn growth(case: &Case, cause: Cause, say: &mut Sentence) {
    let facts = &case.facts;
    let (grew, share) = match cause {
        Cause::SlowStart => ("flight grew by a quarter or more in ", facts.leaping),
        _ => ("flight grew in ", facts.growing),
    };
    let rounds = count(u64::from(facts.rounds), "round trip");
    match facts.rounds {
        0 => say.part().add(&["over before a round trip could be seen"]),
        _ => say.part().add(&[grew, &percent(share), " of ", &rounds]),
    };
    quiet(case, say);
}

fn recovery(case: &Case, say: &mut Sentence) {
    let facts = &case.facts;
    let (share, span) = (percent(facts.recovery), seconds(facts.span_s));
    say.part().add(&[&share, " of ", &span, " in loss recovery"]);
    match facts.genuine < 0.5 {
        true => {
            let needless = percent(1.0 - facts.genuine);
            say.part().add(&[&needless, " of the retransmitted bytes had not been lost"]);
        }
        false => losses(case, say.part()),
    }
}

/// What to change.
pub fn remedy(advised: &Advised) -> String {
    let Advised { case, cause, src, dst, .. } = advised;
    let facts = &case.facts;
    match cause {
        Cause::SlowStart => {
            let segments = facts.unique_bytes.div_ceil(u64::from(case.context.mss_bytes.max(1)));
            format!(
                "the transfer ended or paused before slow start did: keep connections open and \
                 warm, or raise the initial window on {src} (ip route … initcwnd {})",
                segments.clamp(INITIAL_WINDOW, LARGEST_INITIAL_WINDOW)
            )
        }
        Cause::Recovery if facts.genuine < threshold::GENUINE => format!(
            "the path reorders: RACK and DSACK (net.ipv4.tcp_recovery = 1, net.ipv4.tcp_dsack = 1) \
             on {src} and {dst} keep the sender from seeing loss in it"
        ),
        Cause::Recovery => {
            // The receiver has no more to do once it reports what came.
            let (how, on) = match case.context.sack_agreed {
                Some(true) => ("RACK-TLP (net.ipv4.tcp_recovery = 1)", format!("{src}")),
                _ => (
                    "SACK and RACK-TLP (net.ipv4.tcp_sack = 1, net.ipv4.tcp_recovery = 1)",
                    format!("{src} and {dst}"),
                ),
            };
            match facts.loss_ratio > 0.0 {
                true => format!(
                    "find what loses {} of the bytes; until then {how} on {on}, so that losses \
                     are repaired sooner",
                    percent(facts.loss_ratio)
                ),
                false => format!("{how} on {on}, so that less is sent again"),
            }
        }
        _ => format!(
            "a controller that grows faster on {src} (net.ipv4.tcp_congestion_control = cubic or \
             bbr), or several connections"
        ),
    }
}

/// Segments (RFC 6928).
const INITIAL_WINDOW: u64 = 10;
/// More at once is a burst that queues drop.
const LARGEST_INITIAL_WINDOW: u64 = 100;
