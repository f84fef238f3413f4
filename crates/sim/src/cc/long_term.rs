//! Long-term sampling: how Linux's BBR finds out that a policer drops what it sends too fast
//! (`bbr_lt_bw_sampling` of tcp_bbr.c; Flach et al., "An Internet-Wide Analysis of Traffic
//! Policing", SIGCOMM 2016).
//!
//! From a loss to a later one, some rounds on, is an interval. When two intervals in a row have
//! many losses and nearly the same delivery rate, that rate is the policer's.

use super::Ack;
use super::delivery_rate::rate_bps;
use tcpwhy_core::units::Nanos;

/// The sampling of one connection.
#[derive(Debug, Default)]
pub struct LongTerm {
    /// The rate of the last interval; of the policer when `is_in_use`.
    rate_bps: u64,
    is_in_use: bool,
    interval: Option<Interval>,
    /// Rounds since the interval began, or since the rate is in use.
    rounds: u32,
}

/// Where an interval began.
#[derive(Clone, Copy, Debug)]
struct Interval {
    at: Nanos,
    delivered: u64,
    lost: u64,
}

/// What an acknowledgement changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Nothing,
    /// The policer's rate is known.
    Found,
    /// It was in use long enough: the path is asked again.
    Over,
}

impl LongTerm {
    /// The policer's rate, if one was found.
    pub fn rate_bps(&self) -> Option<u64> {
        self.is_in_use.then_some(self.rate_bps)
    }

    /// An acknowledgement, or a timeout, which counts as a loss at the end of a round.
    pub fn on_ack(&mut self, ack: &Ack, is_round_start: bool, has_loss: bool) -> Change {
        if self.is_in_use {
            self.rounds += u32::from(is_round_start);
            if self.rounds < ROUNDS_IN_USE {
                return Change::Nothing;
            }
            *self = LongTerm::default();
            return Change::Over;
        }
        let Some(interval) = self.interval else {
            if has_loss {
                self.begin(ack);
            }
            return Change::Nothing;
        };
        self.rounds += u32::from(is_round_start);
        let is_app_limited = ack.sample.is_some_and(|sample| sample.is_app_limited);
        if is_app_limited || self.rounds > ROUNDS_MAX {
            *self = LongTerm::default();
            return Change::Nothing;
        }
        let delivered = ack.path.delivered - interval.delivered;
        let lost = ack.path.lost - interval.lost;
        let lasted = ack.path.now.since(interval.at);
        let is_over = has_loss && self.rounds >= ROUNDS_MIN && lasted >= Nanos::MILLISECOND;
        if !is_over || delivered == 0 || lost * 256 < LOSS_IN_256 * delivered {
            return Change::Nothing;
        }
        self.end(ack, rate_bps(delivered, lasted))
    }

    fn begin(&mut self, ack: &Ack) {
        let (delivered, lost) = (ack.path.delivered, ack.path.lost);
        self.interval = Some(Interval { at: ack.path.now, delivered, lost });
        self.rounds = 0;
    }

    fn end(&mut self, ack: &Ack, rate_bps: u64) -> Change {
        let apart = rate_bps.abs_diff(self.rate_bps);
        if self.rate_bps > 0 && (apart * 8 <= self.rate_bps || apart <= APART_BPS) {
            *self = LongTerm {
                rate_bps: (rate_bps + self.rate_bps) / 2,
                is_in_use: true,
                ..LongTerm::default()
            };
            return Change::Found;
        }
        self.rate_bps = rate_bps;
        self.begin(ack);
        Change::Nothing
    }
}

/// `bbr_lt_intvl_min_rtts`.
const ROUNDS_MIN: u32 = 4;
/// Four times as many are too long: the path changes.
const ROUNDS_MAX: u32 = 16;
/// `bbr_lt_loss_thresh`: a fifth.
const LOSS_IN_256: u64 = 50;
/// `bbr_lt_bw_diff`: 4 kbit/s.
const APART_BPS: u64 = 4_000;
/// `bbr_lt_bw_max_rtts`.
const ROUNDS_IN_USE: u32 = 48;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Path;

    /// A round of 100 ms that delivers `delivered` bytes and loses `lost`, `n` rounds on.
    fn round(n: u64, delivered: u64, lost: u64) -> Ack {
        let now = Nanos::from_millis(100 * n as i64);
        let path = Path { now, delivered: n * delivered, lost: n * lost, ..Path::default() };
        Ack { path, ..Ack::default() }
    }

    /// In which round a policer is found that loses `lost` of every 100,000 bytes.
    fn found(lost: u64) -> Option<u64> {
        let mut sampling = LongTerm::default();
        (1..100).find(|&n| sampling.on_ack(&round(n, 100_000, lost), true, true) == Change::Found)
    }

    #[test]
    fn two_intervals_of_one_rate_with_a_fifth_lost_are_a_policer() {
        assert_eq!(found(25_000), Some(9));
        assert_eq!(found(15_000), None);
    }

    #[test]
    fn its_rate_is_used_for_48_rounds() {
        let mut sampling = LongTerm::default();
        let mut over = None;
        for n in 1u64..100 {
            let change = sampling.on_ack(&round(n, 100_000, 25_000), true, true);
            if change == Change::Found {
                assert_eq!(sampling.rate_bps(), Some(8_000_000));
            }
            over = over.or((change == Change::Over).then_some(n));
        }
        assert_eq!(over, Some(9 + 48));
    }

    #[test]
    fn rates_that_differ_are_none() {
        let mut sampling = LongTerm::default();
        let mut delivered = 0;
        for n in 1u64..100 {
            delivered += 100_000 * (1 + n.saturating_sub(2) / 4 % 2);
            let mut ack = round(n, 0, 60_000);
            ack.path.delivered = delivered;
            assert_ne!(sampling.on_ack(&ack, true, true), Change::Found, "round {n}");
        }
    }
}
