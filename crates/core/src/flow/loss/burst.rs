//! Whether losses meet the ends of dense bursts. Two-sample tests compare what was sent just before
//! losses with the same before all segments, and so the round-trip time.
//!
//! A bucket or a queue of a few packets drops what comes too densely, however much is in flight. So
//! the bytes sent in the last few milliseconds rank high at its losses among those at all segments.
//! Losses at random fall on any rank alike. That is the rank-sum test (Mann and Whitney, "On a test
//! of whether one of two random variables is stochastically larger than the other", 1947). A queue
//! of a few packets raises the round-trip time of what comes just before its losses, a bucket does
//! not.

use crate::flow::bins::Bins;
use crate::flow::loss::ledger::{Codes, Filed};
use crate::flow::time::moments::Moments;
use crate::units::Nanos;

/// What was sent just before now, and where the losses rank.
#[derive(Debug, Default)]
pub struct Bursts {
    recent_bytes: f32,
    last: Nanos,
    /// By the bytes sent just before, decayed until each segment and as they were after it.
    before: Ranks,
    after: Ranks,
    /// By round-trip times.
    delays: Ranks,
    excess: Moments,
}

/// Where the losses rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Density {
    /// Loss episodes that it rests on.
    pub losses: u32,
    /// Their mean rank by the bytes sent just before: a half when those do not matter, one when
    /// only the densest bursts are met.
    pub rank: f64,
    /// Their mean rank by the round-trip time of what was sent just before, where it is known.
    pub delay_rank: Option<f64>,
    /// The mean of those times above the least one.
    pub delay: Option<Nanos>,
    /// Their standard deviation over that mean.
    pub delay_variation: Option<f64>,
}

impl Bursts {
    /// The measures of a segment at `ts`, before it is added.
    pub fn codes(&self, ts: Nanos) -> Codes {
        let decayed = self.recent_bytes * remains(ts.since(self.last));
        Codes { before: code(decayed, MIN_BYTES), behind: code(self.recent_bytes, MIN_BYTES) }
    }

    /// Adds a segment of `len` bytes at `ts`; `mss` is a full one's. Only `new` data can begin an
    /// episode, so that what is compared with it is new data too.
    pub fn sent(&mut self, ts: Nanos, len: u32, mss: u32, new: bool) {
        self.recent_bytes *= remains(ts.since(self.last));
        self.last = ts;
        // A super-packet stands for the segments that it is cut into.
        let mss = mss.max(1);
        let mut left = len.min(mss * MAX_SEGMENTS);
        while left > 0 {
            let part = left.min(mss);
            if new {
                self.before.add(code(self.recent_bytes, MIN_BYTES));
            }
            self.recent_bytes += part as f32;
            if new {
                self.after.add(code(self.recent_bytes, MIN_BYTES));
            }
            left -= part;
        }
    }

    /// Adds a full segment of new data at `ts`; gives the measure of what came just before it, as
    /// [`Bursts::codes`] does.
    pub fn sent_full(&mut self, ts: Nanos, mss: u32) -> u8 {
        self.recent_bytes *= remains(ts.since(self.last));
        self.last = ts;
        let before = code(self.recent_bytes, MIN_BYTES);
        self.before.add(before);
        self.recent_bytes += mss as f32;
        self.after.add(code(self.recent_bytes, MIN_BYTES));
        before
    }

    /// The newest round-trip time is so much above the least.
    pub fn delayed(&mut self, excess: Nanos) {
        self.delays.add(delay_code(excess));
    }

    /// A loss episode begins; `excess` is the same just before it.
    pub fn lost(&mut self, filed: &Filed, excess: Option<Nanos>) {
        let Some(code) = filed.lost_burst.filter(|&code| code > 0) else { return };
        let code = further(code, filed.lost_offset);
        if filed.seen_bytes > 0 {
            self.before.met(code);
            if let Some(excess) = excess {
                self.delays.met(delay_code(excess));
                if self.excess.count >= MAX_MET {
                    self.excess.halve();
                }
                self.excess.add(excess.0 as f64);
            }
        } else {
            self.after.met(code);
        }
    }

    /// Where the losses rank; `None` without any to compare.
    pub fn density(&self) -> Option<Density> {
        let losses = self.before.met_count + self.after.met_count;
        let rank = (self.before.rank_sum + self.after.rank_sum) / f64::from(losses.max(1));
        let delay = self.excess.mean().map(|ns| Nanos(ns as i64));
        let delay_variation = self.excess.variation();
        (losses > 0).then(|| Density {
            losses,
            rank,
            delay_rank: self.delays.mean(),
            delay,
            delay_variation,
        })
    }
}

impl Density {
    /// Standard deviations above chance: ranks of independent losses are uniform, of variance 1/12.
    pub fn deviations(&self) -> f64 {
        (self.rank - 0.5) * (12.0 * f64::from(self.losses)).sqrt()
    }
}

/// How often each code was seen, and where those of the losses stood among them.
#[derive(Debug, Default)]
struct Ranks {
    /// Of [`REMEMBERED`] at most.
    seen: Bins,
    total: u32,
    rank_sum: f64,
    met_count: u32,
}

impl Ranks {
    fn add(&mut self, code: u8) {
        if self.total >= REMEMBERED {
            // Older ones count half, so that a flow that changes is compared with its own time.
            self.seen.halve();
            self.total = self.seen.total();
        }
        self.seen.add(usize::from(code));
        self.total += 1;
    }

    /// A loss with this code: the share of those seen below it, and half of those like it.
    fn met(&mut self, code: u8) {
        if self.total < MIN_SEEN {
            return;
        }
        let at = usize::from(code);
        let (below, like) = (self.seen.below(at), self.seen.of(at));
        let rank = (f64::from(below) + f64::from(like) / 2.0) / f64::from(self.total);
        if self.met_count >= MAX_MET {
            self.met_count /= 2;
            self.rank_sum /= 2.0;
        }
        self.rank_sum += rank;
        self.met_count += 1;
    }

    fn mean(&self) -> Option<f64> {
        (self.met_count > 0).then(|| self.rank_sum / f64::from(self.met_count))
    }
}

/// What remains of the bytes sent just before after `gap`: about e to the minus gap over
/// [`MEMORY`], and nothing from four times that on.
fn remains(gap: Nanos) -> f32 {
    let left = (1.0 - gap.0.max(0) as f32 / (4 * MEMORY.0) as f32).max(0.0);
    left * left * left * left
}

/// A value on a scale of eight steps an octave from `least` on; never 0.
fn code(value: f32, least: f32) -> u8 {
    let steps = ((value + least).to_bits() >> STEP_SHIFT) - (least.to_bits() >> STEP_SHIFT);
    steps.min(CODES as u32 - 2) as u8 + 1
}

/// The code `bytes` further on in a super-packet than `code`, whose parts count one by one.
fn further(code_before: u8, bytes: u32) -> u8 {
    if bytes == 0 {
        return code_before;
    }
    let step = (MIN_BYTES.to_bits() >> STEP_SHIFT) + u32::from(code_before) - 1;
    // The middle of the step, since where in it the value was is no longer known.
    let middle = f32::from_bits((step << STEP_SHIFT) + (1 << (STEP_SHIFT - 1)));
    code(middle - MIN_BYTES + bytes as f32, MIN_BYTES)
}

fn delay_code(excess: Nanos) -> u8 {
    code(excess.0.max(0) as f32, MIN_DELAY_NS)
}

/// How long "just before" is. Back-to-back segments from 10 Mbit/s on lie closer; rounds of all but
/// the shortest paths are farther apart. Ranks hardly depend on it: from 0.5 to 16 ms they stayed
/// alike in simulations of small buckets, 0.5 to 30 Mbit/s.
const MEMORY: Nanos = Nanos(2_000_000);
/// Low bits of a value that a step leaves out: of 23 after the point it keeps three.
const STEP_SHIFT: u32 = 20;
/// Steps of a code: 24 octaves.
const CODES: usize = 192;
/// What one step from nothing is about an eighth of: a small segment, and a host's own delays.
const MIN_BYTES: f32 = 256.0;
/// See [`MIN_BYTES`]; in ns.
const MIN_DELAY_NS: f32 = 32_768.0;
/// Segments of the largest super-packet (64 KiB of 1,448 bytes).
const MAX_SEGMENTS: u32 = 46;
/// Segments below which a rank says little.
const MIN_SEEN: u32 = 32;
/// Segments, and losses, after which older ones count half.
const REMEMBERED: u32 = 16_384;
/// See [`REMEMBERED`].
const MAX_MET: u32 = 128;

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds of 100 ms with bursts that grow from 2 to 12 segments and begin again. `lost` picks
    /// the losses by the segment's place in its burst.
    fn ranks(mut lost: impl FnMut(u64, u64) -> bool) -> Density {
        let mut bursts = Bursts::default();
        let mut seen_codes = 0u32;
        for round in 0..400u64 {
            for place in 0..2 + round % 11 {
                let ts = Nanos::from_millis(round as i64 * 100) + Nanos(place as i64 * 20_000);
                let codes = bursts.codes(ts);
                bursts.sent(ts, 1_448, 1_448, true);
                seen_codes += 1;
                if lost(seen_codes.into(), place) {
                    let lost_burst = Some(codes.before);
                    bursts.lost(&Filed { lost_burst, seen_bytes: 1_448, ..Filed::new(0) }, None);
                }
            }
        }
        bursts.density().expect("losses")
    }

    #[test]
    fn what_a_small_bucket_drops_ranks_high_and_what_chance_drops_anywhere() {
        let bucket = ranks(|_, place| place == 10);
        assert!(bucket.rank > 0.95 && bucket.deviations() > 5.0, "{bucket:?}");
        let mut seed = 5u64;
        let chance = ranks(|_, _| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33).is_multiple_of(40)
        });
        assert!(chance.losses > 30 && chance.deviations().abs() < 2.5, "{chance:?}");
        let regular = ranks(|number, _| number % 37 == 0);
        assert!(regular.deviations().abs() < 2.5, "a rhythm alone is none: {regular:?}");
    }

    #[test]
    fn a_super_packet_counts_as_the_segments_in_it() {
        let (mut whole, mut cut) = (Bursts::default(), Bursts::default());
        for round in 0..100 {
            let ts = Nanos::from_millis(round * 50);
            whole.sent(ts, 14_480, 1_448, true);
            (0..10).for_each(|_| cut.sent(ts, 1_448, 1_448, true));
        }
        assert_eq!(whole.before.seen, cut.before.seen);
        assert_eq!(whole.codes(Nanos::SECOND).before, cut.codes(Nanos::SECOND).before);
    }

    #[test]
    fn what_is_lost_of_a_super_packet_ranks_by_its_place_in_it() {
        let ranked = |lost_offset: u32| {
            let mut bursts = Bursts::default();
            for round in 0..100 {
                let ts = Nanos::from_millis(round * 50);
                let codes = bursts.codes(ts);
                bursts.sent(ts, 14_480, 1_448, true);
                let lost_burst = Some(codes.before);
                let filed = Filed { lost_burst, lost_offset, seen_bytes: 1_448, ..Filed::new(0) };
                bursts.lost(&filed, None);
            }
            bursts.density().expect("losses").rank
        };
        assert!(ranked(0) < 0.1 && ranked(9 * 1_448) > 0.9);
        assert!((ranked(5 * 1_448) - 0.5).abs() < 0.1, "{}", ranked(5 * 1_448));
        for bytes in [0, 1_448, 14_480, 62_264] {
            let (from_zero, whole) = (further(code(0.0, 256.0), bytes), code(bytes as f32, 256.0));
            assert!(from_zero.abs_diff(whole) <= 1, "{bytes}: {from_zero} {whole}");
        }
    }

    #[test]
    fn codes_grow_with_what_they_stand_for_and_stay_in_their_table() {
        let values = [0.0, 100.0, 1_448.0, 2_896.0, 14_480.0, 65_536.0, 1e6, 1e9, 1e30];
        let codes: Vec<u8> = values.iter().map(|&value| code(value, MIN_BYTES)).collect();
        assert!(codes.is_sorted() && codes[0] == 1, "{codes:?}");
        assert!(usize::from(codes[8]) < CODES, "{codes:?}");
        assert_eq!(remains(Nanos(0)), 1.0);
        assert_eq!(remains(Nanos(8_000_000)), 0.0);
    }
}
