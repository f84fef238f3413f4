//! Receiver window: how often the sender was close to the end of the window (Siekkinen et al. 2008).

use super::Evidence;

/// Share of new data segments sent with less than 3 MSS of the receiver window left.
pub fn score(evidence: &Evidence) -> Option<f64> {
    let sums = evidence.sums;
    (sums.rwnd_known > 0).then(|| sums.rwnd_limited as f64 / sums.rwnd_known as f64)
}
