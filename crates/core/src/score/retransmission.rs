//! Retransmission: the share of the sent bytes that were sent again (Siekkinen et al. 2008).

use super::Evidence;

/// Bytes sent again, without those that proved unneeded, over all payload bytes. Within 0 to 1.
pub fn score(evidence: &Evidence) -> Option<f64> {
    let sums = evidence.sums;
    let again = sums.retransmitted_bytes.saturating_sub(sums.spurious_bytes);
    // A capture behind the loss sees only the second copy: it counts as unique and as sent again.
    let sent = sums.payload_bytes.max(sums.unique_bytes);
    (sent > 0).then(|| (again as f64 / sent as f64).min(1.0))
}

/// As the prototype of 2020 computed it: by sequence numbers, since the begin of the direction.
pub fn seed(evidence: &Evidence) -> Option<f64> {
    evidence.prototype?.retransmission_score()
}
