//! Super-segments: new segments that leave together, and the PSH at the end of each.
//!
//! With segmentation offload a host hands several segments to its network card at once. Linux sets
//! PSH on the last of them since version 5.4 (`tcp_transmit_skb`: "if (tcp_skb_pcount(skb) > 1)"),
//! so that receivers with GRO do not wait for more.

use tcpwhy_core::units::Nanos;

/// The super-segment that is being sent.
#[derive(Clone, Copy, Debug, Default)]
pub struct SuperSegment {
    /// When it leaves.
    at: Nanos,
    /// Segments of it that have left.
    segments: u64,
}

impl SuperSegment {
    /// A new segment left at `now`. Returns whether it is the last of several: `most` go together,
    /// and `goes_on` says that another one follows at once.
    pub fn on_sent(&mut self, now: Nanos, most: u64, goes_on: bool) -> bool {
        let earlier = if self.at == now { self.segments } else { 0 };
        let segments = earlier + 1;
        let is_end = segments >= most || !goes_on;
        *self = SuperSegment { at: now, segments: if is_end { 0 } else { segments } };
        is_end && segments > 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_super_segment_of_several_has_an_end() {
        let mut sent = SuperSegment::default();
        let mut ends = |ms, goes_on| sent.on_sent(Nanos::from_millis(ms), 3, goes_on);
        assert_eq!([1, 1, 1, 1, 1].map(|ms| ends(ms, true)), [false, false, true, false, false]);
        assert!(!ends(2, false), "alone");
        assert_eq!([3, 3].map(|ms| ends(ms, ms > 3)), [false, false]);
        assert!(!ends(4, true));
        assert!(ends(4, false));
    }
}
