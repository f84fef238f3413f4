//! Echoes near the receiver: how long after an acknowledgement the data comes that answers it.
//!
//! Near the receiver the queue of the path lies between an acknowledgement and the data that echoes
//! its timestamp (RFC 7323 section 4). One echo at a time would meet the same part of every flight.
//! Where flights are bursts, that part may find the queue empty. So several are awaited at once,
//! spread over the round trip.

use crate::units::Nanos;
use std::collections::VecDeque;

/// Acknowledgements whose echo is awaited.
#[derive(Debug, Default)]
pub struct Echoes {
    awaited: VecDeque<(u32, Nanos)>,
    newest: Option<u32>,
    /// Round-trip time by the newest echoes, and when the last of them came.
    pub newest_rtt: Option<(Nanos, Nanos)>,
    /// Round-trip time before the newest gap in the data.
    pub at_gap: Option<Nanos>,
}

impl Echoes {
    /// An acknowledgement with `tsval` passed towards the sender; `srtt` is the usual round-trip
    /// time. Only the first one with a timestamp can be distinguished from those after it.
    #[inline]
    pub fn passed(&mut self, now: Nanos, tsval: u32, srtt: Nanos) {
        if self.newest.replace(tsval) == Some(tsval) {
            return;
        }
        // Once the queue has grown far beyond `srtt`, they are spread over the age of the oldest.
        let age = |at: Option<&(u32, Nanos)>| at.map(|&(_, since)| now.since(since).0);
        let spacing = srtt.0.max(age(self.awaited.front()).unwrap_or(0)) / MAX_AWAITED as i64;
        if age(self.awaited.back()).is_some_and(|age| age < spacing) {
            return;
        }
        if self.awaited.len() >= MAX_AWAITED {
            let mut odd = true;
            self.awaited.retain(|_| {
                odd = !odd;
                !odd
            });
        }
        self.awaited.push_back((tsval, now));
    }

    /// Data came that echoes `tsecr`: how long ago the acknowledgement with it had passed.
    #[inline]
    pub fn came_back(&mut self, now: Nanos, tsecr: u32) -> Option<Nanos> {
        while let Some(&(tsval, since)) = self.awaited.front() {
            if (tsecr.wrapping_sub(tsval) as i32) < 0 {
                return None;
            }
            self.awaited.pop_front();
            if tsval == tsecr {
                return Some(now.since(since));
            }
        }
        None
    }

    /// Round-trip time now of a sample `rtt` made of the least delays: what the newest echoes show,
    /// unless the last of them is older than two round trips.
    pub fn raise(&self, now: Nanos, rtt: Nanos) -> Nanos {
        let fresh = |&(at, newest): &(Nanos, Nanos)| now.since(at).0 <= 2 * newest.0;
        self.newest_rtt.filter(fresh).map_or(rtt, |(_, newest)| rtt.max(newest))
    }
}

/// Echoes awaited at once, and so the samples that a round trip gives.
const MAX_AWAITED: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn echoes_are_spread_over_the_round_trip() {
        let mut echoes = Echoes::default();
        let srtt = Nanos::from_millis(80);
        for ms in 0..40 {
            echoes.passed(Nanos::from_millis(ms), 1_000 + ms as u32, srtt);
        }
        let found: Vec<u32> = (1_000..1_040)
            .filter(|&tsecr| echoes.came_back(Nanos::from_millis(100), tsecr).is_some())
            .collect();
        assert_eq!(found, [1_000, 1_010, 1_020, 1_030]);
    }

    #[test]
    fn a_queue_of_many_round_trips_is_still_seen() {
        let mut echoes = Echoes::default();
        for ms in 0..6_000 {
            echoes.passed(Nanos::from_millis(ms), ms as u32, Nanos::from_millis(30));
        }
        assert!(echoes.awaited.len() <= MAX_AWAITED);
        assert_eq!(echoes.came_back(Nanos::from_millis(6_000), 0), Some(Nanos::from_millis(6_000)));
        let later = (1..6_000)
            .filter(|&tsecr| echoes.came_back(Nanos::from_millis(9_000), tsecr).is_some());
        assert!((3..MAX_AWAITED).contains(&later.count()));
    }

    #[test]
    fn only_the_first_of_equal_timestamps_counts_and_a_later_echo_is_none() {
        let mut echoes = Echoes::default();
        echoes.passed(Nanos(0), 7, Nanos(0));
        assert_eq!(echoes.came_back(Nanos(50), 7), Some(Nanos(50)));
        echoes.passed(Nanos(60), 7, Nanos(0));
        assert_eq!(echoes.came_back(Nanos(90), 7), None);
        echoes.passed(Nanos(100), 8, Nanos(0));
        echoes.passed(Nanos(120), 10, Nanos(0));
        assert_eq!(echoes.came_back(Nanos(200), 9), None);
        assert_eq!(echoes.came_back(Nanos(210), 10), Some(Nanos(90)));
    }

    #[test]
    fn a_queue_raises_round_trips_while_echoes_show_it() {
        let mut echoes = Echoes::default();
        let ms = Nanos::from_millis;
        assert_eq!(echoes.raise(ms(0), ms(40)), ms(40));
        echoes.newest_rtt = Some((ms(0), ms(60)));
        assert_eq!(echoes.raise(ms(100), ms(40)), ms(60));
        assert_eq!(echoes.raise(ms(121), ms(40)), ms(40));
        assert_eq!(echoes.raise(ms(10), ms(70)), ms(70));
    }
}
