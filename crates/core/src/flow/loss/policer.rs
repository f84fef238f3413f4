//! Whether losses follow the rhythm of a token bucket: the test of Flach et al. (SIGCOMM 2016,
//! section 3.1), on a decimated curve of what was sent.
//!
//! A policer drops what finds no tokens. Take a bucket filled at the delivered rate between the
//! first and the last loss. Its tokens are near zero at every loss of a policed flow, and not below
//! zero at what passes.

use super::bucket::{LEVELS_MIN, Levels, MIN_SAMPLES, Policer, Tokens};
use super::curve::{Curve, Point};
use crate::units::Nanos;

/// What a half sent and lost since its first loss.
#[derive(Debug, Default)]
pub struct Trace {
    /// When it began: the first point of the curve may be a later one.
    begin: Option<Nanos>,
    sent: Curve,
    lost: Vec<Loss>,
    /// Payload bytes sent since the trace began.
    sent_bytes: u64,
    /// Of these, sent again; and as it was before the newest loss episode.
    resent_bytes: u64,
    resent_before: u64,
    /// Losses, and those among them after raised round-trip times.
    events: u32,
    queued: u32,
    step: Nanos,
    /// How often the test was made on new losses, and how often it found a policer.
    tests: u32,
    found: u32,
    tested_events: u32,
    last: Option<Policer>,
    levels: Option<Levels>,
}

/// A loss, in units that keep it small.
#[derive(Clone, Copy, Debug)]
struct Loss {
    /// [`TICK_NS`] since the trace began.
    ticks: u32,
    /// [`PIECE`]s sent since then, what was lost here included; [`UNKNOWN`] where only the curve of
    /// what was sent tells.
    sent: u32,
    /// [`PIECE`]s lost up to here.
    lost: u32,
}

/// A segment that replaces a lost one.
#[derive(Clone, Copy, Debug)]
pub struct Replaced {
    /// When the lost copy passed.
    pub ts: Nanos,
    /// Bytes of it that had been seen: none behind the policer.
    pub len: u64,
    /// New data between its end and the newest, if the lost copy was seen, and new itself.
    pub behind: Option<u64>,
    /// It begins a loss episode.
    pub is_first: bool,
    /// Round-trip times were raised then.
    pub queued: bool,
}

impl Trace {
    /// A segment of `len` bytes passes at `ts`.
    #[inline]
    pub fn sent(&mut self, ts: Nanos, len: u32) {
        self.sent_bytes += u64::from(len);
        self.begin.get_or_insert(ts);
        let due = self.sent.last().is_none_or(|last| ts.since(last.ts) >= self.step);
        if due {
            if self.sent.len() >= MAX_POINTS {
                self.sent.halve();
                self.step = Nanos((self.step.0 * 2).max(self.mean_step()));
            }
            self.sent.push(Point { ts, bytes: self.sent_bytes });
        }
    }

    /// The segment that was sent last, of `len` bytes, replaces a lost one.
    pub fn lost(&mut self, len: u32, lost: &Replaced) {
        if lost.is_first {
            self.resent_before = self.resent_bytes;
        }
        self.resent_bytes += u64::from(len);
        let Some(begin) = self.begin.filter(|begin| lost.ts >= *begin) else { return };
        self.events += 1;
        self.queued += u32::from(lost.queued);
        let sent = lost.behind.map_or(u64::from(UNKNOWN) * PIECE, |behind| {
            let since = behind + self.resent_bytes - self.resent_before;
            self.sent_bytes.saturating_sub(since)
        });
        let (ticks, sent) = (lost.ts.since(begin).0 as u64 / TICK_NS, sent / PIECE);
        // No flow of so many bytes or hours since its first loss is asked.
        let (Ok(ticks), Ok(sent)) = (u32::try_from(ticks), u32::try_from(sent)) else { return };
        if self.lost.len() >= MAX_POINTS {
            halve(&mut self.lost);
        }
        // A loss is known by its repair, and those come in another order than the losses.
        let at = self.lost.partition_point(|loss| loss.ticks <= ticks);
        let before = at.checked_sub(1).map_or(0, |before| self.lost[before].lost);
        let pieces = (lost.len / PIECE) as u32;
        self.lost.insert(at, Loss { ticks, sent, lost: before.saturating_add(pieces) });
        for later in &mut self.lost[at + 1..] {
            later.lost = later.lost.saturating_add(pieces);
        }
    }

    fn mean_step(&self) -> i64 {
        let ends = self.sent.first().zip(self.sent.last());
        ends.map_or(0, |(first, last)| last.ts.since(first.ts).0) / (2 * MAX_POINTS as i64)
    }

    /// The policer found so far: the test is made whenever there are new losses, and what it found
    /// holds while it finds it every third time at least.
    pub fn verdict(&mut self, rtt: Nanos) -> Option<Policer> {
        if self.events > self.tested_events && self.lost.len() >= LEVELS_MIN {
            self.tested_events = self.events;
            let sent = self.sent.points();
            let tokens = self.tokens(rtt, &sent, 0);
            self.levels = tokens.as_ref().and_then(Tokens::levels);
            if self.lost.len() >= MIN_SAMPLES {
                self.tests += 1;
                if let Some(policer) = self.policer(rtt, &sent, tokens) {
                    self.found += 1;
                    self.last = Some(policer);
                }
            }
        }
        self.last.filter(|_| self.found * 3 >= self.tests)
    }

    /// What the bucket would have held at the losses, as of the last test.
    pub fn levels(&self) -> Option<Levels> {
        self.levels
    }

    /// The policer that explains the losses, if one does. `rtt` is the usual round-trip time, and
    /// `tokens` what its bucket would have held.
    fn policer(&self, rtt: Nanos, sent: &[Point], tokens: Option<Tokens>) -> Option<Policer> {
        if f64::from(self.queued) > QUEUED * f64::from(self.events) {
            return None;
        }
        // The first and the last losses may be of slow start, or of the end.
        let inner = || self.tokens(rtt, sent, 2)?.policer();
        tokens.and_then(|tokens| tokens.policer()).or_else(inner)
    }

    /// What a bucket filled at the rate between the losses would have held; but for `cut` losses at
    /// either end.
    fn tokens(&self, rtt: Nanos, sent: &[Point], cut: usize) -> Option<Tokens> {
        let lost = self.lost.get(cut..self.lost.len().checked_sub(cut)?)?;
        let (first, last) = (lost.first()?, lost.last()?);
        let span_s = last.s() - first.s();
        let rtt_s = rtt.as_secs_f64();
        if span_s < MIN_ROUNDS * rtt_s {
            return None;
        }
        let begin = self.begin?;
        // Bytes that passed up to a loss.
        let passed = |loss: &Loss| match loss.sent {
            UNKNOWN => self.sent_at(sent, begin + loss.since()) - loss.lost_bytes(),
            known => f64::from(known) * PIECE as f64 - loss.lost_bytes(),
        };
        let base = passed(first);
        let rate = (passed(last) - base) / span_s;
        if rate <= 0.0 {
            return None;
        }
        let tokens = |s: f64, passed: f64| rate * (s - first.s()) - (passed - base);
        let at_loss: Vec<f64> = lost.iter().map(|loss| tokens(loss.s(), passed(loss))).collect();
        let mut at_pass = Vec::new();
        let mut next = cut;
        for point in sent {
            let s = point.ts.since(begin).as_secs_f64();
            if s <= first.s() || s >= last.s() {
                continue;
            }
            while self.lost.get(next).is_some_and(|loss| loss.s() <= s) {
                next += 1;
            }
            at_pass.push(tokens(s, point.bytes as f64 - self.lost[next - 1].lost_bytes()));
        }
        Some(Tokens { rate, flight: rate * rtt_s, at_loss, at_pass })
    }

    /// Bytes sent up to `ts`, between the points by proportion.
    fn sent_at(&self, sent: &[Point], ts: Nanos) -> f64 {
        let after = sent.partition_point(|point| point.ts <= ts);
        let before = sent[after.max(1) - 1];
        let Some(next) = sent.get(after) else { return self.sent_bytes as f64 };
        let span = next.ts.since(before.ts).0.max(1) as f64;
        let part = ts.since(before.ts).0 as f64 / span;
        before.bytes as f64 + (next.bytes - before.bytes) as f64 * part.min(1.0)
    }
}

impl Loss {
    fn since(self) -> Nanos {
        Nanos(i64::from(self.ticks) * TICK_NS as i64)
    }

    fn s(self) -> f64 {
        self.since().as_secs_f64()
    }

    fn lost_bytes(self) -> f64 {
        f64::from(self.lost) * PIECE as f64
    }
}

fn halve(points: &mut Vec<Loss>) {
    // The last point stays, since the curve ends there.
    let mut odd = points.len().is_multiple_of(2);
    points.retain(|_| {
        odd = !odd;
        odd
    });
}

/// Times and bytes of losses are kept as so many: a flow of 19 hours or 64 GiB since its first loss
/// is not tested further.
const TICK_NS: u64 = 1 << 14;
const PIECE: u64 = 16;
/// Bytes sent that only the curve tells.
const UNKNOWN: u32 = u32::MAX;
/// Points of either curve: enough for a hundred rounds of a few points each.
const MAX_POINTS: usize = 256;
/// Rounds that the losses must span; Flach et al. ask for losses in three.
const MIN_ROUNDS: f64 = 3.0;
/// Share of the losses that may come with a queue.
const QUEUED: f64 = 0.20;

#[cfg(test)]
mod tests {
    use super::*;

    /// A window that grows by one segment a round trip of 40 ms and halves on loss. It passes a
    /// bucket of `depth` bytes filled at 500,000 bytes/s, or a generator draws its losses. What is
    /// lost is sent again a round trip later, and passes.
    fn trace(depth: Option<f64>) -> Trace {
        let mut trace = Trace::default();
        let (mut tokens, mut seed, mut window) = (depth.unwrap_or(0.0), 1u64, 10i64);
        let mut next = 0u64;
        let mut lost: Vec<(Nanos, u64)> = Vec::new();
        for round in 0..1_000 {
            let begin = round * 40_000_000;
            let repairs = std::mem::take(&mut lost);
            for (number, (ts, end)) in repairs.iter().enumerate() {
                trace.sent(Nanos(begin), 1_000);
                let behind = Some((next - end) * 1_000);
                let (ts, is_first) = (*ts, number == 0);
                trace.lost(1_000, &Replaced { ts, len: 1_000, behind, is_first, queued: false });
                tokens -= 1_000.0;
            }
            for segment in 0..window {
                let ts = Nanos(begin + (segment + 1) * 40_000_000 / (window + 1));
                trace.sent(ts, 1_000);
                next += 1;
                tokens = (tokens + 20_000.0 / window as f64).min(depth.unwrap_or(0.0));
                seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let is_lost = match depth {
                    Some(_) => tokens < 1_000.0,
                    None => (seed >> 33).is_multiple_of(128),
                };
                match is_lost {
                    true => lost.push((ts, next)),
                    false => tokens -= 1_000.0,
                }
            }
            window = if lost.is_empty() { window + 1 } else { (window / 2).max(2) };
        }
        trace
    }

    #[test]
    fn a_token_bucket_is_told_from_random_loss() {
        let rtt = Nanos::from_millis(40);
        let deep = trace(Some(200_000.0)).verdict(rtt).expect("policed");
        assert!((deep.rate_bps / 4e6 - 1.0).abs() < 0.1, "{deep:?}");
        // A bucket of one round trip runs over while the window is small: then less gets through.
        let mut shallow = trace(Some(20_000.0));
        let policer = shallow.verdict(rtt).expect("policed");
        let lost = shallow.lost.last().map_or(0.0, |loss| loss.lost_bytes());
        let delivered_bps = (shallow.sent_bytes as f64 - lost) * 8.0 / 40.0;
        assert!((policer.rate_bps / delivered_bps - 1.0).abs() < 0.1, "{policer:?}");
        assert_eq!(trace(None).verdict(rtt), None);
    }

    #[test]
    fn a_token_bucket_is_as_empty_at_every_loss() {
        let rtt = Nanos::from_millis(40);
        // So deep that it never runs over, which would make the mean rate less than its own.
        let (mut policed, mut lossy) = (trace(Some(200_000.0)), trace(None));
        policed.verdict(rtt);
        lossy.verdict(rtt);
        let (policed, lossy) = (policed.levels().expect("many"), lossy.levels().expect("many"));
        assert!(policed.rank < 0.1 && policed.spread < 0.3 && policed.trips < 1.0, "{policed:?}");
        assert!((lossy.rank - 0.5).abs() < 0.1 && lossy.spread > 0.7, "{lossy:?}");
    }

    #[test]
    fn the_curves_stay_bounded() {
        let mut trace = Trace::default();
        for us in 0..100_000 {
            trace.sent(Nanos::from_micros(us), 100);
            if us % 10 == 0 {
                let ts = Nanos::from_micros(us);
                let behind = Some(0);
                let again = Replaced { ts, len: 100, behind, is_first: true, queued: false };
                trace.lost(100, &again);
            }
        }
        assert!(trace.sent.len() <= MAX_POINTS && trace.lost.len() <= MAX_POINTS);
        assert_eq!(u64::from(trace.lost.last().expect("lost").lost), 10_000 * (100 / PIECE));
    }
}
