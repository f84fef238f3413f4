//! What short flows of a full table may cost.

use crate::units::Nanos;

/// How many short flows of a full table may still have their rows in this second of packet time:
/// a flood must not become a flood of rows.
#[derive(Default)]
pub struct Allowance {
    since: Nanos,
    taken: u32,
}

impl Allowance {
    /// Whether one more may have its rows at `now`.
    pub fn take(&mut self, now: Nanos) -> bool {
        if now.since(self.since) >= Nanos::SECOND {
            *self = Allowance { since: now, taken: 0 };
        }
        self.taken += 1;
        self.taken <= EVICTED_ROWS_PER_SECOND
    }
}

/// Short flows of a full table that have their rows, per second: some ten milliseconds of work.
const EVICTED_ROWS_PER_SECOND: u32 = 2048;
