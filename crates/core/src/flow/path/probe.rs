//! What a direction shows of the capacity of its path, and whether that is credible.

use super::capacity::{Capacity, Collector, Stream};
use super::delay::Standpoint;
use super::delivery::Delivery;
use super::mss::Mss;
use super::queue::QueueSense;
use crate::flow::entry::Entry;
use crate::flow::observer::{Ack, Around, Data, Observer};
use crate::flow::totals::Totals;
use crate::reason::{CapacityMethod, CapacityUnknown};
use crate::units::BitRate;

/// Samples of the capacity, and the rate that was reached.
#[derive(Debug, Default)]
pub struct CapacityProbe {
    /// Made after the first packets: most directions end before.
    collector: Option<Box<Collector>>,
    delivery: Delivery,
}

impl CapacityProbe {
    /// The stream was interrupted: the next packet has no gap before it.
    #[inline]
    pub fn interrupt(&mut self) {
        self.collector.iter_mut().for_each(|collector| collector.interrupt());
    }

    /// The highest rate at which data was acknowledged, in bit/s of payload.
    pub fn delivered_most_bps(&self) -> Option<f64> {
        self.delivery.most_bps
    }

    /// Capacity as known now, with an estimate of the newest samples.
    pub fn estimate(&mut self) -> Capacity {
        self.collector.get_or_insert_default().capacity(self.delivery.most_bps)
    }

    /// The same from the estimates made so far; `None` without any samples.
    pub fn so_far(&self) -> Option<Capacity> {
        Some(self.collector.as_ref()?.known(self.delivery.most_bps))
    }

    /// The same as far as it is credible: at a link that is full something queues now and then. A
    /// rate hardly above what was delivered that never made a queue is the pace of the sender
    /// (algorithms 10). So is one that hardly any gaps agree on. Pairs that a link spread apart are
    /// its own.
    pub fn credible(&self, capacity: Capacity, totals: &Totals, queue: &QueueSense) -> Capacity {
        let lost = totals.retransmitted_bytes - totals.spurious_bytes;
        let lossy = lost as f64 >= LOSSY * totals.payload_bytes as f64;
        let queues_from = if lossy { QUEUES_WHEN_LOSSY } else { QUEUES_AT_LEAST };
        let queues = queue.stands_now_and_then(queues_from);
        let span = totals.data_span();
        let goodput = BitRate::of(totals.unique_bytes, span).map(|rate| rate.0);
        let delivered = self.delivery.most_bps;
        let spread = self.collector.as_ref().and_then(|collector| collector.spread_bps());
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
                method: Ok(CapacityMethod::PairDispersion),
                upper_bps: None,
                ..capacity
            };
        }
        match (capacity.bps, delivered) {
            (Some(bps), Some(delivered)) if !queues && bps < OWN_PACE * delivered => Capacity {
                bps: None,
                method: Err(CapacityUnknown::SenderPace),
                lower_bps: Some(bps),
                upper_bps: None,
                ..capacity
            },
            (Some(bps), _) if goodput.is_some_and(|goodput| BELOW * bps < goodput) => Capacity {
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

/// From where the stream that shows the capacity was chosen last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chosen {
    standpoint: Standpoint,
    /// Whether it is the data.
    is_data: bool,
}

impl CapacityProbe {
    /// [`Observer::on_data`] of plain data.
    #[inline(always)]
    pub(crate) fn plain_data(
        &mut self,
        entry: &Entry,
        around: Around<'_>,
        data_packets: u64,
        mss: &Mss,
        chosen: &mut Option<Chosen>,
    ) {
        if data_packets < COLLECT_FROM {
            return;
        }
        let collector = self.collector.get_or_insert_default();
        let standpoint = Standpoint::of(around.sender, around.receiver);
        let is_data = match chosen {
            Some(before) if before.standpoint == standpoint => before.is_data,
            _ => {
                collector.choose(stream_of(standpoint, mss));
                let is_data = collector.stream() == Some(Stream::Data);
                *chosen = Some(Chosen { standpoint, is_data });
                is_data
            }
        };
        if is_data {
            collector.packet(entry.ts, entry.ip_len(), true);
        }
    }
}

/// The stream that shows the capacity, by where the observer stands.
#[inline(always)]
fn stream_of(standpoint: Standpoint, mss: &Mss) -> Stream {
    let before_link = standpoint.is_before_link().unwrap_or(mss.super_packets);
    if before_link { Stream::Acks } else { Stream::Data }
}

impl Observer for CapacityProbe {
    #[inline(always)]
    fn on_data(&mut self, data: &Data<'_>) {
        if data.data_packets < COLLECT_FROM {
            return;
        }
        let collector = self.collector.get_or_insert_default();
        let standpoint = Standpoint::of(data.around.sender, data.around.receiver);
        collector.choose(stream_of(standpoint, data.mss));
        if collector.stream() == Some(Stream::Data) {
            if data.is_new() {
                collector.packet(data.entry.ts, data.entry.ip_len(), data.full > 0);
            } else {
                collector.interrupt();
            }
        }
    }

    #[inline(always)]
    fn on_ack(&mut self, ack: &Ack<'_>) {
        let (entry, acked) = (ack.entry, ack.acked);
        if acked.bytes > 0 {
            self.delivery.acked(entry.ts, acked.bytes, ack.rtt.srtt);
        }
        let Some(collector) = &mut self.collector else { return };
        if collector.stream() != Some(Stream::Acks) {
            return;
        }
        if acked.bytes == 0 {
            // A window update or a duplicate: not clocked by data that left the link.
            if acked.duplicate || ack.selective {
                collector.interrupt();
            }
            return;
        }
        let mss = u64::from(ack.mss.value());
        let bytes = acked.bytes + acked.bytes.div_ceil(mss) * u64::from(ack.mss.headers_len());
        let repairing = ack.flight.repairing || ack.selective;
        let bytes = bytes.min(u64::from(u32::MAX)) as u32;
        collector.packet(entry.ts, bytes, acked.bytes >= mss && !repairing);
        if let Some(rtt) = acked.sample.filter(|_| !repairing) {
            collector.echo(entry.ts, entry.ts - rtt, bytes, acked.bytes > mss);
        }
    }
}

/// Data packets before samples are kept: most directions never get this far, and what an initial
/// window shows is slow start.
const COLLECT_FROM: u64 = 32;
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
/// What was sent may still lie in the queue, so that only a capacity this far below it is too low.
const BELOW: f64 = 1.2;
