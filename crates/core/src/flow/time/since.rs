//! How long something has been so.

use crate::units::Nanos;

/// Something that has been so since a time, or is not so now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Since {
    /// `Nanos::MAX` while it is not so: then it has lasted for nothing.
    since: Nanos,
}

impl Default for Since {
    fn default() -> Since {
        Since { since: Nanos::MAX }
    }
}

impl Since {
    /// It is so at `at`, or not.
    #[inline]
    pub fn note(&mut self, holds: bool, at: Nanos) {
        let since = if self.since == Nanos::MAX { at } else { self.since };
        self.since = if holds { since } else { Nanos::MAX };
    }

    /// Whether it is so.
    #[inline]
    pub fn holds(&self) -> bool {
        self.since != Nanos::MAX
    }

    /// How long it had been so at `ts`.
    #[inline]
    pub fn until(&self, ts: Nanos) -> Nanos {
        ts.since(self.since)
    }
}
