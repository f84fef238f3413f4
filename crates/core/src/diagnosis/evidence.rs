//! The numbers that decided, as a sentence.

use super::words::{count, counted, decimal, grouped, percent, rate, time};
use super::{Case, Cause, Finding};
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
    let mut parts = finding.cause.limitation().evidence(case, finding);
    parts.retain(|part| !part.is_empty());
    parts.join("; ").into()
}

/// That the losses lie before the interval, where they do.
pub fn earlier(case: &Case) -> String {
    let shown = case.policer.is_some() || case.losses.is_some();
    match case.facts.losses == 0 && shown {
        true => "all of them before this interval".to_owned(),
        false => String::new(),
    }
}

/// Where the losses rank by what was sent just before them.
pub fn density(case: &Case) -> String {
    match case.density {
        Some(density) => format!(
            "bytes sent just before a loss: mean rank {} (random = 50 %)",
            percent(density.rank)
        ),
        None => String::new(),
    }
}

/// How regular the loss episodes come.
pub fn rhythm(case: &Case) -> String {
    let shape = case.losses.filter(|_| case.policer.is_none());
    match shape.and_then(|shape| shape.rhythm) {
        Some(rhythm) => format!("gaps between loss episodes: CV {rhythm:.2}"),
        None => String::new(),
    }
}

/// The numbers of a full link, shared or not.
pub fn full_link(case: &Case) -> Vec<String> {
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
    vec![queue(case), share, marks, losses(case).into_owned()]
}

/// What speaks against the network where something else is to blame.
pub fn quiet(case: &Case) -> String {
    [&*inflation(case), ", ", &*losses(case)].concat()
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

pub fn inflation(case: &Case) -> Text {
    match inflated(case) {
        Some(inflation) if inflation < 1.15 => {
            ["RTT at its minimum", &*least_rtt(case)].concat().into()
        }
        Some(inflation) => {
            let times = decimal(inflation, 1);
            ["RTT ", &*times, " times its minimum", &*least_rtt(case)].concat().into()
        }
        None => match case.context.rtt_least {
            Some(least) => ["minimum RTT ", &*time(least)].concat().into(),
            None if case.context.rtt_unresolved => "RTT below a tick of the capture's clock".into(),
            None => "RTT unknown".into(),
        },
    }
}

fn least_rtt(case: &Case) -> Text {
    match case.context.rtt_least {
        Some(least) => [" of ", &*time(least)].concat().into(),
        None => "".into(),
    }
}

/// Mean over least round-trip time, the handshake's included.
fn inflated(case: &Case) -> Option<f64> {
    let context = &case.context;
    let lower = context.rtt_min.zip(context.rtt_least);
    let times = lower.map_or(1.0, |(min, least)| min.0 as f64 / least.0 as f64);
    Some(case.facts.inflation? * times)
}

pub fn losses(case: &Case) -> Text {
    let facts = &case.facts;
    if facts.losses == 0 {
        return match facts.loss_ratio > 0.0 {
            // An episode that began before goes on.
            true => {
                let share = percent(facts.loss_ratio);
                ["no new loss, ", &*share, " of the bytes sent again"].concat().into()
            }
            false => "no loss".into(),
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
    format!("{episodes} in {} segments{timeouts}, {what}", grouped(facts.packets)).into()
}

pub fn times(number: u32) -> String {
    match number {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        _ => format!("{number} times"),
    }
}

/// What is said of an answer that rests on losses of before.
pub const NONE_NOW: &str = "losses only before this interval";
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
        assert_eq!(policed, "losses only before this interval; RTT unknown");
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
