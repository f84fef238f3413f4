//! A send window that nothing changes: the initial window for good. Some appliances and some
//! UDP-like senders have it; it is the window of Stevens's first figures.

use super::{Controller, Registration};

/// The registry's line.
pub const FIXED: Registration = Registration {
    name: "fixed",
    summary: "the initial window for good, whatever is lost",
    source: "RFC 9293 without RFC 5681",
    new: |settings| Box::new(Fixed { cwnd: settings.initial_window }),
};

#[derive(Debug)]
struct Fixed {
    cwnd: u64,
}

impl Controller for Fixed {
    fn cwnd(&self) -> u64 {
        self.cwnd
    }

    fn in_slow_start(&self) -> bool {
        false
    }

    fn governs_recovery(&self) -> bool {
        true
    }

    fn is_fixed(&self) -> bool {
        true
    }

    fn state_name(&self) -> &'static str {
        "fixed"
    }
}
