//! What the window-based controllers share: cwnd, ssthresh, and how to take a reduction back.

use super::{Path, Settings};

/// cwnd and ssthresh of a loss-based controller.
#[derive(Clone, Debug)]
pub struct Window {
    /// Congestion window in bytes.
    pub cwnd: u64,
    /// Slow start threshold in bytes, `u64::MAX` while infinite.
    ///
    /// RFC 5681 section 3.1: "The initial value of ssthresh SHOULD be set arbitrarily high".
    pub ssthresh: u64,
    /// RFC 5681 section 4.1: "RW = min(IW,cwnd)".
    pub initial_window: u64,
    /// cwnd and ssthresh before the last reduction.
    prior: Option<(u64, u64)>,
}

impl Window {
    /// The window at the start of a connection.
    pub fn new(settings: &Settings) -> Window {
        Window {
            cwnd: settings.initial_window,
            ssthresh: settings.initial_ssthresh.unwrap_or(u64::MAX),
            initial_window: settings.initial_window,
            prior: None,
        }
    }

    /// Whether slow start is to be used: below ssthresh (RFC 5681 section 3.1).
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// ssthresh as the trait shows it.
    pub fn finite_ssthresh(&self) -> Option<u64> {
        (self.ssthresh != u64::MAX).then_some(self.ssthresh)
    }

    /// A congestion event: cwnd and ssthresh become FlightSize times `numerator / denominator`.
    ///
    /// RFC 5681 section 3.1, equation 4: "ssthresh = max (FlightSize / 2, 2*SMSS)".
    pub fn reduce(&mut self, path: &Path, numerator: u64, denominator: u64) {
        self.remember();
        self.ssthresh = (path.flight_size * numerator / denominator).max(2 * path.mss);
        self.cwnd = self.ssthresh;
    }

    /// A congestion event as Linux counts it: a part of cwnd in whole segments, at least two
    /// (`tcp_reno_ssthresh`, `cubictcp_recalc_ssthresh`), not of FlightSize. RFC 9438 section 4.6
    /// allows both.
    pub fn reduce_cwnd(&mut self, path: &Path, numerator: u64, denominator: u64) {
        self.remember();
        let segments = self.cwnd / path.mss * numerator / denominator;
        self.ssthresh = segments.max(2) * path.mss;
        self.cwnd = self.ssthresh;
    }

    /// A retransmission timeout as Linux answers it (`tcp_enter_loss`): no second reduction within
    /// a recovery, and one segment beyond what RACK does not deem lost.
    pub fn time_out_cwnd(&mut self, path: &Path, is_first: bool, numerator: u64, denominator: u64) {
        if is_first && !path.in_recovery {
            self.reduce_cwnd(path, numerator, denominator);
        }
        self.cwnd = path.pipe / path.mss * path.mss + path.mss;
    }

    /// As [`Window::reduce`] for a congestion mark: cwnd may fall to one segment (RFC 9438 section
    /// 4.6: "reduction on ECE, cwnd is at least 1 MSS").
    pub fn reduce_for_mark(&mut self, path: &Path, numerator: u64, denominator: u64) {
        self.reduce(path, numerator, denominator);
        self.cwnd = (path.flight_size * numerator / denominator).max(path.mss);
    }

    /// A retransmission timeout: as [`Window::reduce`], but cwnd falls to the loss window.
    ///
    /// RFC 5681 section 3.1: "cwnd MUST be set to no more than the loss window, LW, which equals 1
    /// full-sized segment", and, for a segment that timed out before, "the value of ssthresh is
    /// held constant".
    pub fn time_out(&mut self, path: &Path, is_first: bool, numerator: u64, denominator: u64) {
        if is_first {
            self.reduce(path, numerator, denominator);
        }
        self.cwnd = path.mss;
    }

    /// RFC 5681 section 4.1, restarting after an idle time longer than the timeout.
    pub fn restart(&mut self) {
        self.cwnd = self.cwnd.min(self.initial_window);
    }

    /// Restarting as Linux does (`tcp_cwnd_restart`, RFC 2861): cwnd halves with every timeout that
    /// the idle time lasted, down to the initial window, and ssthresh remembers three quarters of
    /// it.
    pub fn decay(&mut self, path: &Path) {
        if self.ssthresh != u64::MAX {
            self.ssthresh = self.ssthresh.max(self.cwnd / 4 * 3);
        }
        let least = self.initial_window.min(self.cwnd);
        let halved = (self.cwnd / path.mss) >> path.idle_timeouts.clamp(0, 63);
        self.cwnd = (halved * path.mss).max(least);
    }

    /// `tcp_slow_start`: cwnd grows by what was delivered, up to ssthresh. Returns what is left of
    /// it for congestion avoidance.
    pub fn grow_to_ssthresh(&mut self, delivered: u64) -> u64 {
        let grown = (self.cwnd + delivered).min(self.ssthresh);
        let left = delivered - (grown - self.cwnd);
        self.cwnd = grown;
        left
    }

    /// Takes the last reduction back. Returns whether there was one.
    pub fn undo(&mut self) -> bool {
        let Some((cwnd, ssthresh)) = self.prior.take() else { return false };
        self.cwnd = self.cwnd.max(cwnd);
        self.ssthresh = self.ssthresh.max(ssthresh);
        true
    }

    fn remember(&mut self) {
        self.prior = Some((self.cwnd, self.ssthresh));
    }
}

/// The integer cube root, rounded down. Floating point is avoided because `cbrt` differs between
/// platforms in its last digit.
pub fn icbrt(x: u128) -> u128 {
    let mut root: u128 = 0;
    // Digit by digit in base 2, from the highest possible digit of the root.
    for bit in (0..=(u128::BITS - 1 - x.max(1).leading_zeros()) / 3).rev() {
        let candidate = root | 1 << bit;
        if candidate.checked_pow(3).is_some_and(|cube| cube <= x) {
            root = candidate;
        }
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cube_roots_are_exact() {
        for root in (0..2_000u128).chain([10_000_019, 5_000_000_000_000]) {
            assert_eq!(icbrt(root.pow(3)), root);
            assert_eq!(icbrt(root.pow(3) + 3 * root), root);
            assert_eq!(icbrt((root + 1).pow(3) - 1), root);
        }
        assert_eq!(icbrt(u128::MAX), 6_981_463_658_331);
    }
}
