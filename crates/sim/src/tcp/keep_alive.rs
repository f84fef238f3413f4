//! Keep-alive probes (RFC 9293 section 3.8.4): is the peer still there?

use super::Connection;
use super::config::KeepAlive;
use tcpwhy_core::units::Nanos;

/// The keep-alive timer.
#[derive(Debug)]
pub struct KeepAliveTimer {
    next: Nanos,
    unanswered: u32,
    is_due: bool,
}

impl Default for KeepAliveTimer {
    fn default() -> KeepAliveTimer {
        KeepAliveTimer { next: Nanos::MAX, unanswered: 0, is_due: false }
    }
}

impl KeepAliveTimer {
    /// The connection is established.
    pub fn start(&mut self, now: Nanos, config: Option<KeepAlive>) {
        if let Some(config) = config {
            self.next = now + config.idle;
        }
    }

    /// Something arrived.
    pub fn on_segment(&mut self, now: Nanos, config: Option<KeepAlive>) {
        self.unanswered = 0;
        if self.next != Nanos::MAX {
            self.start(now, config);
        }
    }

    /// No more probes.
    pub fn stop(&mut self) {
        *self = KeepAliveTimer::default();
    }

    /// When it expires.
    pub fn next(&self) -> Nanos {
        self.next
    }

    /// Whether a probe is to leave; it then has left.
    pub fn take_probe(&mut self) -> bool {
        std::mem::take(&mut self.is_due)
    }
}

impl Connection {
    /// The keep-alive timer may have expired: probe, or give up.
    pub(super) fn keep_alive_timer(&mut self, now: Nanos) {
        let Some(config) = self.config.keep_alive.filter(|_| self.keep_alive.next <= now) else {
            return;
        };
        if self.keep_alive.unanswered >= config.count {
            self.abort(now);
            return;
        }
        self.keep_alive.unanswered += 1;
        self.keep_alive.is_due = true;
        self.keep_alive.next = now + config.interval;
    }
}
