//! A peer or a path that is gone.

use super::Cause;
use crate::diagnosis::remedy::Advised;
use crate::diagnosis::sentence::Sentence;
use crate::diagnosis::words::{bytes, count, percent, seconds};
use crate::diagnosis::{Case, Finding};

/// Whether nothing arrives, or nothing of full size.
pub fn cause(case: &Case) -> Cause {
    match case.context.only_small_answered {
        true => Cause::UnresponsivePathMtu,
        false => Cause::UnresponsivePeer,
    }
}

/// The numbers that decided.
pub fn evidence(case: &Case, finding: &Finding, say: &mut Sentence) {
    let facts = &case.facts;
    let waited = percent(facts.network + facts.recovery + facts.unused);
    write!(
        say.part(),
        "for {waited} of {} it waited for acknowledgements; {} without an answer",
        seconds(facts.span_s),
        count(u64::from(facts.timeouts), "retransmission timeout")
    );
    if finding.cause == Cause::UnresponsivePathMtu {
        say.part().add(&["smaller segments were acknowledged, no full-size one was"]);
    }
}

/// What to change.
pub fn remedy(advised: &Advised) -> String {
    let Advised { case, cause, src, dst, .. } = advised;
    match cause {
        Cause::UnresponsivePathMtu => format!(
            "let ICMP (type 3 code 4, ICMPv6 type 2) through to {src}, or clamp the MSS on the \
             path below {}; meanwhile net.ipv4.tcp_mtu_probing=1 on {src}",
            bytes(f64::from(case.context.mss_bytes))
        ),
        _ => format!(
            "see whether {dst} is up, and whether the path or a firewall's table of connections \
             still leads to it; TCP_USER_TIMEOUT on {src} ends such a wait sooner"
        ),
    }
}
