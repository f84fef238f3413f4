//! Burstiness: whether a window leaves in one burst a round trip, or spread over it.

use super::Evidence;

/// In theory: 1 - (n - 1) t / RTT with n the mean window in packets and t the time of a packet at
/// the capacity. It is what a sender held back by the window alone would show (Siekkinen et al.
/// 2008; the window counts in packets (algorithms 7)). At most 1.
pub fn score(evidence: &Evidence) -> Option<f64> {
    let packets = evidence.sums.rwnd_mean()? / f64::from(evidence.mss_bytes);
    if packets < FEWEST_PACKETS {
        return None;
    }
    let (capacity, rtt) = capacity_and_rtt(evidence)?;
    let packet_bits = f64::from(evidence.mss_bytes + evidence.headers_bytes) * 8.0;
    Some(1.0 - (packets - 1.0) * packet_bits / capacity / rtt)
}

/// As measured: the mean of the largest gaps, one a window, over the round-trip time. One burst a
/// round trip gives what theory says, an evenly spread window 1/n.
pub fn measured(evidence: &Evidence) -> Option<f64> {
    let packets = evidence.sums.rwnd_mean()? / f64::from(evidence.mss_bytes);
    let rtt = evidence.sums.rtt_mean()?.as_secs_f64();
    let gaps = evidence.gaps?;
    let count = f64::from(gaps.len());
    if packets < FEWEST_PACKETS || count < 4.0 * packets || rtt <= 0.0 {
        return None;
    }
    let largest = gaps.mean_of_largest((count / packets).ceil() as u32)?;
    Some(largest.as_secs_f64() / rtt)
}

/// As the prototype of 2020 computed it: the window in bits where packets belong. Only for
/// comparing with the published distribution, which it explains (range -1e7 to 1).
pub fn seed(evidence: &Evidence) -> Option<f64> {
    evidence.prototype?;
    let window_bits = evidence.sums.rwnd_mean()? * 8.0;
    let (capacity, rtt) = capacity_and_rtt(evidence)?;
    let mss_bits = f64::from(evidence.mss_bytes) * 8.0;
    Some(1.0 - (window_bits - 1.0) * mss_bits / capacity / rtt)
}

fn capacity_and_rtt(evidence: &Evidence) -> Option<(f64, f64)> {
    let capacity = evidence.capacity_bps.filter(|&capacity| capacity > 0.0)?;
    let rtt = evidence.sums.rtt_mean()?.as_secs_f64();
    (rtt > 0.0).then_some((capacity, rtt))
}

/// A window of fewer packets has no shape.
const FEWEST_PACKETS: f64 = 2.0;
