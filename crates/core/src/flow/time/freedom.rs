//! Since when nothing has held the sender back.

use super::period::Before;
use super::since::Since;
use crate::flow::loss::ledger::Flight;
use crate::units::Nanos;

/// For how long the sender has been free, and had nothing in flight besides.
#[derive(Clone, Copy, Debug, Default)]
pub struct Freedom {
    free: Since,
    drained: Since,
}

impl Freedom {
    /// Notes whether the sender is held back `at` a time of its own, as far as that is known. It is
    /// free with `room` in the window for a full segment and no loss being repaired.
    #[inline(always)]
    pub fn note(&mut self, at: Nanos, room: bool, flight: &Flight) {
        let free = room && !flight.repairing;
        self.free.note(free, at);
        self.drained.note(free && flight.una >= flight.next, at);
    }

    /// Whether nothing has been in flight for so long before `ts` that it counts.
    #[inline(always)]
    pub fn is_drained(&self, ts: Nanos, srtt: Option<Nanos>) -> bool {
        self.drained.holds() && self.drained.until(ts) > idle(srtt)
    }

    /// The same with data in flight and nothing to repair.
    #[inline(always)]
    pub fn note_sent(&mut self, at: Nanos, room: bool) {
        self.free.note(room, at);
        self.drained = Since::default();
    }

    /// What the sender could have done before a segment at `ts`, for Isolate.
    #[inline(always)]
    pub fn before(&self, ts: Nanos, srtt: Option<Nanos>) -> Before {
        Before { free: self.free.until(ts), drained: self.drained.until(ts), idle: idle(srtt) }
    }
}

/// Idle time that counts.
#[inline(always)]
fn idle(srtt: Option<Nanos>) -> Nanos {
    srtt.unwrap_or(Nanos::from_millis(100)).max(MIN_IDLE)
}

/// Silence shorter than this is scheduling, whatever the round-trip time.
const MIN_IDLE: Nanos = Nanos(10_000_000);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sender_is_free_while_the_window_has_room_and_nothing_is_repaired() {
        let mut freedom = Freedom::default();
        let flight = Flight { una: 0, next: 1_000, repairing: false };
        freedom.note(Nanos(10), true, &flight);
        let before = freedom.before(Nanos(30), None);
        assert_eq!((before.free, before.drained.0 <= 0), (Nanos(20), true));
        freedom.note(Nanos(40), true, &Flight { repairing: true, ..flight });
        assert!(freedom.before(Nanos(50), None).free.0 <= 0);
        freedom.note(Nanos(60), true, &Flight { una: 1_000, ..flight });
        assert_eq!(freedom.before(Nanos(70), None).drained, Nanos(10));
        freedom.note(Nanos(80), false, &flight);
        assert!(freedom.before(Nanos(90), None).free.0 <= 0);
    }
}
