//! Whether the round-trip samples show a queue.

use crate::units::Nanos;

/// The newest samples that hold the queue of the path, and how many were raised.
#[derive(Clone, Copy, Debug, Default)]
pub struct QueueSense {
    newest: [Option<Nanos>; 2],
    mean: Option<Nanos>,
    samples: u32,
    raised: u32,
}

impl QueueSense {
    /// Takes a sample; `raised` tells whether it shows a queue.
    #[inline]
    pub fn on_round_trip(&mut self, rtt: Nanos, raised: bool) {
        self.newest = [Some(rtt), self.newest[0]];
        let mean = self.mean.get_or_insert(rtt);
        *mean = Nanos(mean.0 + (rtt.0 - mean.0) / MEMORY);
        self.samples += 1;
        self.raised += u32::from(raised);
    }

    /// The lesser of the last two samples: one alone may be an accident.
    pub fn lately(&self) -> Option<Nanos> {
        match self.newest {
            [Some(a), Some(b)] => Some(a.min(b)),
            [a, _] => a,
        }
    }

    /// Whether a sample is above the smoothed ones.
    pub fn is_high(&self, rtt: Nanos) -> bool {
        self.mean.is_some_and(|mean| rtt > mean)
    }

    /// Whether at least the share `least` of the samples was raised; so it is taken to be with too
    /// few of them, since a queue may have been missed.
    pub fn stands_now_and_then(&self, least: f64) -> bool {
        self.samples < FEWEST_SAMPLES || f64::from(self.raised) >= least * f64::from(self.samples)
    }
}

/// Samples over which they are smoothed.
const MEMORY: i64 = 32;
/// Round-trip samples below which a queue may have been missed.
const FEWEST_SAMPLES: u32 = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_is_missed_only_after_enough_samples() {
        let mut sense = QueueSense::default();
        for n in 0..40 {
            assert_eq!(sense.stands_now_and_then(0.1), n < 20, "{n} samples");
            sense.on_round_trip(Nanos(1_000 + n), false);
        }
        assert_eq!(sense.lately(), Some(Nanos(1_038)));
        assert!(sense.is_high(Nanos(1_039)) && !sense.is_high(Nanos(1_000)));
    }
}
