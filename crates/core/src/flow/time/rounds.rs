//! Rounds: a round begins with a segment and ends when that is acknowledged (RFC 9438 section 4.9
//! counts them the same way).

use crate::units::Nanos;

/// The round under way.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rounds {
    /// It ends when this is acknowledged.
    end: u64,
    start: Nanos,
    start_una: u64,
    flight: u64,
    flight_before: u64,
    rtt: Option<Nanos>,
    begun: bool,
    repairing: bool,
}

/// A round that has ended.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    /// Largest flight size in bytes.
    pub flight: u64,
    /// The same of the round before, 0 for the first.
    pub flight_before: u64,
    /// Least round-trip sample.
    pub rtt: Option<Nanos>,
    /// Bytes acknowledged in it.
    pub bytes: u64,
    /// How long it took.
    pub span: Nanos,
    /// A loss was repaired in it.
    pub repairing: bool,
}

impl Rounds {
    /// New data up to `next` at `ts`, while everything below `una` was known to have arrived.
    /// `repairing` tells whether a loss is. Gives the round that ended with it.
    #[inline]
    pub fn sent(&mut self, ts: Nanos, una: u64, next: u64, repairing: bool) -> Option<Round> {
        let mut ended = None;
        if una >= self.end {
            ended = self.turn(ts, una, next);
        }
        self.repairing |= repairing;
        self.flight = self.flight.max(next.saturating_sub(una));
        ended
    }

    fn turn(&mut self, ts: Nanos, una: u64, next: u64) -> Option<Round> {
        let ended = self.begun.then_some(Round {
            flight: self.flight,
            flight_before: self.flight_before,
            rtt: self.rtt,
            bytes: una.saturating_sub(self.start_una),
            span: ts.since(self.start),
            repairing: self.repairing,
        });
        *self = Rounds {
            end: next,
            start: ts,
            start_una: una,
            flight: 0,
            flight_before: self.flight,
            rtt: None,
            begun: true,
            repairing: false,
        };
        ended
    }

    /// A round-trip sample within it.
    #[inline]
    pub fn round_trip(&mut self, rtt: Nanos) {
        self.rtt = Some(self.rtt.map_or(rtt, |least| least.min(rtt)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_lasts_until_its_first_segment_is_acknowledged() {
        let mut rounds = Rounds::default();
        assert!(rounds.sent(Nanos(0), 0, 1_000, false).is_none());
        assert!(rounds.sent(Nanos(1), 0, 2_000, false).is_none());
        rounds.round_trip(Nanos(100));
        let first = rounds.sent(Nanos(100), 1_000, 3_000, false).expect("acknowledged");
        assert_eq!((first.flight, first.bytes, first.span), (2_000, 1_000, Nanos(100)));
        assert_eq!(first.rtt, Some(Nanos(100)));
        assert!(rounds.sent(Nanos(101), 2_000, 4_000, false).is_none());
        let second = rounds.sent(Nanos(200), 3_000, 5_000, false).expect("acknowledged");
        assert_eq!((second.flight_before, second.flight, second.rtt), (2_000, 2_000, None));
    }
}
