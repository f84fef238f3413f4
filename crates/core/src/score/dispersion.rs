//! Dispersion: how much of the path's capacity the half leaves unused (Siekkinen et al. 2008).

use super::Evidence;

/// 1 - throughput / capacity, both in bit/s of IP packets: 0 when the narrow link is filled, 1 when
/// it is hardly used. Negative when the capacity was underestimated.
pub fn score(evidence: &Evidence) -> Option<f64> {
    let capacity = evidence.capacity_bps.filter(|&capacity| capacity > 0.0)?;
    Some(1.0 - evidence.sums.ip_rate_bps()? / capacity)
}
