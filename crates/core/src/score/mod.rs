//! Scores: each says of a span how much one limitation shows, or that it cannot tell. A score is a
//! file and a row here: the row makes its column.

mod burstiness;
mod dispersion;
mod retransmission;
mod rwnd;

use crate::columns;
use crate::flow::loss::seed::SeedCount;
use crate::flow::time::gaps::Gaps;
use crate::flow::time::sums::Sums;

/// What a score may look at.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// Sums over the span.
    pub sums: &'a Sums,
    /// Gaps between new data segments.
    pub gaps: Option<&'a Gaps>,
    /// Capacity of the path in bit/s of IP packets.
    pub capacity_bps: Option<f64>,
    /// Payload bytes of a full segment.
    pub mss_bytes: u32,
    /// IP and TCP header bytes of a full segment.
    pub headers_bytes: u32,
    /// What the published prototype counted; with --compat seed.
    pub prototype: Option<&'a SeedCount>,
}

/// Declares the scores: the column of each, and the function that fills it.
macro_rules! scores {
    ($($(#[doc = $doc:literal])+ $column:ident = $file:ident::$score:ident,)+) => {
        columns! {
            /// How much each limitation shows; NULL where the evidence does not suffice. Shared by
            /// `flows`, `intervals` and `periods`.
            #[derive(Clone, Copy, Debug, Default, PartialEq)]
            pub struct Scores / ScoresBuilder {
                $($(#[doc = $doc])+ $column: Option<f64>,)+
            }
        }

        impl Scores {
            /// All scores of a span.
            pub fn of(evidence: &Evidence) -> Scores {
                Scores { $($column: $file::$score(evidence),)+ }
            }
        }
    };
}

scores! {
    /// 1 - throughput / capacity (Siekkinen et al. 2008).
    dispersion_score = dispersion::score,
    /// Bytes sent again / bytes sent.
    retransmission_score = retransmission::score,
    /// Share of data packets sent within 3 MSS of the receiver window.
    rwnd_score = rwnd::score,
    /// Share of the time in which the receiver window left no room for a full segment.
    rwnd_time_score = rwnd::by_time,
    /// 1 - (window in packets - 1) * MSS / (capacity * RTT).
    burstiness_score = burstiness::score,
    /// Mean of the largest inter-arrival times / RTT: burstiness as measured.
    burstiness_measured = burstiness::measured,
    /// Burstiness as the published prototype computed it, window in bits; with --compat seed.
    burstiness_seed = burstiness::seed,
    /// Retransmission as the published prototype computed it; with --compat seed.
    retransmission_seed = retransmission::seed,
}

#[cfg(test)]
mod tests;
