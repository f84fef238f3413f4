//! What a half says of the capacity of its path, and whether that is credible.

use super::{Around, COLLECT_FROM, Half};
use crate::flow::entry::Entry;
use crate::flow::loss::ledger::{Filed, Kind};
use crate::flow::path::capacity::{Capacity, Stream};
use crate::flow::path::delay::is_near_sender;
use crate::units::BitRate;

impl Half {
    /// A data segment for the stream of samples, if that is of data here.
    #[inline(always)]
    pub(super) fn capacity_from_data(
        &mut self,
        entry: &Entry,
        filed: &Filed,
        full: bool,
        around: &Around,
    ) {
        if self.totals.data_packets < COLLECT_FROM {
            return;
        }
        let collector = self.capacity.get_or_insert_default();
        let near_sender = is_near_sender(around.sender, around.receiver);
        let near_sender = near_sender.unwrap_or(self.mss.super_packets);
        collector.choose(if near_sender { Stream::Acks } else { Stream::Data });
        if collector.stream() == Some(Stream::Data) {
            if filed.kind == Kind::New {
                collector.packet(entry.ts, entry.ip_len(), full);
            } else {
                collector.interrupt();
            }
        }
    }

    /// Capacity as known now; `None` before `min_packets` data packets.
    pub fn capacity(&mut self, min_packets: u64) -> Option<Capacity> {
        if self.totals.data_packets <= min_packets {
            return None;
        }
        let delivered = self.delivery.most_bps;
        Some(self.capacity.get_or_insert_default().capacity(delivered))
    }

    /// The same as [`Half::capacity`] from the estimates made so far.
    pub fn capacity_so_far(&self, min_packets: u64) -> Option<Capacity> {
        let collector = self.capacity.as_ref();
        let collector = collector.filter(|_| self.totals.data_packets > min_packets)?;
        Some(collector.known(self.delivery.most_bps))
    }

    /// The same as far as it is credible: at a link that is full something queues now and then. A
    /// rate that is hardly above what was delivered, and never made a queue, is that of whoever
    /// paced or clocked the packets (ALGORITHMS 7.12), and so is one that hardly any gaps agree on.
    /// Pairs that a link spread apart are its own.
    pub fn credible(&self, capacity: Capacity) -> Capacity {
        let lost = self.totals.retransmitted_bytes - self.totals.spurious_bytes;
        let lossy = lost as f64 >= LOSSY * self.totals.payload_bytes as f64;
        let queues_from = if lossy { QUEUES_WHEN_LOSSY } else { QUEUES_AT_LEAST };
        let queues = self.queue.stands_now_and_then(queues_from);
        let span = self.totals.data_span();
        let goodput = BitRate::of(self.totals.unique_bytes, span).map(|rate| rate.0);
        let delivered = self.delivery.most_bps;
        let spread = self.capacity.as_ref().and_then(|collector| collector.spread_bps());
        // A rate that is reached is the narrowest link's; a pair may pass it as a bucket's burst.
        let is_reached =
            capacity.bps.zip(delivered).is_some_and(|(bps, most)| most >= REACHED * bps);
        let comb = capacity.bps.is_some() && capacity.support.is_comb();
        let spread = spread.filter(|_| comb || !(is_reached && queues));
        // What comes between the two of a pair makes it slower, so that the higher rate counts.
        let least = [delivered, goodput, capacity.bps].into_iter().flatten().fold(0.0, f64::max);
        if let Some(spread) = spread.filter(|&spread| spread >= least) {
            return Capacity {
                bps: Some(spread),
                method: "pairs spread by the link",
                upper_bps: None,
                ..capacity
            };
        }
        match (capacity.bps, delivered) {
            (Some(bps), Some(delivered)) if !queues && bps < OWN_PACE * delivered => Capacity {
                bps: None,
                method: Capacity::PACE,
                lower_bps: Some(bps),
                upper_bps: None,
                ..capacity
            },
            (Some(bps), _) if goodput.is_some_and(|goodput| BELOW * bps < goodput) => Capacity {
                bps: None,
                method: "refused: below what was delivered",
                lower_bps: goodput,
                upper_bps: None,
                ..capacity
            },
            (Some(bps), _) if comb || capacity.support.is_thin() => Capacity {
                bps: None,
                method: if comb { Capacity::COMB } else { "refused: hardly any gaps agree" },
                lower_bps: Some(bps).filter(|_| comb).or(capacity.lower_bps.and(delivered)),
                upper_bps: None,
                ..capacity
            },
            _ => capacity,
        }
    }
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
/// A capacity up to so many times the delivered rate is near it (ALGORITHMS 7.12).
const OWN_PACE: f64 = 1.5;
/// What was sent may still lie in the queue, so that only a capacity this far below it is too low.
const BELOW: f64 = 1.2;
