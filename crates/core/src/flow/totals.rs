//! Counts of a direction from its begin to its end.

use crate::flow::entry::Entry;
use crate::flow::loss::ledger::{Filed, Kind};
use crate::flow::loss::seed::SeedCount;
use crate::flow::observer::{Ack, Data, Observer};
use crate::flow::path::sketch::Sketch;
use crate::flow::time::plain_sums::PlainSums;
use crate::units::{Nanos, Seq, raise};

/// What a direction sent, and what became of it. The columns of the flows table say what each is.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    pub packets: u64,
    pub data_packets: u64,
    pub wire_bytes: u64,
    pub payload_bytes: u64,
    pub unique_bytes: u64,
    pub retransmitted_bytes: u64,
    pub spurious_bytes: u64,
    pub reordered_packets: u64,
    pub duplicate_frames: u64,
    pub loss_events: u64,
    pub rto_events: u64,
    pub fast_retransmissions: u64,
    pub tlp_events: u64,
    pub zero_window_events: u64,
    pub zero_window_probes: u64,
    pub keep_alives: u64,
    pub duplicate_acks: u64,
    pub missed_bytes: u64,
    pub out_of_window: u64,
    pub flight_max: Option<u64>,
    pub rwnd_max: Option<u64>,
    /// Largest window that new data met.
    pub rwnd_met: Option<u64>,
    pub first_data: Option<Nanos>,
    pub last_data: Option<Nanos>,
    /// Round-trip times by size.
    pub rtts: Sketch,
    /// The published prototype's count of retransmissions.
    pub seed: SeedCount,
}

/// Segments of a run from one side.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counted {
    packets: u32,
    wire_bytes: u64,
}

impl Counted {
    /// Whether there was one.
    pub fn any(&self) -> bool {
        self.packets > 0
    }

    /// Counts a segment.
    #[inline(always)]
    pub fn add(&mut self, entry: &Entry) {
        self.packets += 1;
        self.wire_bytes += u64::from(entry.wire_len());
    }
}

impl Totals {
    /// Time from the first to the last data segment.
    pub fn data_span(&self) -> Nanos {
        match (self.first_data, self.last_data) {
            (Some(first), Some(last)) => last.since(first),
            _ => Nanos(0),
        }
    }

    /// Adds plain data that `data_packets` and `last_data` count already.
    pub fn take_plain(&mut self, sums: &PlainSums) {
        self.payload_bytes += sums.bytes();
        self.unique_bytes += sums.bytes();
        raise(&mut self.flight_max, sums.flight_max());
        raise(&mut self.rwnd_met, sums.rwnd_max());
    }

    /// Counts the segments of a run from one side, all of them for the prototype as well: their
    /// sequence numbers go up from `first` to `last`, or are the same.
    pub fn count_plain<'a>(
        &mut self,
        counted: &Counted,
        (first, last): (Seq, Seq),
        each: impl Iterator<Item = &'a Entry>,
    ) {
        self.packets += u64::from(counted.packets);
        self.wire_bytes += counted.wire_bytes;
        if counted.packets > 0 && !self.seed.run(first, last, counted.wire_bytes) {
            each.for_each(|entry| self.seed.segment(entry.seq, u64::from(entry.wire_len())));
        }
    }

    /// Begins anew, in the same memory.
    pub(super) fn renew(&mut self) {
        let mut rtts = std::mem::take(&mut self.rtts);
        rtts.clear();
        *self = Totals { rtts, ..Totals::default() };
    }

    #[cold]
    fn count_repair(&mut self, filed: &Filed) {
        self.retransmitted_bytes += filed.retransmitted_bytes;
        self.missed_bytes -= filed.found_bytes;
        self.rto_events += u64::from(filed.rto_event);
        match filed.kind {
            Kind::Fast => self.fast_retransmissions += 1,
            Kind::Tlp => self.tlp_events += 1,
            Kind::Reordered => self.reordered_packets += 1,
            Kind::ZeroWindowProbe => self.zero_window_probes += 1,
            Kind::KeepAlive => self.keep_alives += 1,
            Kind::Spurious => self.spurious_bytes += filed.retransmitted_bytes,
            Kind::New | Kind::Rto | Kind::Retransmission => {}
        }
    }
}

impl Observer for Totals {
    #[inline(always)]
    fn on_data(&mut self, data: &Data<'_>) {
        self.first_data.get_or_insert(data.entry.ts);
        self.last_data = Some(data.entry.ts);
        self.data_packets = data.data_packets;
        self.payload_bytes += u64::from(data.entry.payload_len);
        self.unique_bytes += data.unique_bytes;
        if !data.is_new() {
            self.count_repair(data.filed);
        } else if let Some(flight) = data.flight_size() {
            raise(&mut self.flight_max, flight);
            if let Some(rwnd) = data.known.and_then(|known| known.rwnd()) {
                raise(&mut self.rwnd_met, rwnd);
            }
        }
    }

    #[inline(always)]
    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.duplicate_acks += u64::from(ack.acked.duplicate);
        self.missed_bytes += ack.acked.missed_bytes;
        self.spurious_bytes += ack.acked.spurious_bytes;
        self.zero_window_events += u64::from(ack.window.closes);
        if let Some(rwnd) = ack.window.rwnd {
            raise(&mut self.rwnd_max, rwnd);
        }
    }

    #[inline(always)]
    fn on_loss(&mut self, _data: &Data<'_>) {
        self.loss_events += 1;
    }
}
