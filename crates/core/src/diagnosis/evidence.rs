//! The numbers that decided, as a sentence.

use super::decimal::Decimal;
use super::sentence::Sentence;
use super::words::{count, counted, decimal, grouped, percent, rate, seconds, time};
use super::{Case, Cause, Finding, threshold};
use crate::flow::loss::losses::Shape;
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
    let mut say = Sentence::default();
    finding.cause.limitation().evidence(case, finding, &mut say);
    say.into()
}

/// That the losses lie before the interval, where they do.
pub fn earlier(case: &Case, say: &mut Sentence) {
    let shown = case.policer.is_some() || case.losses.is_some();
    if case.facts.losses == 0 && shown {
        say.part().add(&["all of them before this interval"]);
    }
}

/// Where the losses rank by what was sent just before them.
pub fn density(case: &Case, say: &mut Sentence) {
    if let Some(density) = case.density {
        let rank = percent(density.rank);
        let words = ["bytes sent just before a loss: mean rank ", &rank, " (random = 50 %)"];
        say.part().add(&words);
    }
}

/// How regular the loss episodes come.
pub fn rhythm(case: &Case, say: &mut Sentence) {
    let shape = case.losses.filter(|_| case.policer.is_none());
    if let Some(rhythm) = shape.and_then(|shape| shape.rhythm) {
        write!(say.part(), "gaps between loss episodes: CV {rhythm:.2}");
    }
}

/// The numbers of a full link, which the connection has `alone` or not.
pub fn full_link(case: &Case, alone: bool, say: &mut Sentence) {
    let facts = &case.facts;
    queue(case, say.part());
    match (facts.queued_rate_bps, case.context.capacity_bps, facts.utilisation) {
        (Some(delivered), Some(capacity), Some(utilisation)) if utilisation > MORE_THAN_ALL => {
            write!(
                say.part(),
                "{} delivered while it queued, more than the {} that gaps between packets show",
                rate(delivered),
                rate(capacity)
            );
        }
        (Some(delivered), Some(capacity), Some(utilisation))
            if alone && utilisation < threshold::FAR_FROM_FULL =>
        {
            write!(
                say.part(),
                "{} delivered while it queued, far from the {} that gaps between packets show",
                rate(delivered),
                rate(capacity)
            );
        }
        (Some(delivered), Some(capacity), Some(utilisation)) => write!(
            say.part(),
            "{} delivered while it queued, {} of the capacity of {}",
            rate(delivered),
            percent(utilisation),
            rate(capacity)
        ),
        (Some(delivered), ..) => write!(
            say.part(),
            "{} delivered while it queued, varying by {}; capacity unknown",
            rate(delivered),
            percent(facts.queued_rate_variation.unwrap_or(0.0))
        ),
        (None, Some(capacity), _) => {
            if let Some(load) = facts.load {
                let (load, capacity) = (percent(load), rate(capacity));
                say.part().add(&["sent ", &load, " of the capacity of ", &capacity]);
            }
        }
        _ => {}
    }
    if facts.marks > 0 {
        let marks = counted(u64::from(facts.marks), "ECN mark or echo", "ECN marks or echoes");
        say.part().add(&[&marks]);
    }
    losses(case, say.part());
}

/// What speaks against the network where something else is to blame.
pub fn quiet(case: &Case, say: &mut Sentence) {
    inflation(case, say.part());
    losses(case, say.add(&[", "]));
}

fn queue(case: &Case, say: &mut Sentence) {
    let (Some(raised), Some(inflation)) = (case.facts.raised, inflated(case)) else {
        match case.facts.one_way_s.filter(|&above| above >= TWO_TICKS_S) {
            Some(above) => say.add(&["one-way delay ", &seconds(above), " above its minimum"]),
            None => say.add(&["queue not seen from here"]),
        };
        return;
    };
    say.add(&["RTT ", &decimal(inflation, 1), " times its minimum"]);
    least_rtt(case, say);
    say.add(&[", raised in ", &percent(raised), " of the samples"]);
}

/// Adds how the round-trip time compares to its minimum.
pub fn inflation(case: &Case, say: &mut Sentence) {
    match inflated(case) {
        Some(inflation) if inflation < 1.15 => {
            least_rtt(case, say.add(&["RTT at its minimum"]));
        }
        Some(inflation) => {
            least_rtt(case, say.add(&["RTT ", &decimal(inflation, 1), " times its minimum"]));
        }
        None => {
            match case.context.rtt_least {
                Some(least) => say.add(&["minimum RTT ", &time(least)]),
                None if case.context.rtt_unresolved => {
                    say.add(&["RTT below a tick of the capture's clock"])
                }
                None => say.add(&["RTT unknown"]),
            };
        }
    }
}

fn least_rtt(case: &Case, say: &mut Sentence) {
    if let Some(least) = case.context.rtt_least {
        say.add(&[" of ", &time(least)]);
    }
}

/// Mean over least round-trip time, the handshake's included.
pub fn inflated(case: &Case) -> Option<f64> {
    let context = &case.context;
    let lower = context.rtt_min.zip(context.rtt_least);
    let times = lower.map_or(1.0, |(min, least)| min.0 as f64 / least.0 as f64);
    Some(case.facts.inflation? * times)
}

/// Adds what was lost.
pub fn losses(case: &Case, say: &mut Sentence) {
    let facts = &case.facts;
    let share = percent(facts.loss_ratio);
    if facts.losses == 0 {
        match facts.loss_ratio > 0.0 {
            // An episode that began before goes on.
            true => say.add(&["no new loss, ", &share, " of the bytes sent again"]),
            false => say.add(&["no loss"]),
        };
        return;
    }
    let episodes = count(facts.losses, "loss episode");
    say.add(&[&episodes, " in ", &grouped(facts.packets), " segments"]);
    if facts.timeouts > 0 {
        say.add(&[" and ", &count(u64::from(facts.timeouts), "timeout")]);
    }
    match facts.loss_ratio > 0.0 {
        true => say.add(&[", ", &share, " of the bytes"]),
        false => say.add(&[", nothing lost: every retransmission was spurious"]),
    };
}

/// Adds how many bytes were lost, and what tells random losses from others.
pub fn pattern(case: &Case, shape: &Shape, say: &mut Sentence) {
    write!(
        say,
        "{} of the bytes lost so far; at losses the flight was {:.2} times its mean, and the gaps \
         between losses had CV {:.2} (1 and 1 if random)",
        percent(case.so_far.loss_ratio),
        shape.flight,
        shape.variation
    );
}

/// How often something happened.
pub fn times(number: u32) -> Decimal {
    match number {
        1 => Decimal::default().with("once"),
        2 => Decimal::default().with("twice"),
        _ => decimal(f64::from(number), 0).with(" times"),
    }
}

/// What is said of an answer that rests on losses of before.
pub const NONE_NOW: &str = "losses only before this interval";
/// Of most clocks of timestamps: a mean delay above its minimum that is more than their steps.
const TWO_TICKS_S: f64 = 0.002;
/// Use of a link from which its capacity is not what the gaps between packets say: it varies, or
/// they were spread by something else.
const MORE_THAN_ALL: f64 = 1.15;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::{Facts, blamed};
    use crate::units::Nanos;

    fn said(cause: Cause, facts: Facts) -> String {
        let case = Case { facts, ..Case::default() };
        sentence(&case, &blamed(cause)).to_string()
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
    fn a_queue_shows_in_round_trips_or_else_one_way() {
        let queue = |one_way_s| {
            let facts =
                Facts { span_s: 1.0, packets: 90, losses: 1, one_way_s, ..Facts::default() };
            said(Cause::UnsharedQueue, facts)
        };
        assert!(queue(Some(0.0193)).starts_with("one-way delay 19.3 ms above its minimum"));
        assert!(queue(Some(0.0011)).starts_with("queue not seen from here"));
        assert!(queue(None).starts_with("queue not seen from here"));
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
        let text = sentence(&case, &blamed(Cause::UnsharedQueue));
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
        let mut say = Sentence::default();
        inflation(&case, &mut say);
        assert_eq!(Text::from(say), "RTT 3.0 times its minimum of 10.0 ms");
    }

    #[test]
    fn a_needless_repair_is_no_loss() {
        let facts = Facts { span_s: 1.0, packets: 634, losses: 1, ..Facts::default() };
        let text = said(Cause::ApplicationIdle, facts);
        let end = "1 loss episode in 634 segments, nothing lost: every retransmission was spurious";
        assert!(text.ends_with(end), "{text}");
    }
}
