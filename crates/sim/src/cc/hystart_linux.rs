//! HyStart as Linux has it. Slow start ends when a train of acknowledgements has become as long as
//! half the minimum round-trip time, or when the round-trip time has grown (Ha and Rhee, "Taming
//! the elephants: New TCP slow start", Computer Networks 55, 2011; `hystart_update` of Linux 6.x).

use super::Path;
use tcpwhy_core::units::Nanos;

/// The state of `hystart_update`.
#[derive(Debug)]
pub struct HyStart {
    is_paced: bool,
    /// The end of slow start was found; only a timeout makes it look anew.
    is_found: bool,
    /// SND.NXT when the round began: it ends when this is passed.
    round_end: u64,
    round_start: Nanos,
    /// When the last acknowledgement of the train came.
    last_ack: Nanos,
    /// Least of the first samples of the round.
    round_rtt: Nanos,
    samples: u32,
    delay_min: Option<Nanos>,
}

impl HyStart {
    /// At the start of the connection.
    pub fn new(is_paced: bool) -> HyStart {
        HyStart {
            is_paced,
            is_found: false,
            round_end: 0,
            round_start: Nanos(0),
            last_ack: Nanos(0),
            round_rtt: Nanos::MAX,
            samples: 0,
            delay_min: None,
        }
    }

    /// The least round-trip time since the last timeout.
    pub fn delay_min(&self) -> Option<Nanos> {
        self.delay_min
    }

    /// A timeout: everything anew.
    pub fn reset(&mut self, path: &Path) {
        *self = HyStart::new(self.is_paced);
        self.start_round(path);
    }

    /// A round-trip time was measured. Returns whether slow start is to end.
    pub fn on_sample(&mut self, path: &Path, cwnd: u64, rtt: Nanos, in_slow_start: bool) -> bool {
        let rtt = rtt.max(Nanos(1_000));
        let delay_min = self.delay_min.map_or(rtt, |min| min.min(rtt));
        self.delay_min = Some(delay_min);
        if self.is_found || !in_slow_start {
            return false;
        }
        if path.snd_una > self.round_end {
            self.start_round(path);
        }
        if cwnd < LOW_WINDOW_SEGMENTS * path.mss {
            return false;
        }
        self.is_found = self.has_long_train(path, cwnd, delay_min) | self.has_grown(rtt, delay_min);
        self.is_found
    }

    fn start_round(&mut self, path: &Path) {
        self.round_end = path.snd_nxt;
        self.round_start = path.now;
        self.last_ack = path.now;
        self.round_rtt = Nanos::MAX;
        self.samples = 0;
    }

    /// Acknowledgements that follow each other closely are one train; its length is the time that
    /// the window takes to pass the bottleneck.
    fn has_long_train(&mut self, path: &Path, cwnd: u64, delay_min: Nanos) -> bool {
        if path.now.since(self.last_ack) > TRAIN_GAP {
            return false;
        }
        self.last_ack = path.now;
        // Pacing spreads a window over half a round trip.
        let whole = delay_min + offload_delay(path, cwnd);
        let threshold = if self.is_paced { whole } else { Nanos(whole.0 / 2) };
        path.now.since(self.round_start) > threshold
    }

    fn has_grown(&mut self, rtt: Nanos, delay_min: Nanos) -> bool {
        self.round_rtt = self.round_rtt.min(rtt);
        if self.samples < SAMPLES {
            self.samples += 1;
            return false;
        }
        let rise = Nanos(delay_min.0 / 8).clamp(RISE_MIN, RISE_MAX);
        self.round_rtt > delay_min + rise
    }
}

/// `hystart_ack_delay`: how long segmentation offload may hold acknowledgements together: four
/// bursts of 64 KiB at twice the window per round trip, at most 1 ms.
fn offload_delay(path: &Path, cwnd: u64) -> Nanos {
    let srtt = path.srtt.unwrap_or(Nanos(0)).0 as u64;
    // Echoes that nobody sent measure weeks.
    let volume = srtt.saturating_mul(4 * 65_536);
    Nanos((volume / (2 * cwnd).max(1)) as i64).min(Nanos::MILLISECOND)
}

/// `hystart_low_window`.
const LOW_WINDOW_SEGMENTS: u64 = 16;
/// `hystart_ack_delta_us`.
const TRAIN_GAP: Nanos = Nanos::from_millis(2);
/// `HYSTART_MIN_SAMPLES`.
const SAMPLES: u32 = 8;
/// `HYSTART_DELAY_MIN`.
const RISE_MIN: Nanos = Nanos::from_millis(4);
/// `HYSTART_DELAY_MAX`.
const RISE_MAX: Nanos = Nanos::from_millis(16);

#[cfg(test)]
mod tests {
    use super::*;

    fn path(now_us: i64, snd_una: u64) -> Path {
        let srtt = Some(Nanos::from_millis(40));
        let now = Nanos::from_micros(now_us);
        Path { now, mss: 1_000, snd_una, snd_nxt: 1_000_000, srtt, ..Path::default() }
    }

    const RTT: Nanos = Nanos::from_millis(40);

    #[test]
    fn a_train_longer_than_half_the_round_trip_ends_slow_start() {
        let mut hystart = HyStart::new(false);
        let mut end = None;
        for i in 0..60 {
            let found = hystart.on_sample(&path(i * 500, 1 + i as u64), 100_000, RTT, true);
            end = end.or(found.then_some(i * 500));
        }
        // Half of 40 ms and of 1 ms.
        assert_eq!(end, Some(21_000));
    }

    #[test]
    fn gaps_end_the_train() {
        let mut hystart = HyStart::new(false);
        let found = (0..60).any(|i| hystart.on_sample(&path(i * 2_500, 1), 100_000, RTT, true));
        assert!(!found);
    }

    #[test]
    fn a_longer_round_trip_ends_slow_start_after_eight_samples() {
        let mut hystart = HyStart::new(false);
        assert!(!hystart.on_sample(&path(0, 1), 100_000, RTT, true));
        let longer = RTT + Nanos::from_millis(6);
        let mut after = 0;
        for i in 1..20 {
            // The next round.
            let next = Path { snd_nxt: 2_000_000, ..path(i * 3_000, 1_000_001) };
            after += 1;
            if hystart.on_sample(&next, 100_000, longer, true) {
                break;
            }
        }
        assert_eq!(after, 9);
        assert!(!hystart.on_sample(&path(99_000, 9), 100_000, longer, true), "found once");
    }

    #[test]
    fn small_windows_are_left_alone() {
        let mut hystart = HyStart::new(false);
        assert!(!(0..60).any(|i| hystart.on_sample(&path(i * 500, 1), 15_000, RTT, true)));
    }
}
