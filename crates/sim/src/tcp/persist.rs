//! Probing a closed window (RFC 9293 section 3.8.6.1), and sending less than a segment when the
//! window has stayed small (section 3.8.6.2.1).

use super::send::Blocked;
use super::sender::Sender;
use tcpwhy_core::units::Nanos;

impl Sender {
    /// The probe timer runs while data waits for a window that nothing outstanding will open.
    pub(super) fn schedule_window_probe(&mut self, now: Nanos, blocked: Blocked) {
        if blocked != Blocked::Window || self.board.flight_size() > 0 {
            self.timers.persist = Nanos::MAX;
        } else if self.timers.persist == Nanos::MAX {
            // "SHOULD increase exponentially the interval between successive probes" (SHLD-30).
            let doublings = self.window_probes.min(MAX_DOUBLINGS);
            let interval = Nanos(self.rto.timeout().0.saturating_mul(1 << doublings));
            self.timers.persist = now + interval.min(self.config.rto.max);
        }
    }

    /// The probe timer expired.
    pub(super) fn on_persist_timeout(&mut self) {
        self.timers.persist = Nanos::MAX;
        self.window_probes += 1;
        self.window_probe_pending = true;
    }
}

/// More doublings than any bound on the interval lets take effect.
const MAX_DOUBLINGS: u32 = 16;
