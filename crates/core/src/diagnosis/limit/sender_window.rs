//! The sender's own windows: a send buffer that lets a program write only now and then.

use super::Cause;
use crate::diagnosis::evidence::quiet;
use crate::diagnosis::remedy::{Advised, window};
use crate::diagnosis::sentence::Sentence;
use crate::diagnosis::words::{count, percent};
use crate::diagnosis::{Case, Facts, Finding, threshold};

/// Whether a full send buffer sets the pace: the program writes whenever acknowledgements have
/// emptied it far enough, and is silent in between.
///
/// Linux wakes a writer when a third of the buffer is free (`sk_stream_is_writable`), and one write
/// may then pass the buffer by: `tcp_sendmsg_locked` asks for room (`sk_stream_memory_free`) only
/// when it begins a super-segment. What leaves is a burst, an eighth of the flight or more, right
/// after an acknowledgement and while others are still under way. A program that paces itself does
/// not know when those come.
fn is_woken(case: &Case) -> bool {
    let facts = &case.facts;
    let full = facts.load.is_some_and(|load| load >= threshold::LOADED);
    facts.woken >= threshold::WOKEN
        && facts.woken >= threshold::WOKEN_MOST * (facts.woken + facts.unwoken)
        && facts.receiver < threshold::UNSEEN
        && facts.recovery < threshold::UNSEEN
        && facts.marks == 0
        && !full
}

/// Which of its windows: a send buffer keeps running empty, as its pushes tell, a clamp does not.
pub fn cause(case: &Case) -> Cause {
    match is_woken(case) || empties(&case.facts) || is_refilled(case) {
        true => Cause::SenderBuffer,
        false => Cause::SenderUndetermined,
    }
}

/// Whether bursts wait for the last of several acknowledgements, time after time, although full
/// segments go before them: a clamp lets out as much as each acknowledgement frees. Only at the
/// sender itself is it known which acknowledgement came before which segment.
fn is_refilled(case: &Case) -> bool {
    let is_there = case.context.position.is_some_and(|position| position < AT_THE_SENDER);
    is_there && case.facts.gathered >= threshold::WOKEN
}

/// Whether PSH tells of a send queue that keeps running empty. Linux sets it on each super-segment
/// as well (`__tcp_transmit_skb` since 5.4), and those of a queue that never empties end full.
fn empties(facts: &Facts) -> bool {
    facts.pushes >= threshold::PUSHES && facts.smalls_a_round >= threshold::EMPTIED
}

/// The numbers that decided.
pub fn evidence(case: &Case, finding: &Finding, say: &mut Sentence) {
    let facts = &case.facts;
    let woken = is_woken(case);
    if woken {
        write!(
            say.part(),
            "ack-clocked writes for {} of the time: the send queue was empty, with data in flight, \
             until acknowledgements made room",
            percent(facts.woken)
        );
    }
    flat_for(case, say.part());
    if !woken && is_refilled(case) {
        write!(
            say.part(),
            "for {} of the time a burst waited until several acknowledgements had made room",
            percent(facts.gathered)
        );
    }
    if let Some(fullness) = facts.fullness {
        say.part().add(&["that is ", &percent(fullness), " of the receiver's window"]);
    }
    if !woken && finding.cause == Cause::SenderBuffer {
        let pushes = percent(facts.pushes);
        say.part().add(&[&pushes, " of the segments emptied the send buffer (PSH)"]);
    }
    quiet(case, say);
}

fn flat_for(case: &Case, say: &mut Sentence) {
    let facts = &case.facts;
    write!(
        say,
        "flight stayed at {:.0} segments (± {}) for {}",
        facts.flight_segments,
        percent(facts.flight_variation.unwrap_or(0.0)),
        count(u64::from(facts.rounds), "round trip")
    );
}

/// What to change.
pub fn remedy(advised: &Advised) -> String {
    let Advised { cause, src, .. } = advised;
    let need = window(advised);
    match cause {
        Cause::SenderBuffer => {
            format!("raise net.ipv4.tcp_wmem[2], or the SO_SNDBUF that limits it, on {src} {need}")
        }
        Cause::SenderClamp => {
            format!("on {src}, lift the clamp on the congestion window (ip route show: cwnd lock)")
        }
        _ => format!(
            "on {src}, raise the send buffer (net.ipv4.tcp_wmem[2], SO_SNDBUF) {need}; or lift the \
             clamp on its congestion window (ip route … cwnd lock)"
        ),
    }
}

/// Share of the way from the sender to the observer.
const AT_THE_SENDER: f64 = 0.004;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::{Context, Facts};

    #[test]
    fn pushed_super_segments_that_all_end_full_are_no_empty_queue() {
        let named = |woken: f64, smalls_a_round: f64, gathered: f64| {
            let facts = Facts { woken, pushes: 0.5, smalls_a_round, gathered, ..Facts::default() };
            let context = Context { position: Some(0.0), ..Context::default() };
            cause(&Case { facts, context, ..Case::default() })
        };
        assert_eq!(named(0.0, 0.0, 0.0), Cause::SenderUndetermined, "a clamp");
        assert_eq!(named(0.0, 0.6, 0.0), Cause::SenderBuffer, "its queue empties");
        assert_eq!(named(0.66, 0.0, 0.0), Cause::SenderBuffer, "a writer that waits for room");
        assert_eq!(named(0.0, 0.0, 0.66), Cause::SenderBuffer, "writes that end full");
    }
}
