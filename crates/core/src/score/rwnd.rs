//! Receiver window: how often the sender was close to the end of the window (Siekkinen et al.
//! 2008).

use super::Evidence;
use crate::flow::time::clock::WaitReason;

/// Share of new data segments sent with less than 3 MSS of the receiver window left.
pub fn score(evidence: &Evidence) -> Option<f64> {
    let sums = evidence.sums;
    (sums.rwnd_known > 0).then(|| sums.rwnd_limited as f64 / sums.rwnd_known as f64)
}

/// Share of the time from the first to the last data segment in which the window left no room for a
/// full segment. A receiver that closes its window for long is seen here, not by the packet.
pub fn by_time(evidence: &Evidence) -> Option<f64> {
    let sums = evidence.sums;
    let span = sums.span().0 as f64;
    let blocked = sums.stats.as_ref().map_or(0, |stats| stats.times.of(WaitReason::Receiver));
    let known = sums.rwnd_known > 0 || blocked > 0;
    (known && span > 0.0).then(|| (blocked as f64 / span).min(1.0))
}
