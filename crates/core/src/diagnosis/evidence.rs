//! The numbers that decided, as a sentence.

use super::words::{bytes, count, counted, grouped, percent, rate, seconds, time};
use super::{Case, Cause, Finding, application as program, sender as window, threshold};
use crate::record::Text;

/// One sentence with the numbers behind a finding.
pub fn sentence(case: &Case, finding: &Finding) -> Text {
    if case.facts.span_s <= 0.0 {
        // Most flows of a link.
        return Text::Borrowed(match finding.cause {
            Cause::ReceiverSlowReader => {
                "everything was sent at once, and the receiver's window closed on it"
            }
            _ => "everything was sent at once, without a wait",
        });
    }
    of_cause(case, finding.cause, finding).into()
}

fn of_cause(case: &Case, cause: Cause, finding: &Finding) -> String {
    let parts = match cause {
        Cause::ApplicationIdle | Cause::ApplicationPaced | Cause::ApplicationSmallWrites => {
            application(case, cause, finding)
        }
        Cause::ReceiverBuffer | Cause::ReceiverSlowReader | Cause::ReceiverNoScaling => {
            receiver(case, cause)
        }
        Cause::SenderBuffer | Cause::SenderClamp | Cause::SenderUndetermined => sender(case, cause),
        Cause::UnsharedQueue
        | Cause::UnsharedLoss
        | Cause::SharedLoss
        | Cause::SharedQueue
        | Cause::SharedEcn => bottleneck(case, cause),
        Cause::Policer => policer(case),
        Cause::RandomLoss => random_loss(case),
        Cause::SlowStart | Cause::CongestionAvoidance => growth(case, cause),
        Cause::Recovery => recovery(case),
        Cause::UnresponsivePeer | Cause::UnresponsivePathMtu => silence(case, cause),
    };
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
}

fn application(case: &Case, cause: Cause, finding: &Finding) -> Vec<String> {
    let facts = &case.facts;
    let share = percent(finding.shares.application);
    let first = match cause {
        Cause::ApplicationPaced if facts.unused < threshold::UNUSED && case.context.own_pace => {
            "segments leave evenly, independent of acknowledgements and of free window".to_owned()
        }
        Cause::ApplicationPaced => {
            format!("for {share} of the time it could have sent more and did not")
        }
        _ => format!("nothing to send for {share} of {}", seconds(facts.span_s)),
    };
    let pauses = match facts.pause_s {
        Some(pause) => format!("typical pause {}", seconds(pause)),
        None => String::new(),
    };
    let small = match cause {
        Cause::ApplicationSmallWrites => {
            format!("{} of {} small", percent(facts.smalls), count(facts.packets, "segment"))
        }
        _ => String::new(),
    };
    let answers = match facts.answers >= 0.5 {
        true => format!("{} of the pauses ended with a request", percent(facts.answers)),
        false => String::new(),
    };
    let shaper = match cause {
        Cause::ApplicationPaced if program::may_be_shaped(case) => {
            "a shaper of the sending host would look the same".to_owned()
        }
        _ => String::new(),
    };
    vec![first, small, pauses, answers, quiet(case), shaper]
}

fn receiver(case: &Case, cause: Cause) -> Vec<String> {
    let (facts, context) = (&case.facts, &case.context);
    let window = match (context.rwnd_max, context.inferred_rwnd) {
        (Some(window), _) => format!("the window of {}", bytes(window as f64)),
        (None, Some(window)) => format!("the window of {} (scale inferred)", bytes(window as f64)),
        _ => "the window".to_owned(),
    };
    let reached = facts.at_edge.max(facts.inferred_fullness.unwrap_or(0.0).min(1.0));
    let first = match cause {
        Cause::ReceiverSlowReader => format!(
            "the receiver's window held the sender back for {} of {}",
            percent(facts.receiver),
            seconds(facts.span_s)
        ),
        // Of a burst that fills the window only the last segment reaches its end.
        _ if facts.receiver > reached => format!(
            "{window} was full for {} of {}",
            percent(facts.receiver),
            seconds(facts.span_s)
        ),
        _ => format!(
            "flight reached {window} in {} of {}",
            percent(reached),
            count(facts.packets, "segment")
        ),
    };
    let closed = match facts.closures {
        0 if cause == Cause::ReceiverSlowReader => match facts.window_sway {
            Some(sway) => format!("the window shrank to {} of its mean", percent(sway)),
            None => String::new(),
        },
        0 => String::new(),
        closures => format!("it closed {}", times(closures)),
    };
    let unscaled = match cause {
        Cause::ReceiverNoScaling => "window scaling is off".to_owned(),
        _ => String::new(),
    };
    vec![first, closed, unscaled, quiet(case)]
}

fn sender(case: &Case, cause: Cause) -> Vec<String> {
    let facts = &case.facts;
    let below = match facts.fullness {
        Some(fullness) => format!("that is {} of the receiver's window", percent(fullness)),
        None => String::new(),
    };
    if window::is_woken(case) {
        let woken = format!(
            "ack-clocked writes for {} of the time: the send queue was empty, with data in flight, \
             until acknowledgements made room",
            percent(facts.woken)
        );
        return vec![woken, flat_for(case), below, quiet(case)];
    }
    let pushed = match cause {
        Cause::SenderBuffer => {
            format!("{} of the segments emptied the send buffer (PSH)", percent(facts.pushes))
        }
        _ => String::new(),
    };
    let refilled = match window::is_refilled(case) {
        true => format!(
            "for {} of the time a burst waited until several acknowledgements had made room",
            percent(facts.gathered)
        ),
        false => String::new(),
    };
    vec![flat_for(case), refilled, below, pushed, quiet(case)]
}

fn flat_for(case: &Case) -> String {
    let facts = &case.facts;
    format!(
        "flight stayed at {:.0} segments (± {}) for {}",
        facts.flight_segments,
        percent(facts.flight_variation.unwrap_or(0.0)),
        count(u64::from(facts.rounds), "round trip")
    )
}

fn bottleneck(case: &Case, cause: Cause) -> Vec<String> {
    let facts = &case.facts;
    let marks = match facts.marks {
        0 => String::new(),
        marks => counted(u64::from(marks), "ECN mark or echo", "ECN marks or echoes"),
    };
    let share = match (facts.queued_rate_bps, case.context.capacity_bps, facts.utilisation) {
        (Some(delivered), Some(capacity), Some(utilisation)) if utilisation > MORE_THAN_ALL => {
            format!(
                "{} delivered while it queued, more than the {} that gaps between packets show",
                rate(delivered),
                rate(capacity)
            )
        }
        (Some(delivered), Some(capacity), Some(utilisation)) => format!(
            "{} delivered while it queued, {} of the capacity of {}",
            rate(delivered),
            percent(utilisation),
            rate(capacity)
        ),
        (Some(delivered), ..) => format!(
            "{} delivered while it queued, varying by {}; capacity unknown",
            rate(delivered),
            percent(facts.queued_rate_variation.unwrap_or(0.0))
        ),
        (None, Some(capacity), _) => match facts.load {
            Some(load) => format!("sent {} of the capacity of {}", percent(load), rate(capacity)),
            None => String::new(),
        },
        _ => String::new(),
    };
    let density = match cause {
        Cause::UnsharedLoss if facts.losses > 0 => density(case),
        _ => String::new(),
    };
    vec![queue(case), share, marks, losses(case), density]
}

fn policer(case: &Case) -> Vec<String> {
    let facts = &case.facts;
    let fit = match (case.policer, case.losses) {
        (Some(policer), _) => format!(
            "{} fit a token bucket filled at {}",
            counted(u64::from(policer.losses), "loss", "losses"),
            rate(policer.rate_bps)
        ),
        (None, Some(shape)) => format!(
            "losses are not independent: {} of the segments lost, flight at losses {:.2} times the \
             mean, inter-loss gaps with CV {:.2} (random = 1)",
            percent(shape.ratio),
            shape.flight,
            shape.variation
        ),
        _ if facts.losses == 0 && facts.loss_ratio == 0.0 => NONE_NOW.to_owned(),
        _ => format!("{} of the bytes were lost", percent(facts.loss_ratio)),
    };
    let queue = match facts.inflation {
        Some(inflated) if inflated < threshold::INFLATED => {
            format!("{}: drops without a queue", inflation(case))
        }
        _ => inflation(case),
    };
    vec![fit, earlier(case), rhythm(case), density(case), queue]
}

fn random_loss(case: &Case) -> Vec<String> {
    let pattern = match case.losses {
        Some(shape) => format!(
            "{} of the segments lost, unrelated to the flight size ({:.2} times the mean at \
             losses); inter-loss gaps: CV {:.2} (random = 1)",
            percent(shape.ratio),
            shape.flight,
            shape.variation
        ),
        None if case.facts.losses == 0 => NONE_NOW.to_owned(),
        None => losses(case),
    };
    vec![pattern, earlier(case), rhythm(case), density(case), inflation(case)]
}

/// That the losses lie before the stretch, where they do.
fn earlier(case: &Case) -> String {
    let shown = case.policer.is_some() || case.losses.is_some();
    match case.facts.losses == 0 && shown {
        true => "all of them before this stretch".to_owned(),
        false => String::new(),
    }
}

/// Where the losses rank by what was sent just before them.
fn density(case: &Case) -> String {
    match case.density {
        Some(density) => format!(
            "bytes sent just before a loss: mean rank {} (random = 50 %)",
            percent(density.rank)
        ),
        None => String::new(),
    }
}

/// How regular the loss episodes come.
fn rhythm(case: &Case) -> String {
    let shape = case.losses.filter(|_| case.policer.is_none());
    match shape.and_then(|shape| shape.rhythm) {
        Some(rhythm) => format!("gaps between loss episodes: CV {rhythm:.2}"),
        None => String::new(),
    }
}

fn growth(case: &Case, cause: Cause) -> Vec<String> {
    let facts = &case.facts;
    let rounds = count(u64::from(facts.rounds), "round trip");
    let grew = match cause {
        _ if facts.rounds == 0 => "over before a round trip could be seen".to_owned(),
        Cause::SlowStart => {
            format!("flight grew by a quarter or more in {} of {rounds}", percent(facts.leaping))
        }
        _ => format!("flight grew in {} of {rounds}", percent(facts.growing)),
    };
    vec![grew, quiet(case)]
}

fn recovery(case: &Case) -> Vec<String> {
    let facts = &case.facts;
    let first =
        format!("{} of {} in loss recovery", percent(facts.recovery), seconds(facts.span_s));
    let needless = match facts.genuine < 0.5 {
        true => {
            format!("{} of the retransmitted bytes had not been lost", percent(1.0 - facts.genuine))
        }
        false => losses(case),
    };
    vec![first, needless]
}

fn silence(case: &Case, cause: Cause) -> Vec<String> {
    let facts = &case.facts;
    let waited = percent(facts.network + facts.recovery + facts.unused);
    let first = format!(
        "for {waited} of {} it waited for acknowledgements; {} without an answer",
        seconds(facts.span_s),
        count(u64::from(facts.timeouts), "retransmission timeout")
    );
    let full = match cause {
        Cause::UnresponsivePathMtu => {
            "smaller segments were acknowledged, no full-size one was".to_owned()
        }
        _ => String::new(),
    };
    vec![first, full]
}

/// What speaks against the network where something else is to blame.
fn quiet(case: &Case) -> String {
    format!("{}, {}", inflation(case), losses(case))
}

fn queue(case: &Case) -> String {
    let facts = &case.facts;
    match (facts.raised, inflated(case)) {
        (Some(raised), Some(inflation)) => format!(
            "RTT {:.1} times its minimum{}, raised in {} of the samples",
            inflation,
            least_rtt(case),
            percent(raised)
        ),
        _ => "queue not seen from here".to_owned(),
    }
}

fn inflation(case: &Case) -> String {
    match inflated(case) {
        Some(inflation) if inflation < 1.15 => format!("RTT at its minimum{}", least_rtt(case)),
        Some(inflation) => format!("RTT {inflation:.1} times its minimum{}", least_rtt(case)),
        None => match case.context.rtt_least {
            Some(least) => format!("minimum RTT {}", time(least)),
            None if case.context.rtt_unresolved => {
                "RTT below a tick of the capture's clock".to_owned()
            }
            None => "RTT unknown".to_owned(),
        },
    }
}

fn least_rtt(case: &Case) -> String {
    case.context.rtt_least.map_or(String::new(), |least| format!(" of {}", time(least)))
}

/// Mean over least round-trip time, the handshake's included.
fn inflated(case: &Case) -> Option<f64> {
    let context = &case.context;
    let lower = context.rtt_min.zip(context.rtt_least);
    let times = lower.map_or(1.0, |(min, least)| min.0 as f64 / least.0 as f64);
    Some(case.facts.inflation? * times)
}

fn losses(case: &Case) -> String {
    let facts = &case.facts;
    if facts.losses == 0 {
        return match facts.loss_ratio > 0.0 {
            // An episode that began before goes on.
            true => format!("no new loss, {} of the bytes sent again", percent(facts.loss_ratio)),
            false => "no loss".to_owned(),
        };
    }
    let timeouts = match facts.timeouts {
        0 => String::new(),
        timeouts => format!(" and {}", count(u64::from(timeouts), "timeout")),
    };
    let what = match facts.loss_ratio > 0.0 {
        true => format!("{} of the bytes", percent(facts.loss_ratio)),
        false => "nothing lost: every retransmission was spurious".to_owned(),
    };
    let episodes = count(facts.losses, "loss episode");
    format!("{episodes} in {} segments{timeouts}, {what}", grouped(facts.packets))
}

fn times(number: u32) -> String {
    match number {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        _ => format!("{number} times"),
    }
}

/// What is said of an answer that rests on losses of before.
const NONE_NOW: &str = "losses only before this stretch";
/// Use of a link from which its capacity is not what the gaps between packets say: it varies, or
/// they were spread by something else.
const MORE_THAN_ALL: f64 = 1.15;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::{Facts, diagnose_alone};
    use crate::units::Nanos;

    fn said(cause: Cause, facts: Facts) -> String {
        let case = Case { facts, ..Case::default() };
        let found = diagnose_alone(&case).expect("it lasted");
        sentence(&case, &Finding { cause, ..found }).to_string()
    }

    #[test]
    fn what_was_not_seen_is_not_claimed() {
        let facts =
            Facts { span_s: 1.0, packets: 4, loss_ratio: 0.25, losses: 1, ..Facts::default() };
        assert_eq!(said(Cause::Policer, facts), "25 % of the bytes were lost; RTT unknown");
        let seen = Facts { inflation: Some(1.0), ..facts };
        assert!(said(Cause::Policer, seen).ends_with("RTT at its minimum: drops without a queue"));
        let grown = Facts { losses: 0, loss_ratio: 0.0, ..facts };
        assert_eq!(
            said(Cause::CongestionAvoidance, grown),
            "over before a round trip could be seen; RTT unknown, no loss"
        );
    }

    #[test]
    fn an_episode_that_goes_on_is_not_called_no_loss() {
        let facts = Facts { span_s: 1.0, packets: 59, loss_ratio: 0.004, ..Facts::default() };
        let text = said(Cause::ApplicationIdle, facts);
        assert!(
            text.ends_with("RTT unknown, no new loss, 0.40 % of the bytes sent again"),
            "{text}"
        );
        let policed = said(Cause::Policer, Facts { loss_ratio: 0.0, ..facts });
        assert_eq!(policed, "losses only before this stretch; RTT unknown");
    }

    #[test]
    fn more_than_the_capacity_is_not_a_share_of_it() {
        let facts = Facts {
            span_s: 1.0,
            packets: 900,
            queued_rate_bps: Some(2e6),
            utilisation: Some(2.0),
            ..Facts::default()
        };
        let mut case = Case { facts, ..Case::default() };
        case.context.capacity_bps = Some(1e6);
        let found = diagnose_alone(&case).expect("it lasted");
        let text = sentence(&case, &Finding { cause: Cause::UnsharedQueue, ..found });
        assert!(
            text.contains("more than the 1.00 Mbit/s that gaps between packets show"),
            "{text}"
        );
    }

    #[test]
    fn the_least_round_trip_time_is_that_of_the_row() {
        let mut case = Case { facts: Facts { span_s: 1.0, ..Facts::default() }, ..Case::default() };
        case.facts.inflation = Some(1.0);
        case.context.rtt_min = Some(Nanos::from_millis(30));
        case.context.rtt_least = Some(Nanos::from_millis(10));
        assert_eq!(inflation(&case), "RTT 3.0 times its minimum of 10.0 ms");
    }

    #[test]
    fn a_needless_repair_is_no_loss() {
        let facts = Facts { span_s: 1.0, packets: 634, losses: 1, ..Facts::default() };
        let text = said(Cause::ApplicationIdle, facts);
        let end = "1 loss episode in 634 segments, nothing lost: every retransmission was spurious";
        assert!(text.ends_with(end), "{text}");
    }
}
