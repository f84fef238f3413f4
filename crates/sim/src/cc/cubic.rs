//! CUBIC by its RFC (RFC 9438), with HyStart++ (RFC 9406) in slow start as section 4.10 recommends.
//!
//! Read RFC 9438 section 4 first. Windows are in bytes where the RFC counts segments, times in
//! nanoseconds; all of it in integers, so that every machine computes the same window.

use super::hystart::{HyStart, Step};
use super::window::{Window, icbrt};
use super::{Ack, Controller, Path, Registration, Settings};
use tcpwhy_core::units::Nanos;

/// The registry's line.
pub const CUBIC_RFC9438: Registration = Registration {
    name: "cubic_rfc9438",
    summary: "CUBIC by its RFC, with HyStart++ in slow start",
    source: "RFC 9438, RFC 9406",
    new: |settings| Box::new(Cubic::new(settings)),
};

#[derive(Debug)]
struct Cubic {
    window: Window,
    /// `None` once slow start has been left for the first time: RFC 9406 section 4.3, "An
    /// implementation SHOULD use HyStart++ only for the initial slow start".
    hystart: Option<HyStart>,
    /// RFC 9438 section 4.1.2: "W_max: Size of cwnd in segments just before cwnd was reduced in the
    /// last congestion event when fast convergence is disabled".
    w_max: u64,
    /// "cwnd_prior: Size of cwnd in segments at the time of setting ssthresh most recently".
    cwnd_prior: u64,
    /// The current congestion avoidance stage; `None` until its first acknowledgement.
    epoch: Option<Epoch>,
    /// Section 4.8: after a timeout "K is set to 0, and W_max is set to the congestion window size
    /// at the beginning of the current congestion avoidance stage"; section 4.10 says the same of
    /// slow start left without a loss.
    starts_at_plateau: bool,
    /// Bytes by which cwnd is to grow, times cwnd: the part of a byte that division left.
    growth_remainder: u64,
    /// What to restore when a reduction was spurious (section 4.9).
    undo: Option<Undo>,
}

#[derive(Clone, Debug)]
struct Epoch {
    /// "t_epoch: The time in seconds at which the current congestion avoidance stage started".
    start: Nanos,
    /// "K: The time period in seconds it takes to increase the congestion window size at the
    /// beginning of the current congestion avoidance stage to W_max".
    k: Nanos,
    /// "W_est: An estimate for the congestion window in segments in the Reno-friendly region".
    w_est: u64,
    /// The part of W_est below a byte, times cwnd.
    w_est_remainder: u64,
    /// When the window was last updated: time in which it may not grow does not count.
    last_update: Nanos,
}

impl Epoch {
    /// Section 4.3, figure 4: "W_est = W_est + alpha_cubic * segments_acked / cwnd".
    fn advance_w_est(&mut self, ack: &Ack, cwnd: u64, cwnd_prior: u64) {
        // "Once W_est has grown to reach the cwnd at the time of most recently setting ssthresh --
        // that is, W_est >= cwnd_prior -- the sender SHOULD set alpha_cubic to 1".
        let (numerator, denominator) =
            if self.w_est >= cwnd_prior { (1, 1) } else { (ALPHA_NUMERATOR, ALPHA_DENOMINATOR) };
        let divisor = cwnd * denominator;
        let growth = numerator * ack.acked * ack.path.mss + self.w_est_remainder;
        self.w_est += growth / divisor;
        self.w_est_remainder = growth % divisor;
    }
}

#[derive(Clone, Debug)]
struct Undo {
    w_max: u64,
    cwnd_prior: u64,
    epoch: Option<Epoch>,
}

impl Cubic {
    fn new(settings: &Settings) -> Cubic {
        Cubic {
            window: Window::new(settings),
            hystart: Some(HyStart::new(settings.is_paced)),
            w_max: 0,
            cwnd_prior: 0,
            epoch: None,
            starts_at_plateau: true,
            growth_remainder: 0,
            undo: None,
        }
    }

    fn slow_start(&mut self, ack: &Ack) {
        let step = match &mut self.hystart {
            Some(hystart) => hystart.on_ack(ack),
            None => Step::Grow(ack.acked.min(ack.path.mss)),
        };
        match step {
            Step::Grow(bytes) => self.window.cwnd += bytes,
            Step::Exit => {
                self.window.ssthresh = self.window.cwnd;
                // Section 4.10: "CUBIC sets cwnd_prior = cwnd and switches to congestion
                // avoidance".
                self.cwnd_prior = self.window.cwnd;
                self.hystart = None;
                self.starts_at_plateau = true;
            }
        }
    }

    /// RFC 9438 section 4.2: on each ACK in congestion avoidance.
    fn congestion_avoidance(&mut self, ack: &Ack) {
        let (now, mss, cwnd) = (ack.path.now, ack.path.mss, self.window.cwnd);
        let cwnd_prior = self.cwnd_prior;
        let epoch = self.epoch_at(now, mss);
        epoch.last_update = now;
        epoch.advance_w_est(ack, cwnd, cwnd_prior);
        let t = now.since(epoch.start);
        let (k, w_est) = (epoch.k, epoch.w_est);
        let rtt = ack.path.srtt.unwrap_or(Nanos(0));
        if w_cubic(t, k, self.w_max, mss) < w_est {
            // Section 4.3: "cwnd SHOULD be set to W_est at each reception of a new ACK."
            self.window.cwnd = cwnd.max(w_est);
        } else {
            // "target = cwnd if W_cubic(t+RTT) < cwnd; 1.5*cwnd if W_cubic(t+RTT) > 1.5*cwnd;
            // W_cubic(t+RTT) otherwise".
            let target = w_cubic(t + rtt, k, self.w_max, mss).clamp(cwnd, cwnd + cwnd / 2);
            // "cwnd MUST be incremented by (target - cwnd) / cwnd" for each segment acknowledged.
            let growth = (target - cwnd) * ack.acked + self.growth_remainder;
            self.growth_remainder = growth % cwnd;
            self.window.cwnd += growth / cwnd;
        }
    }

    fn epoch_at(&mut self, now: Nanos, mss: u64) -> &mut Epoch {
        let cwnd = self.window.cwnd;
        if self.epoch.is_none() && (self.starts_at_plateau || self.w_max < cwnd) {
            self.w_max = cwnd;
            self.starts_at_plateau = false;
        }
        let w_max = self.w_max;
        self.epoch.get_or_insert_with(|| Epoch {
            start: now,
            k: k(w_max, cwnd, mss),
            // Section 4.3: "W_est is set equal to cwnd_epoch at the start of the congestion
            // avoidance stage."
            w_est: cwnd,
            w_est_remainder: 0,
            last_update: now,
        })
    }

    /// Section 4.6, multiplicative decrease, and 4.7, fast convergence.
    fn note_congestion(&mut self) {
        let cwnd = self.window.cwnd;
        self.undo =
            Some(Undo { w_max: self.w_max, cwnd_prior: self.cwnd_prior, epoch: self.epoch.take() });
        self.hystart = None;
        self.growth_remainder = 0;
        self.cwnd_prior = cwnd;
        self.starts_at_plateau = false;
        // "W_max = cwnd * (1 + beta_cubic) / 2 if cwnd < W_max and fast convergence is enabled;
        // further reduce W_max", else "W_max = cwnd; remember cwnd before reduction".
        self.w_max = if cwnd < self.w_max { cwnd * (10 + BETA_TENTHS) / 20 } else { cwnd };
    }
}

impl Controller for Cubic {
    fn on_ack(&mut self, ack: &Ack) {
        if !ack.path.is_cwnd_limited {
            // Section 5.8: the time in which the application leaves cwnd unused does not count.
            if let Some(epoch) = &mut self.epoch {
                epoch.start += ack.path.now.since(epoch.last_update);
                epoch.last_update = ack.path.now;
            }
            return;
        }
        if ack.acked == 0 || ack.path.in_recovery {
            return;
        }
        if self.window.in_slow_start() {
            self.slow_start(ack);
        } else {
            self.congestion_avoidance(ack);
        }
    }

    fn enter_recovery(&mut self, path: &Path) {
        self.note_congestion();
        self.window.reduce(path, BETA_TENTHS, 10);
    }

    /// Section 4.8: "CUBIC follows Reno to reduce cwnd but sets ssthresh using beta_cubic".
    fn on_rto(&mut self, path: &Path, is_first: bool) {
        if is_first {
            self.note_congestion();
        }
        self.starts_at_plateau = true;
        self.epoch = None;
        self.window.time_out(path, is_first, BETA_TENTHS, 10);
    }

    /// Section 3.1: ECN-Echo is a congestion event as a loss is.
    fn on_ecn(&mut self, path: &Path) {
        self.note_congestion();
        self.window.reduce_for_mark(path, BETA_TENTHS, 10);
    }

    /// Section 4.9: restore cwnd, ssthresh, W_max, K and the epoch.
    fn on_spurious(&mut self, _path: &Path) {
        if self.window.undo()
            && let Some(undo) = self.undo.take()
        {
            self.w_max = undo.w_max;
            self.cwnd_prior = undo.cwnd_prior;
            self.epoch = undo.epoch;
            self.starts_at_plateau = self.epoch.is_none();
        }
    }

    fn on_idle(&mut self, _path: &Path) {
        self.window.restart();
        self.epoch = None;
    }

    fn cwnd(&self) -> u64 {
        self.window.cwnd
    }

    fn ssthresh(&self) -> Option<u64> {
        self.window.finite_ssthresh()
    }

    fn in_slow_start(&self) -> bool {
        self.window.in_slow_start()
    }

    fn state_name(&self) -> &'static str {
        match (self.in_slow_start(), &self.hystart) {
            (true, Some(hystart)) if hystart.in_css() => "conservative_slow_start",
            (true, _) => "slow_start",
            (false, _) => "congestion_avoidance",
        }
    }
}

/// RFC 9438 section 4.2, figure 1: "W_cubic(t) = C*(t-K)^3 + W_max", in bytes.
fn w_cubic(t: Nanos, k: Nanos, w_max: u64, mss: u64) -> u64 {
    // In microseconds, as the cube of nanoseconds would leave no room for long epochs.
    let dt = i128::from((t - k).0 / 1_000);
    let delta = dt.pow(3) * i128::from(mss * C_TENTHS) / (10 * CUBIC_MICROSECONDS);
    u64::try_from((i128::from(w_max) + delta).max(i128::from(mss))).unwrap_or(u64::MAX / 4)
}

/// RFC 9438 section 4.2, figure 2: "K = cubic_root((W_max - cwnd_epoch) / C)".
pub(super) fn k(w_max: u64, cwnd_epoch: u64, mss: u64) -> Nanos {
    let gap = u128::from(w_max.saturating_sub(cwnd_epoch));
    let cube = gap * 10 * CUBIC_MICROSECONDS as u128 / u128::from(mss * C_TENTHS);
    Nanos::from_micros(icbrt(cube) as i64)
}

/// RFC 9438 section 5.1: "C SHOULD be set to 0.4", in tenths of a segment per second cubed.
const C_TENTHS: u64 = 4;
/// RFC 9438 section 4.6: "The parameter beta_cubic SHOULD be set to 0.7".
const BETA_TENTHS: u64 = 7;
/// RFC 9438 section 4.3: "alpha_cubic = 3 * (1 - beta_cubic) / (1 + beta_cubic)": 9/17.
const ALPHA_NUMERATOR: u64 = 9;
/// See [`ALPHA_NUMERATOR`].
const ALPHA_DENOMINATOR: u64 = 17;
/// Cubic microseconds in a cubic second.
const CUBIC_MICROSECONDS: i128 = 1_000_000_000_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    /// After a reduction from W_max to 0.7 W_max the cubic starts at the reduced window and is
    /// back at W_max after K: the shape that RFC 9438 section 4.2 describes.
    #[test]
    fn the_cubic_runs_from_the_reduced_window_through_w_max() {
        let mss = 1_000;
        for segments in [10u64, 100, 1_000, 100_000] {
            let (w_max, epoch) = (segments * mss, segments * mss * 7 / 10);
            let k = k(w_max, epoch, mss);
            let expected = (segments as f64 * 0.3 / 0.4).powf(1.0 / 3.0);
            assert!((k.as_secs_f64() - expected).abs() < 2e-6, "{k:?} {expected}");
            assert!(w_cubic(Nanos(0), k, w_max, mss).abs_diff(epoch) <= 1);
            assert_eq!(w_cubic(k, k, w_max, mss), w_max);
            assert!(w_cubic(k + k, k, w_max, mss).abs_diff(w_max + (w_max - epoch)) <= 1);
        }
    }
}
