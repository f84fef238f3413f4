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
    if is_unheard(case) {
        say.part()
            .add(&["what it sent again had been acknowledged: no acknowledgement reaches it"]);
    }
    if finding.cause == Cause::UnresponsivePathMtu {
        say.part().add(&["smaller segments were acknowledged, no full-size one was"]);
    }
}

/// Whether the acknowledgements are lost, behind the observer: most timers expired for what had
/// been acknowledged.
fn is_unheard(case: &Case) -> bool {
    2 * case.facts.unheard > case.facts.timeouts
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
        _ if is_unheard(case) => format!(
            "see what drops the acknowledgements of {dst} on their way back to {src}: a route, a \
             firewall or a NAT that knows one direction alone"
        ),
        _ => format!(
            "see whether {dst} is up, and whether the path or a firewall's table of connections \
             still leads to it; TCP_USER_TIMEOUT on {src} ends such a wait sooner"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::Facts;
    use std::net::IpAddr;

    #[test]
    fn answers_that_get_lost_are_looked_for_on_the_way_back() {
        let [src, dst] = [1, 2].map(|host| IpAddr::from([192, 0, 2, host]));
        let remedy = |unheard| {
            let facts = Facts { timeouts: 5, unheard, ..Facts::default() };
            let case = Case { facts, ..Case::default() };
            let cause = Cause::UnresponsivePeer;
            super::remedy(&Advised { case: &case, cause, headroom: None, src: &src, dst: &dst })
        };
        assert!(remedy(2).starts_with("see whether 192.0.2.2 is up"), "{}", remedy(2));
        let unheard = remedy(3);
        assert!(
            unheard.starts_with("see what drops the acknowledgements of 192.0.2.2"),
            "{unheard}"
        );
    }
}
