//! Since when nothing has held the sender back.

use super::lasting::Lasting;
use super::period::Before;
use crate::units::Nanos;

/// The receiver's window as the observer sees it, and for how long the sender has been free.
#[derive(Clone, Copy, Debug, Default)]
pub struct Freedom {
    /// The newest window is zero.
    closed: bool,
    /// End of the newest window.
    edge: Option<u64>,
    free: Lasting,
    drained: Lasting,
}

/// What is in flight, and whether that is being repaired.
#[derive(Clone, Copy, Debug)]
pub struct Flight {
    /// Lowest byte not acknowledged.
    pub una: u64,
    /// After the highest byte sent.
    pub next: u64,
    /// Payload of a full segment.
    pub mss: u32,
    /// A loss is being repaired.
    pub repairing: bool,
}

impl Freedom {
    /// Takes a window that is not older than the one before.
    #[inline]
    pub fn on_window(&mut self, edge: Option<u64>) {
        self.edge = edge;
    }

    /// Whether the newest window is zero.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Notes whether the newest window is zero.
    #[inline]
    pub fn set_closed(&mut self, closed: bool) {
        self.closed = closed;
    }

    /// Notes from when on nothing has held the sender back: room in the window for a full segment
    /// and no loss being repaired; and from when on it had nothing in flight besides. `at` is the
    /// sender's time, as far as it can be told.
    #[inline(always)]
    pub fn note(&mut self, at: Nanos, flight: Flight) {
        let room = self.edge.is_none_or(|edge| edge >= flight.next + u64::from(flight.mss));
        let free = room && !self.closed && !flight.repairing;
        self.free.note(free, at);
        self.drained.note(free && flight.una >= flight.next, at);
    }

    /// What the sender could have done before a segment at `ts`, for Isolate.
    #[inline(always)]
    pub fn before(&self, ts: Nanos, srtt: Option<Nanos>) -> Before {
        let idle = srtt.unwrap_or(Nanos::from_millis(100)).max(SHORTEST_IDLE);
        Before { free: self.free.until(ts), drained: self.drained.until(ts), idle }
    }
}

/// Silence shorter than this is scheduling, whatever the round-trip time.
const SHORTEST_IDLE: Nanos = Nanos(10_000_000);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sender_is_free_while_the_window_has_room_and_nothing_is_repaired() {
        let mut freedom = Freedom::default();
        let flight = Flight { una: 0, next: 1_000, mss: 500, repairing: false };
        freedom.on_window(Some(1_500));
        freedom.note(Nanos(10), flight);
        let before = freedom.before(Nanos(30), None);
        assert_eq!((before.free, before.drained.0 <= 0), (Nanos(20), true));
        freedom.note(Nanos(40), Flight { repairing: true, ..flight });
        assert!(freedom.before(Nanos(50), None).free.0 <= 0);
        freedom.note(Nanos(60), Flight { una: 1_000, ..flight });
        assert_eq!(freedom.before(Nanos(70), None).drained, Nanos(10));
    }
}
