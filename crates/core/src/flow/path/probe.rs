//! What a direction shows of the capacity of its path.

use super::capacity::{Capacity, Collector, Stream};
use super::delay::Standpoint;
use super::delivery::Delivery;
use super::mss::Mss;
use crate::flow::entry::Entry;
use crate::flow::observer::{Ack, Around, Data, Observer};

/// Samples of the capacity, and the rate that was reached.
#[derive(Debug, Default)]
pub struct CapacityProbe {
    /// Made after the first packets: most directions end before.
    pub(super) collector: Option<Box<Collector>>,
    pub(super) delivery: Delivery,
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
        let of_acks = collector.stream() == Some(Stream::Acks);
        if acked.bytes == 0 {
            // A window update or a duplicate: not clocked by data that left the link.
            if acked.duplicate || ack.selective {
                collector.interrupt_acks();
            }
            return;
        }
        let mss = u64::from(ack.mss.value());
        let bytes = acked.bytes + acked.bytes.div_ceil(mss) * u64::from(ack.mss.headers_len());
        let repairing = ack.flight.repairing || ack.selective;
        let bytes = bytes.min(u64::from(u32::MAX)) as u32;
        let sent = acked.sample.filter(|_| !repairing).map(|rtt| entry.ts - rtt);
        if of_acks {
            let queued = sent.is_some_and(|sent| collector.queued_behind(entry.ts, sent));
            collector.packet(entry.ts, bytes, acked.bytes >= mss && !repairing && !queued);
        }
        if let Some(sent) = sent {
            collector.echo(entry.ts, sent, bytes, acked.bytes > mss);
        }
    }
}

/// Data packets before samples are kept: most directions never get this far, and what an initial
/// window shows is slow start.
const COLLECT_FROM: u64 = 32;
