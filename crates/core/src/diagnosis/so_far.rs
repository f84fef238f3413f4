//! What is known of a half from its begin to the end of the interval that is judged.

use crate::flow::half::Half;
use crate::flow::path::capacity::Capacity;
use crate::units::{BitRate, Nanos};

/// Counts and rates since the begin.
#[derive(Clone, Copy, Debug, Default)]
pub struct SoFar {
    /// Time since its first data in s.
    pub age_s: f64,
    /// The rate of packet pairs in bit/s of IP packets, credible or not.
    pub pairs_bps: Option<f64>,
    /// A lower bound of it.
    pub pairs_lower_bps: Option<f64>,
    /// Shares of the pairs: near that rate,
    pub pairs_near: f64,
    /// of these, very near,
    pub pairs_sharp: f64,
    /// and faster;
    pub pairs_faster: f64,
    /// of all, those that are faster without making up for a late packet.
    pub pairs_ahead: f64,
    /// The highest rate at which data was acknowledged, bit/s of payload.
    pub delivered_bps: Option<f64>,
    /// Goodput in bit/s.
    pub goodput_bps: Option<f64>,
    /// Mean round-trip time in s.
    pub rtt_mean_s: Option<f64>,
    /// Largest round-trip time in s.
    pub rtt_max_s: Option<f64>,
    /// Bytes lost over bytes sent.
    pub loss_ratio: f64,
    /// Data segments.
    pub packets: u64,
    /// Loss episodes.
    pub losses: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Segments that came late.
    pub reordered: u64,
    /// Duplicate acknowledgements.
    pub duplicate_acks: u64,
    /// Times the receiver closed its window.
    pub closures: u64,
    /// Largest flight in bytes.
    pub flight_max: Option<u64>,
    /// Segments are joined by offload.
    pub super_packets: bool,
}

impl SoFar {
    /// Of a half whose packet pairs gave `pairs`.
    pub fn of(half: &Half, pairs: Option<&Capacity>) -> SoFar {
        let totals = &half.totals;
        let span = totals.data_span();
        let lost = totals.retransmitted_bytes.saturating_sub(totals.spurious_bytes);
        let support = pairs.map(|pairs| pairs.support).unwrap_or_default();
        SoFar {
            age_s: span.as_secs_f64(),
            pairs_bps: pairs.and_then(|pairs| pairs.bps),
            pairs_lower_bps: pairs.and_then(|pairs| pairs.lower_bps),
            pairs_near: support.near,
            pairs_sharp: support.sharp,
            pairs_faster: support.faster,
            pairs_ahead: support.ahead,
            delivered_bps: half.delivered_most_bps(),
            goodput_bps: BitRate::of(totals.unique_bytes, span).map(|rate| rate.0),
            rtt_mean_s: half.rtt.mean().map(Nanos::as_secs_f64),
            rtt_max_s: half.rtt.max.map(Nanos::as_secs_f64),
            loss_ratio: lost as f64 / totals.payload_bytes.max(1) as f64,
            packets: totals.data_packets,
            losses: totals.loss_events,
            timeouts: totals.rto_events,
            reordered: totals.reordered_packets,
            duplicate_acks: totals.duplicate_acks,
            closures: totals.zero_window_events,
            flight_max: totals.flight_max,
            super_packets: half.mss.super_packets,
        }
    }
}
