//! What a span of a half adds up to: the raw material of every score.

use crate::flow::time::gaps::{Gaps, PackedGaps};
use crate::flow::time::interval_stats::IntervalStats;
use crate::maybe::Maybe;
use crate::units::Nanos;

/// Sums over the data segments of a window or a period. Two spans can be added.
#[derive(Clone, Debug, Default)]
pub struct Sums {
    /// First data segment.
    pub first: Maybe<Nanos>,
    /// Last data segment.
    pub last: Maybe<Nanos>,
    /// Segments with payload; super-packets count as the packets they stand for.
    pub data_packets: u64,
    /// Payload bytes seen for the first time.
    pub unique_bytes: u64,
    /// Payload bytes, retransmissions included.
    pub payload_bytes: u64,
    /// Payload bytes that others between the same hosts sent the same way meanwhile.
    pub others_bytes: u64,
    /// Payload bytes sent again.
    pub retransmitted_bytes: u64,
    /// Of those, bytes that proved unneeded.
    pub spurious_bytes: u64,
    /// IP bytes of new data.
    pub ip_bytes: u64,
    /// Of those, the bytes of the first segment: a rate has one gap fewer than segments.
    pub first_ip_bytes: u64,
    /// New data segments of which the sender's window was known.
    pub rwnd_known: u64,
    /// Of those, segments sent within 3 MSS of the window's end.
    pub rwnd_limited: u64,
    /// Sum of the windows at those segments in bytes.
    pub rwnd_sum: f64,
    /// Smallest window.
    pub rwnd_min: Maybe<u64>,
    /// Largest window, 0 if none is known.
    pub rwnd_max: u64,
    /// By how much one was smaller than the largest before it.
    pub rwnd_fall: u64,
    /// Largest flight size.
    pub flight_max: Maybe<u64>,
    /// Round-trip samples, and their sum.
    pub rtt_samples: u64,
    /// Sum of the round-trip samples in ns.
    pub rtt_sum_ns: u64,
    /// Loss episodes.
    pub loss_events: u64,
    /// Statistics of what held the sender back; made with the first of them.
    pub stats: Option<Box<IntervalStats>>,
}

impl Sums {
    /// Adds the sums of a later span.
    pub fn merge(&mut self, later: &Sums) {
        if !self.first.is_known() {
            self.first = later.first;
            self.first_ip_bytes = later.first_ip_bytes;
        }
        self.last = later.last.or(self.last);
        self.data_packets += later.data_packets;
        self.unique_bytes += later.unique_bytes;
        self.payload_bytes += later.payload_bytes;
        self.others_bytes += later.others_bytes;
        self.retransmitted_bytes += later.retransmitted_bytes;
        self.spurious_bytes += later.spurious_bytes;
        self.ip_bytes += later.ip_bytes;
        self.rwnd_known += later.rwnd_known;
        self.rwnd_limited += later.rwnd_limited;
        self.rwnd_sum += later.rwnd_sum;
        if let Some(least) = later.rwnd_min.get() {
            self.add_windows(least, later.rwnd_max, later.rwnd_fall);
        }
        self.flight_max = self.flight_max.max(later.flight_max);
        self.rtt_samples += later.rtt_samples;
        self.rtt_sum_ns += later.rtt_sum_ns;
        self.loss_events += later.loss_events;
        match (&mut self.stats, &later.stats) {
            (Some(mine), Some(theirs)) => mine.merge(theirs),
            (None, theirs) => self.stats = theirs.clone(),
            (_, None) => {}
        }
    }

    /// The statistics, to be added to.
    #[inline]
    pub fn stats_mut(&mut self) -> &mut IntervalStats {
        self.stats.get_or_insert_default()
    }

    /// Time from the first to the last data segment.
    pub fn span(&self) -> Nanos {
        match (self.first.get(), self.last.get()) {
            (Some(first), Some(last)) => last.since(first),
            _ => Nanos(0),
        }
    }

    /// Share of the others in all that was sent between the same hosts.
    pub fn others_share(&self) -> f64 {
        let all = (self.payload_bytes + self.others_bytes).max(1);
        self.others_bytes as f64 / all as f64
    }

    /// Mean round-trip time.
    pub fn rtt_mean(&self) -> Option<Nanos> {
        let mean = self.rtt_sum_ns.checked_div(self.rtt_samples)?;
        Nanos(mean as i64).resolved()
    }

    /// Adds windows of later segments: the least of them, the largest, and how far they fell.
    pub fn add_windows(&mut self, least: u64, most: u64, fall: u64) {
        self.rwnd_fall = self.rwnd_fall.max(fall).max(self.rwnd_max.saturating_sub(least));
        self.rwnd_max = self.rwnd_max.max(most);
        self.rwnd_min = self.rwnd_min.min(least.into());
    }

    /// Mean receiver window in bytes.
    pub fn rwnd_mean(&self) -> Option<f64> {
        (self.rwnd_known > 0).then(|| self.rwnd_sum / self.rwnd_known as f64)
    }

    /// Bit/s of IP packets with new data, first to last segment.
    pub fn ip_rate_bps(&self) -> Option<f64> {
        let span = self.span();
        let bytes = self.ip_bytes.saturating_sub(self.first_ip_bytes);
        (span.0 > 0).then(|| bytes as f64 * 8e9 / span.0 as f64)
    }
}

/// Sums with the gaps between their segments.
#[derive(Clone, Debug, Default)]
pub struct Window {
    /// The sums.
    pub sums: Sums,
    /// Gaps between new data segments, without those of recovery; made with the first gap.
    pub gaps: Option<Box<Gaps>>,
}

impl Window {
    /// Adds one gap.
    #[inline]
    pub fn gap(&mut self, gap: Nanos) {
        self.gaps.get_or_insert_default().add(gap);
    }

    /// Moves what `later` holds to the end of this one, and empties it.
    pub fn take(&mut self, later: &mut Window) {
        if self.sums.stats.is_none() {
            self.sums.stats = later.sums.stats.take();
        }
        self.sums.merge(&later.sums);
        later.sums = Sums::default();
        match (&mut self.gaps, &mut later.gaps) {
            (Some(mine), Some(theirs)) => {
                mine.merge(theirs);
                later.gaps = None;
            }
            (None, theirs) => self.gaps = theirs.take(),
            (_, None) => {}
        }
    }

    /// The gaps packed, for keeping.
    pub fn packed(&self) -> PackedGaps {
        self.gaps.as_ref().map(|gaps| gaps.pack()).unwrap_or_default()
    }
}
