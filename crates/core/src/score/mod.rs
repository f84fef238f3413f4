//! Scores: each says of a stretch of a half how much one limitation shows, or that it cannot tell.

mod burstiness;
mod dispersion;
mod retransmission;
mod rwnd;

use crate::flow::time::gaps::Gaps;
use crate::flow::time::sums::Sums;

/// What a score may look at.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// Sums over the stretch.
    pub sums: &'a Sums,
    /// Gaps between new data segments.
    pub gaps: Option<&'a Gaps>,
    /// Capacity of the path in bit/s of IP packets.
    pub capacity_bps: Option<f64>,
    /// Payload bytes of a full segment.
    pub mss_bytes: u32,
    /// IP and TCP header bytes of a full segment.
    pub headers_bytes: u32,
}

/// The scores of a stretch. `None` where the evidence does not suffice.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scores {
    /// 1 - throughput / capacity.
    pub dispersion: Option<f64>,
    /// Bytes sent again / bytes sent.
    pub retransmission: Option<f64>,
    /// Share of segments sent near the end of the receiver window.
    pub rwnd: Option<f64>,
    /// Share of the time in which the receiver window was full.
    pub rwnd_time: Option<f64>,
    /// Burstiness in theory, from window, capacity and RTT.
    pub burstiness: Option<f64>,
    /// Burstiness as measured, from the largest gaps.
    pub burstiness_measured: Option<f64>,
    /// Burstiness as the published prototype computed it.
    pub burstiness_seed: Option<f64>,
}

impl Scores {
    /// All scores of a stretch.
    pub fn of(evidence: &Evidence) -> Scores {
        Scores {
            dispersion: dispersion::score(evidence),
            retransmission: retransmission::score(evidence),
            rwnd: rwnd::score(evidence),
            rwnd_time: rwnd::by_time(evidence),
            burstiness: burstiness::score(evidence),
            burstiness_measured: burstiness::measured(evidence),
            burstiness_seed: burstiness::seed(evidence),
        }
    }
}

#[cfg(test)]
mod tests;
