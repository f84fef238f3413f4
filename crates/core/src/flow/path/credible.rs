//! Whether what a direction shows of its capacity is credible.

use super::capacity::{Capacity, Stream};
use super::probe::CapacityProbe;
use super::queue::QueueSense;
use crate::flow::totals::Totals;
use crate::reason::{CapacityMethod, CapacityUnknown};
use crate::units::BitRate;

impl CapacityProbe {
    /// A capacity as far as it is credible: at a link that is full something queues now and then. A
    /// rate hardly above what was delivered that never made a queue is the pace of the sender
    /// (algorithms 10). So is one that hardly any gaps agree on. Pairs that a link spread apart are
    /// its own.
    pub fn credible(&self, capacity: Capacity, totals: &Totals, queue: &QueueSense) -> Capacity {
        let lost = totals.retransmitted_bytes - totals.spurious_bytes;
        let lossy = lost as f64 >= LOSSY * totals.payload_bytes as f64;
        let queues_from = if lossy { QUEUES_WHEN_LOSSY } else { QUEUES_AT_LEAST };
        let queues = queue.stands_now_and_then(queues_from);
        let goodput = goodput_bps(totals);
        let delivered = self.delivery.most_bps;
        let of_acks = self.collector.as_ref().filter(|c| c.stream() == Some(Stream::Acks));
        let spread = of_acks.and_then(|collector| collector.spread_bps());
        // A rate that is reached is the narrowest link's; a pair may pass it as a bucket's burst.
        let is_reached =
            capacity.bps.zip(delivered).is_some_and(|(bps, most)| most >= REACHED * bps);
        let comb = capacity.bps.is_some() && capacity.support.is_comb();
        let spread = spread.filter(|_| comb || !(is_reached && queues));
        // What comes between the two of a pair makes it slower, so that the higher rate counts.
        let least = [delivered, goodput, capacity.bps].into_iter().flatten().fold(0.0, f64::max);
        if let Some(spread) = spread.filter(|&spread| spread >= least) {
            return by_pairs(capacity, spread);
        }
        match (capacity.bps, delivered) {
            (Some(bps), Some(delivered)) if !queues && bps < OWN_PACE * delivered => {
                pace(capacity, bps)
            }
            (found, _) if is_below(found, goodput) => Capacity {
                bps: None,
                method: Err(CapacityUnknown::BelowDelivered),
                lower_bps: goodput,
                upper_bps: None,
                ..capacity
            },
            (Some(bps), _) if comb || capacity.support.is_thin() => Capacity {
                bps: None,
                // Others' packets lie in between: the link carries more.
                method: Err(match comb {
                    true => CapacityUnknown::SeveralRates,
                    false => CapacityUnknown::FewAgree,
                }),
                lower_bps: Some(bps).filter(|_| comb).or(capacity.lower_bps.and(delivered)),
                upper_bps: None,
                ..capacity
            },
            _ => capacity,
        }
    }
}

/// Shares of the time, by what the verdicts so far say of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct TimeBy {
    /// A link was full.
    pub full_link: f64,
    /// The program was the limit.
    pub program: f64,
    /// What was sent waited for the network, by the clocks.
    pub network: f64,
}

impl CapacityProbe {
    /// The `credible` capacity in view of what the verdicts say (algorithms 10, pacing rule).
    ///
    /// A rate that was reached is the link's where a link was full. Then it counts as `found`, if
    /// no more than that got through. Where none ever was full and the program held the sender
    /// back, it is the program's. And no link is slower than many of the pairs that it lets pass.
    pub fn in_view_of(
        &self,
        found: Capacity,
        credible: Capacity,
        totals: &Totals,
        time: TimeBy,
    ) -> Capacity {
        let full = time.full_link >= NOW_AND_THEN;
        if credible.is_pace() {
            let agreed = !found.support.is_comb() && !found.support.is_thin();
            let delivered = self.delivery.most_bps.or_else(|| goodput_bps(totals));
            let carries = found.bps.zip(delivered).is_none_or(|(bps, most)| bps >= most);
            let is_links = full && agreed && carries;
            return if is_links { found } else { credible };
        }
        let made_by_pairs = credible.method == Ok(CapacityMethod::PairDispersion);
        let Some(bps) = credible.bps.filter(|_| !made_by_pairs) else { return credible };
        let is_reached = self.delivery.most_bps.is_some_and(|most| bps < OWN_PACE * most);
        let is_paced = time.program >= MOSTLY && time.network < HARDLY;
        if is_reached && !full && is_paced {
            return pace(credible, bps);
        }
        if let Some(behind) = self.behind_bps(bps, totals) {
            return by_pairs(credible, behind);
        }
        if credible.support.is_exceeded() {
            return lower_bound(credible, CapacityUnknown::SeveralRates, bps);
        }
        credible
    }

    /// The rate of a link behind the observer, by the pairs that it spread apart, where the data
    /// passed at `bps` before it.
    fn behind_bps(&self, bps: f64, totals: &Totals) -> Option<f64> {
        let collector = self.collector.as_ref();
        let collector = collector.filter(|collector| collector.stream() == Some(Stream::Data))?;
        let spread = collector.spread_bps().filter(|&spread| spread < BEHIND * bps)?;
        Some(spread).filter(|_| !is_below(Some(spread), goodput_bps(totals)))
    }
}

fn goodput_bps(totals: &Totals) -> Option<f64> {
    BitRate::of(totals.unique_bytes, totals.data_span()).map(|rate| rate.0)
}

/// Whether a capacity is less than what got through.
fn is_below(bps: Option<f64>, goodput: Option<f64>) -> bool {
    bps.zip(goodput).is_some_and(|(bps, goodput)| BELOW * bps < goodput)
}

/// The capacity by pairs that the link spread apart.
fn by_pairs(capacity: Capacity, bps: f64) -> Capacity {
    Capacity {
        bps: Some(bps),
        method: Ok(CapacityMethod::PairDispersion),
        lower_bps: capacity.lower_bps.map(|lower| lower.min(bps)),
        upper_bps: None,
        ..capacity
    }
}

/// Not the capacity, but the pace of the sender.
fn pace(capacity: Capacity, bps: f64) -> Capacity {
    lower_bound(capacity, CapacityUnknown::SenderPace, bps)
}

/// Not the capacity for this reason, but the link carries no less.
fn lower_bound(capacity: Capacity, why: CapacityUnknown, bps: f64) -> Capacity {
    Capacity { bps: None, method: Err(why), lower_bps: Some(bps), upper_bps: None, ..capacity }
}

/// Share of the samples that a link raises when it is full now and then: BBR keeps it so for one
/// round in eight.
const QUEUES_AT_LEAST: f64 = 0.03;
/// The same for a link that drops as well.
const QUEUES_WHEN_LOSSY: f64 = 0.3;
/// Share of the bytes lost from which a full link has a queue now and then.
const LOSSY: f64 = 0.02;
/// Payload delivered for each bit of a link that is full: 1448 of 1500 bytes, less what varies.
const REACHED: f64 = 0.94;
/// A capacity up to so many times the delivered rate is near it (algorithms 10).
const OWN_PACE: f64 = 1.5;
/// Share of the time in which a link was full from which the rate may be its own. It is 0 or more
/// than a tenth in nearly all directions of random worlds.
const NOW_AND_THEN: f64 = 0.05;
/// Share of the time from which the program made the rate,
const MOSTLY: f64 = 0.5;
/// and that of the network up to which nothing but the program did. A program of a random world
/// that paces waits for it a fifth of the time; chunks of the policing study that a link carries,
/// two fifths and half of it.
const HARDLY: f64 = 0.25;
/// Rate of acknowledgements over that of the data below which a slower link lies between.
const BEHIND: f64 = 0.8;
/// What was sent may still lie in the queue, so that only a capacity this far below it is too low.
const BELOW: f64 = 1.2;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::path::capacity::{Collector, Support};
    use crate::units::Nanos;

    const FOUND: Capacity = Capacity {
        bps: Some(10e6),
        method: Ok(CapacityMethod::PprateData),
        lower_bps: Some(9e6),
        upper_bps: Some(11e6),
        support: Support { near: 1.0, sharp: 1.0, faster: 0.0, ahead: 0.0 },
    };

    fn in_view_of(credible: Capacity, delivered_bps: f64, time: TimeBy) -> Capacity {
        let mut probe = CapacityProbe::default();
        probe.delivery.most_bps = Some(delivered_bps);
        probe.in_view_of(FOUND, credible, &Totals::default(), time)
    }

    const LINK: TimeBy = TimeBy { full_link: 0.3, program: 0.7, network: 0.3 };
    const PROGRAM: TimeBy = TimeBy { full_link: 0.0, program: 1.0, network: 0.05 };

    #[test]
    fn a_rate_that_was_reached_is_the_programs_where_no_link_was_full() {
        let seen = in_view_of(FOUND, 9e6, PROGRAM);
        assert!(seen.is_pace());
        assert_eq!((seen.bps, seen.lower_bps, seen.upper_bps), (None, Some(10e6), None));
        assert_eq!(in_view_of(FOUND, 9e6, LINK), FOUND);
        let window = TimeBy { program: 0.4, ..PROGRAM };
        assert_eq!(in_view_of(FOUND, 9e6, window), FOUND, "another limit for most of the time");
        let chunks = TimeBy { network: 0.4, ..PROGRAM };
        assert_eq!(in_view_of(FOUND, 9e6, chunks), FOUND, "a link carries the chunks");
    }

    #[test]
    fn a_rate_that_was_never_reached_is_no_pace() {
        assert_eq!(in_view_of(FOUND, 6e6, PROGRAM), FOUND);
        let spread = Capacity { method: Ok(CapacityMethod::PairDispersion), ..FOUND };
        assert_eq!(in_view_of(spread, 9e6, PROGRAM), spread, "the path made these gaps");
    }

    /// Data that passed with 100 µs between them, and acknowledgements 1 ms apart for each two.
    fn spread_behind(stream: Stream) -> CapacityProbe {
        let mut collector = Collector::default();
        collector.choose(stream);
        for pair in 0..9 {
            collector.echo(Nanos(pair * 1_000_000), Nanos(pair * 200_000), 3_000, true);
        }
        CapacityProbe { collector: Some(Box::new(collector)), ..CapacityProbe::default() }
    }

    #[test]
    fn acknowledgements_that_come_further_apart_than_data_tell_the_link_behind() {
        let fast = Capacity { bps: Some(120e6), lower_bps: Some(30e6), ..FOUND };
        let seen = |stream| {
            spread_behind(stream).in_view_of(fast, fast, &Totals::default(), TimeBy::default())
        };
        let behind = seen(Stream::Data);
        let bps = behind.bps.expect("a rate");
        assert!((bps / 24e6 - 1.0).abs() < 0.02, "{bps}");
        assert_eq!(behind.method, Ok(CapacityMethod::PairDispersion));
        assert!(behind.lower_bps <= behind.bps);
        assert_eq!(seen(Stream::Acks), fast, "acknowledgements have it already");
    }

    #[test]
    fn a_rate_that_many_pairs_exceed_is_less_than_the_links() {
        let seen = |faster| {
            let support = Support { faster, ..FOUND.support };
            in_view_of(Capacity { support, ..FOUND }, 9e6, LINK)
        };
        assert_eq!(seen(0.04).bps, Some(10e6));
        assert_eq!(seen(0.05).method, Err(CapacityUnknown::SeveralRates));
        assert_eq!((seen(0.05).bps, seen(0.05).lower_bps), (None, Some(10e6)));
    }

    #[test]
    fn a_pace_is_the_links_where_a_link_was_full() {
        let pace = pace(FOUND, 10e6);
        assert_eq!(in_view_of(pace, 9e6, LINK), FOUND);
        assert_eq!(in_view_of(pace, 9e6, PROGRAM), pace);
    }

    #[test]
    fn what_got_through_is_no_more_than_a_link_carries() {
        let pace = pace(FOUND, 10e6);
        assert_eq!(in_view_of(pace, 10.1e6, LINK), pace);
    }
}
