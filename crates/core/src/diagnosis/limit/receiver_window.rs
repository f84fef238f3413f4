//! The receiver: a small buffer, a slow reader, or a window that cannot grow.

use super::Cause;
use crate::diagnosis::evidence::{quiet, times};
use crate::diagnosis::remedy::{Advised, window};
use crate::diagnosis::sentence::Sentence;
use crate::diagnosis::words::{bytes, count, percent, rate, seconds, time};
use crate::diagnosis::{Case, Finding, threshold};

/// Which of them.
pub fn cause(case: &Case) -> Cause {
    let (facts, context) = (&case.facts, &case.context);
    // Unread data takes from the window: it closes, shrinks, or stays far below what it was. One
    // that grew has been smaller, too.
    let shrinks = shrinks(case);
    let filled = is_filled_up(case);
    // An interval in which no data met any window is one in which it stood shut.
    let shut = context.rwnd_max.is_some() && facts.openness.is_none();
    // What no flight ever reached is no small buffer: it was shut, or too small for a segment.
    let reached = facts.at_edge.max(facts.inferred_fullness.unwrap_or(0.0));
    let unreached = facts.openness.is_some() && reached < threshold::TOUCHED;
    if facts.closures > 0 || shrinks || filled || shut || unreached {
        return Cause::ReceiverSlowReader;
    }
    let unscaled = context.window_scale == Some(0);
    if unscaled && context.rwnd_max.is_some_and(|most| (32_768..=65_535).contains(&most)) {
        return Cause::ReceiverNoScaling;
    }
    Cause::ReceiverBuffer
}

fn shrinks(case: &Case) -> bool {
    case.facts.window_fall > threshold::FALL
}

fn is_filled_up(case: &Case) -> bool {
    case.facts.left_open.is_some_and(|open| open < threshold::OPENNESS)
}

/// Whether every round fills the window, by a sender that nothing paces: then it is what each wait
/// was for, also where room seems to open before the sender goes on. Far from the
/// sender the time of a send is known only roughly. A sender also gathers room for a super-segment,
/// up to a third of the window (`tcp_tso_should_defer`).
pub fn is_filled(case: &Case) -> bool {
    let facts = &case.facts;
    facts.losses == 0
        && !case.context.own_pace
        && facts.rounds >= threshold::SHAPED_ROUNDS
        && facts.fullness.is_some_and(|full| full >= threshold::FULL)
}

/// The numbers that decided.
pub fn evidence(case: &Case, finding: &Finding, say: &mut Sentence) {
    let cause = finding.cause;
    let (facts, context) = (&case.facts, &case.context);
    let window = match (context.rwnd_max, context.inferred_rwnd) {
        (Some(window), _) => format!("the window of {}", bytes(window as f64)),
        (None, Some(window)) => format!("the window of {} (scale inferred)", bytes(window as f64)),
        _ => "the window".to_owned(),
    };
    let reached = facts.at_edge.max(facts.inferred_fullness.unwrap_or(0.0).min(1.0));
    say.part();
    match cause {
        Cause::ReceiverSlowReader => write!(
            say,
            "the receiver's window held the sender back for {} of {}",
            percent(facts.receiver),
            seconds(facts.span_s)
        ),
        // Of a burst that fills the window only the last segment reaches its end.
        _ if facts.receiver > reached => write!(
            say,
            "{window} was full for {} of {}",
            percent(facts.receiver),
            seconds(facts.span_s)
        ),
        _ => write!(
            say,
            "flight reached {window} in {} of {}",
            percent(reached),
            count(facts.packets, "segment")
        ),
    }
    let open = facts.left_open.filter(|_| is_filled_up(case));
    if facts.closures > 0 {
        say.part().add(&["it closed ", &times(facts.closures)]);
    } else if cause == Cause::ReceiverSlowReader && shrinks(case) {
        say.part().add(&["the window fell by ", &percent(facts.window_fall)]);
    } else if let Some(open) = open.filter(|_| cause == Cause::ReceiverSlowReader) {
        say.part().add(&["it was ", &percent(open), " of its largest on average"]);
    }
    if cause == Cause::ReceiverNoScaling {
        say.part().add(&["window scaling is off"]);
    }
    quiet(case, say);
}

/// What to change.
pub fn remedy(advised: &Advised) -> String {
    let Advised { case, cause, src, dst, .. } = advised;
    match cause {
        Cause::ReceiverNoScaling => {
            let most = case.context.rwnd_max.zip(case.context.rtt_min).map(|(window, rtt)| {
                let bps = window as f64 * 8e9 / rtt.0.max(1) as f64;
                let (window, rtt) = (bytes(window as f64), time(rtt));
                format!(": without it {window} a round trip of {rtt} are {} at most", rate(bps))
            });
            format!(
                "switch window scaling on (net.ipv4.tcp_window_scaling = 1) at both {src} and \
                 {dst}, and look for a middlebox that strips the option{}",
                most.unwrap_or_default()
            )
        }
        Cause::ReceiverSlowReader => match case.facts.rate_bps() {
            Some(bps) => format!(
                "let the application on {dst} read faster, or in parallel: it reads {} and leaves \
                 the rest in its buffer",
                rate(bps)
            ),
            None => {
                format!("let the application on {dst} read: what it leaves unread fills its buffer")
            }
        },
        _ => {
            let need = window(advised);
            format!("raise net.ipv4.tcp_rmem[2], or the SO_RCVBUF that limits it, on {dst} {need}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::{Context, Facts};

    #[test]
    fn a_window_that_no_flight_reached_is_no_small_buffer() {
        let cause_at = |at_edge| {
            let facts = Facts { openness: Some(1.0), at_edge, ..Facts::default() };
            let context = Context { rwnd_max: Some(200_000), ..Context::default() };
            cause(&Case { facts, context, ..Case::default() })
        };
        assert_eq!(cause_at(0.0), Cause::ReceiverSlowReader);
        assert_eq!(cause_at(0.4), Cause::ReceiverBuffer);
    }

    #[test]
    fn a_window_that_grows_is_read_in_time() {
        let cause_of = |window_fall, left_open| {
            let facts = Facts { openness: Some(0.35), at_edge: 1.0, ..Facts::default() };
            let facts = Facts { window_fall, left_open: Some(left_open), ..facts };
            cause(&Case { facts, ..Case::default() })
        };
        assert_eq!(cause_of(0.0, 0.9), Cause::ReceiverBuffer);
        assert_eq!(cause_of(0.4, 0.9), Cause::ReceiverSlowReader);
        assert_eq!(cause_of(0.1, 0.4), Cause::ReceiverSlowReader);
    }
}
